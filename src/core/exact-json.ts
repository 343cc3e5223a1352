/**
 * JSON that is written exactly as it was read. `JSON.parse` rounds numbers (10.0 and 1e2 become integers, long ones
 * lose digits), and keeps the last of two equal keys. This parser keeps the text of a number, and refuses an object
 * with equal keys.
 */
import { permanent } from './fault.ts';

/** A number that JavaScript would write differently. No schema accepts it as a number. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Returns the rounded number for `JSON.stringify`, as in a log, where exactness does not matter. */
  toJSON(): number {
    return Number(this.text);
  }
}

/** Strings, numbers, words and brackets of a valid JSON text, in order. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*|true|false|null|[[\]{}]/g;

type Container = unknown[] | Record<string, unknown>;

/**
 * Parses a JSON text of any depth, in time proportional to its length.
 * @throws SyntaxError; Fault permanent `duplicate_key`
 */
export function parseExactly(text: string): unknown {
  // Rejects invalid text. The loop below relies on a valid one.
  JSON.parse(text);
  const root: unknown[] = [];
  const outer: Container[] = [];
  let container: Container = root;
  let key: string | null = null;
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '}' || token === ']') {
      container = outer.pop() ?? root;
    } else if (key === null && !Array.isArray(container)) {
      key = String(JSON.parse(token));
      if (Object.hasOwn(container, key)) {
        throw permanent('duplicate_key', `An object has the key ${token.slice(0, 100)} twice.`);
      }
    } else {
      const value = token === '{' ? {} : token === '[' ? [] : token.startsWith('"') ? JSON.parse(token) : plain(token);
      if (Array.isArray(container)) container.push(value);
      // An assignment to `__proto__` would set the prototype.
      else Object.defineProperty(container, key ?? '', { value, enumerable: true, writable: true, configurable: true });
      key = null;
      if (token === '{' || token === '[') {
        outer.push(container);
        container = value;
      }
    }
  }
  return root[0];
}

/** Returns the value of a word or a number. A number that JavaScript would write differently stays exact. */
function plain(token: string): unknown {
  if (!/^[-\d]/.test(token)) return JSON.parse(token);
  const number = Number(token);
  return String(number) === token ? number : new ExactNumber(token);
}

/**
 * Writes plain data as JSON, exact numbers as they were read and bigints as decimal strings.
 * @param order sorts the keys of objects; without it they keep their order
 */
export function writeExactly(value: unknown, order?: (a: string, b: string) => number): string {
  if (value instanceof ExactNumber) return value.text;
  if (typeof value === 'bigint') return `"${value}"`;
  if (Array.isArray(value)) return `[${value.map((item) => writeExactly(item ?? null, order)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  if (order) fields.sort(([a], [b]) => order(a, b));
  return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${writeExactly(field, order)}`).join(',')}}`;
}
