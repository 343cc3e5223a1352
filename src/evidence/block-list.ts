/**
 * The list beside a certificate: every block of its range with the transfers in it, and before them the balances and
 * payouts that were compared. One line each, gzipped. A day has up to 216,000 blocks, too many for one JSON; a list is
 * written and checked line by line, and the certificate signs its SHA-256.
 *
 *   balance <address> <currency> <units on the chain> <units by the ledger>
 *   payout <id> <kind> <currency> <units> <transaction> <block number>
 *   block <number> <hash> <parent> <time in Unix seconds>
 *   transfer <transaction> <index> <currency> <units> <address> <session or -> <confirmed, unconfirmed or dust>
 *
 * A transfer is in the block above it. Units are base units; parents repeat the hash above them, which costs next to
 * nothing once it is compressed.
 * @module
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { permanent } from '../core/fault.ts';
import type { Certificate } from './certificate.ts';

/** Longer lines are none of ours. */
const LINE_CHARS_MAX = 1_000;
const SHOWN_CHARS = 60;

export type ListLine =
  | Readonly<{ kind: 'balance'; address: string; currency: string; onChain: bigint; inLedger: bigint }>
  | Readonly<{ kind: 'payout'; id: string; what: string; currency: string; units: bigint; tx: string; number: number }>
  | Readonly<{ kind: 'block'; number: number; hash: string; parent: string; timeS: number }>
  | Readonly<{
      kind: 'transfer';
      tx: string;
      index: number;
      currency: string;
      units: bigint;
      address: string;
      sessionId: string | null;
      state: string;
    }>;

export type Block = Certificate['range']['first'];

/** What a list adds up to; the same words as in a certificate. */
export type ListTotals = Readonly<{
  list: Certificate['list'];
  blocks: number;
  first: Block | null;
  last: Block | null;
  transfers: Certificate['transfers'];
  payouts: Certificate['payouts'];
  addresses: number;
  onChain: Readonly<Record<string, string>>;
  inLedger: Readonly<Record<string, string>>;
  /** Balances above the ledger's, and below it. */
  above: number;
  below: number;
}>;

export interface ListTally {
  /** @throws Fault permanent `evidence_invalid` if a block does not link to the one before */
  add(line: ListLine): void;
  totals(): ListTotals;
}

const PART = /^\S+$/;
const WHOLE = /^(0|[1-9]\d{0,14})$/;
const UNITS = /^(0|[1-9]\d{0,77})$/;

export function writeLine(line: ListLine): string {
  switch (line.kind) {
    case 'balance':
      return `balance ${line.address} ${line.currency} ${line.onChain} ${line.inLedger}`;
    case 'payout':
      return `payout ${line.id} ${line.what} ${line.currency} ${line.units} ${line.tx} ${line.number}`;
    case 'block':
      return `block ${line.number} ${line.hash} ${line.parent} ${line.timeS}`;
    case 'transfer': {
      const { tx, index, currency, units, address, sessionId, state } = line;
      return `transfer ${tx} ${index} ${currency} ${units} ${address} ${sessionId ?? '-'} ${state}`;
    }
  }
}

/** Reads a line. @returns null if `writeLine` would not have written it so */
export function readLine(text: string): ListLine | null {
  if (text.length > LINE_CHARS_MAX) return null;
  const [kind, ...parts] = text.split(' ');
  if (!parts.every((part) => PART.test(part))) return null;
  const [a = '', b = '', c = '', d = '', e = '', f = '', g = ''] = parts;
  const is = (count: number, ...all: boolean[]): boolean => parts.length === count && all.every(Boolean);
  switch (kind) {
    case 'balance':
      if (!is(4, UNITS.test(c), /^-?/.test(d) && UNITS.test(d.replace(/^-/, '')) && d !== '-0')) return null;
      return { kind, address: a, currency: b, onChain: BigInt(c), inLedger: BigInt(d) };
    case 'payout':
      if (!is(6, UNITS.test(d), WHOLE.test(f))) return null;
      return { kind, id: a, what: b, currency: c, units: BigInt(d), tx: e, number: Number(f) };
    case 'block':
      if (!is(4, WHOLE.test(a), WHOLE.test(d))) return null;
      return { kind, number: Number(a), hash: b, parent: c, timeS: Number(d) };
    case 'transfer':
      if (!is(7, WHOLE.test(b), UNITS.test(d), /^(confirmed|unconfirmed|dust)$/.test(g))) return null;
      return {
        kind,
        tx: a,
        index: Number(b),
        currency: c,
        units: BigInt(d),
        address: e,
        sessionId: f === '-' ? null : f,
        state: g,
      };
    default:
      return null;
  }
}

