/**
 * Cuts a block's answer into its transactions without parsing it, and keeps those that contain one of the wanted texts.
 * A block is megabytes of JSON, most of it votes.
 *
 * The text `},{"meta":` occurs between two transactions and nowhere else. It is never part of a JSON string, where a
 * quote is preceded by a backslash. No transaction contains a list of objects that begin with one of `FIRST_KEYS`. An
 * answer with any other layout is parsed whole.
 */

/**
 * `frame` is the answer with an empty list of transactions; each slice is one transaction's JSON and its index in the
 * block.
 */
type BlockSlices = Readonly<{ frame: string; slices: readonly Readonly<{ at: number; bytes: Buffer }>[] }>;

const LIST = Buffer.from('"transactions":[');
/** Members of a transaction, one of which comes first. */
const FIRST_KEYS = ['meta', 'transaction', 'version'];
/** Without these, a transaction's balances are unknown, and it may pay a mint that it does not name. */
const REQUIRED = ['"preTokenBalances":[', '"postTokenBalances":['];

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const CLOSE_BRACKET = 0x5d;

/** Returns a function that finds the next occurrence of a text, for rising positions. */
function finder(buffer: Buffer, text: string): (from: number) => number {
  const bytes = Buffer.from(text);
  let place = buffer.indexOf(bytes);
  return (from) => {
    if (place >= 0 && place < from) place = buffer.indexOf(bytes, from);
    return place < 0 ? Number.POSITIVE_INFINITY : place;
  };
}

/**
 * Returns the transactions that contain one of the needles.
 * @param needles plain ASCII texts
 * @returns null if the layout is not the expected one, or a transaction lacks balances
 */
export function sliceBlock(bytes: Uint8Array, needles: readonly string[]): BlockSlices | null {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  // An escaped character could hide a needle.
  if (buffer.includes('\\u')) return null;
  const list = buffer.indexOf(LIST);
  if (list < 0) return null;
  const first = list + LIST.length;
  if (buffer[first] === CLOSE_BRACKET) return { frame: buffer.toString(), slices: [] };
  const key = FIRST_KEYS.find((name) => buffer.toString('latin1', first, first + name.length + 4) === `{"${name}":`);
  if (!key) return null;

  const between = Buffer.from(`},{"${key}":`);
  const wanted = needles.map((needle) => finder(buffer, needle));
  const required = REQUIRED.map((text) => finder(buffer, text));
  const slices: { at: number; bytes: Buffer }[] = [];
  for (let at = 0, start = first; ; at++) {
    const border = buffer.indexOf(between, start);
    const end = border < 0 ? endOfObject(buffer, start) : border + 1;
    // If the list does not end here, the next transaction begins with another member.
    if (border < 0 && buffer[end] !== CLOSE_BRACKET) return null;
    if (required.some((next) => next(start) >= end)) return null;
    if (wanted.some((next) => next(start) < end)) slices.push({ at, bytes: buffer.subarray(start, end) });
    if (border < 0) return { frame: buffer.toString('latin1', 0, first) + buffer.toString('latin1', end), slices };
    start = border + 2;
  }
}

/** Returns where the object that starts at `start` ends, or −1. */
function endOfObject(buffer: Buffer, start: number): number {
  let depth = 0;
  let inString = false;
  for (let at = start; at < buffer.length; at++) {
    const byte = buffer[at];
    if (inString) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === OPEN_BRACE) depth++;
    else if (byte === CLOSE_BRACE) {
      depth--;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}
