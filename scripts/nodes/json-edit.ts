/**
 * Sets one value in a JSON text and leaves the rest as it was written.
 * @module
 */
import { invariant } from '../../src/core/fault.ts';

type Span = Readonly<{ from: number; to: number }>;
/** `key` begins at `at`; `value` ends before the comma. */
type Member = Readonly<{ key: string; at: number; value: Span }>;

const STRING = /"(?:[^"\\]|\\.)*"/y;
const WORD = /[^\s,\]}]+/y;
const SPACE = /\s*/y;

function match(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  invariant(pattern.test(text), `the JSON text has ${pattern} at ${at}`);
  return pattern.lastIndex;
}

/** Returns where the value that begins at `at` ends. */
function endOf(text: string, at: number): number {
  if (text[at] === '"') return match(STRING, text, at);
  if (text[at] !== '{' && text[at] !== '[') return match(WORD, text, at);
  let depth = 0;
  for (let next = at; ; next++) {
    const character = text[next];
    if (character === '"') next = match(STRING, text, next) - 1;
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
    if (depth === 0) return next + 1;
  }
}

function membersOf(text: string, open: number): Member[] {
  const members: Member[] = [];
  for (let at = match(SPACE, text, open + 1); text[at] === '"'; ) {
    const keyEnd = match(STRING, text, at);
    const from = match(SPACE, text, match(SPACE, text, keyEnd) + 1);
    const to = endOf(text, from);
    members.push({ key: JSON.parse(text.slice(at, keyEnd)), at, value: { from, to } });
    at = match(SPACE, text, match(SPACE, text, to) + 1);
  }
  return members;
}

/**
 * Returns the text with `value` at the path; objects on the way that are missing are added.
 * @param text valid JSON that is an object
 */
export function setInJson(text: string, path: readonly string[], value: unknown): string {
  let open = match(SPACE, text, 0);
  for (const [depth, key] of path.entries()) {
    const members = membersOf(text, open);
    const found = members.find((member) => member.key === key);
    const rest = path.slice(depth + 1);
    const isObject = found && text[found.value.from] === '{';
    if (found && isObject && rest.length > 0) {
      open = found.value.from;
      continue;
    }
    const written = rest.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
    if (found) return text.slice(0, found.value.from) + JSON.stringify(written) + text.slice(found.value.to);
    return insert(text, open, members.at(-1), `${JSON.stringify(key)}: ${JSON.stringify(written)}`);
  }
  return text;
}

/** Adds a member after the last one, as that is written: on a line of its own, or on the same. */
function insert(text: string, open: number, last: Member | undefined, member: string): string {
  if (!last) return `${text.slice(0, open + 1)} ${member} ${text.slice(match(SPACE, text, open + 1))}`;
  const [gap = ' '] = /\s*$/.exec(text.slice(0, last.at)) ?? [];
  return `${text.slice(0, last.value.to)},${gap === '' ? ' ' : gap}${member}${text.slice(last.value.to)}`;
}