/** Adds up a list, line by line, and checks the parent links. */
export function createListTally(): ListTally {
  const hash = createHash('sha256');
  const list = { lines: 0, bytes: 0 };
  const transfers = { count: 0, unconfirmed: 0, dust: 0 };
  const sums = { transfers: new Map(), payouts: new Map(), onChain: new Map(), inLedger: new Map() } satisfies Record<
    string,
    Map<string, bigint>
  >;
  const balances = { addresses: 0, above: 0, below: 0, last: '' };
  let payouts = 0;
  let blocks = 0;
  let first: Block | null = null;
  let last: Block | null = null;

  const add = (to: Map<string, bigint>, currency: string, units: bigint): void =>
    void to.set(currency, (to.get(currency) ?? 0n) + units);

  function addBlock({ number, hash: own, parent, timeS }: Extract<ListLine, { kind: 'block' }>): void {
    if (last && parent !== last.hash)
      throw broken(number, `its parent is ${parent}, and the block before is ${last.hash}`);
    if (last && number <= last.number) throw broken(number, `it comes after block ${last.number}`);
    last = { number, hash: own, parent, time_s: timeS };
    first ??= last;
    blocks += 1;
  }

  function count(line: ListLine): void {
    switch (line.kind) {
      case 'balance':
        if (line.address !== balances.last) balances.addresses += 1;
        balances.last = line.address;
        if (line.onChain > line.inLedger) balances.above += 1;
        if (line.onChain < line.inLedger) balances.below += 1;
        add(sums.onChain, line.currency, line.onChain);
        add(sums.inLedger, line.currency, line.inLedger);
        break;
      case 'payout':
        payouts += 1;
        add(sums.payouts, line.currency, line.units);
        break;
      case 'block':
        addBlock(line);
        break;
      case 'transfer':
        if (!last) throw invalidList('a transfer comes before every block');
        transfers.count += 1;
        if (line.state === 'unconfirmed') transfers.unconfirmed += 1;
        if (line.state === 'dust') transfers.dust += 1;
        add(sums.transfers, line.currency, line.units);
    }
  }

  return {
    add(line) {
      count(line);
      const text = `${writeLine(line)}\n`;
      hash.update(text);
      list.lines += 1;
      list.bytes += Buffer.byteLength(text);
    },
    totals: () => ({
      list: { ...list, sha256: hash.copy().digest('hex') },
      blocks,
      first,
      last,
      transfers: { ...transfers, units: texts(sums.transfers) },
      payouts: { count: payouts, units: texts(sums.payouts) },
      addresses: balances.addresses,
      onChain: texts(sums.onChain),
      inLedger: texts(sums.inLedger),
      above: balances.above,
      below: balances.below,
    }),
  };
}

const texts = (all: ReadonlyMap<string, bigint>): Record<string, string> =>
  Object.fromEntries([...all].map(([currency, units]) => [currency, units.toString()]));

const invalidList = (why: string) => permanent('evidence_invalid', `the list is not that of a certificate: ${why}`);
const broken = (number: number, why: string) => invalidList(`block ${number} does not follow: ${why}`);

export interface ListWriter {
  /** Waits while the disk is slower. */
  write(line: ListLine): Promise<void>;
  /** Ends the file. */
  close(): Promise<ListTotals>;
  /** Ends it without waiting, after a failure. */
  abandon(): void;
}

/** Creates the file, or replaces it. */
export function openListWriter(file: string): ListWriter {
  const tally = createListTally();
  const gzip = createGzip();
  const target = createWriteStream(file, { mode: 0o600, flush: true });
  const piped = pipeline(gzip, target);
  // Reported by `write` and `close`; until then it must not end the process.
  piped.catch(() => {});
  return {
    async write(line) {
      tally.add(line);
      if (!gzip.write(`${writeLine(line)}\n`)) await Promise.race([once(gzip, 'drain'), piped]);
    },
    async close() {
      gzip.end();
      await piped;
      return tally.totals();
    },
    abandon: () => void gzip.destroy(),
  };
}

/**
 * Reads a list and adds it up.
 * @throws Fault permanent `evidence_invalid` if it is malformed or its blocks are not linked
 */
export async function readList(file: string): Promise<ListTotals> {
  const tally = createListTally();
  const source = createReadStream(file);
  const chunks = source.pipe(createGunzip());
  source.once('error', (error) => chunks.destroy(error));
  let rest = '';
  try {
    for await (const chunk of chunks as AsyncIterable<Buffer>) {
      const lines = (rest + chunk.toString('latin1')).split('\n');
      rest = lines.pop() ?? '';
      for (const text of lines) tally.add(readLine(text) ?? refuse(text));
      if (rest.length > LINE_CHARS_MAX) refuse(rest);
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('Z_')) {
      throw invalidList('it is not a whole gzip file');
    }
    throw error;
  } finally {
    source.destroy();
  }
  if (rest !== '') refuse(rest);
  return tally.totals();
}

function refuse(text: string): never {
  throw invalidList(`"${text.slice(0, SHOWN_CHARS)}" is not a line of it`);
}
