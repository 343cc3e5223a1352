/**
 * Arguments of java-tron's HTTP interface: fields of a JSON body.
 */
import type { Accounts } from './accounts.ts';
import type { WorldTransaction } from './transaction.ts';
import type { View } from './world.ts';

/** One request: the body's fields, and the node's view of the world. */
export type TronQuestion = Readonly<{
  body: Readonly<Record<string, unknown>>;
  view: View;
  /** Transactions that are in no block yet, and the state behind them. The solidified chain has none. */
  pool: Readonly<{ find(id: string): WorldTransaction | undefined; accounts(): Accounts }>;
}>;

/** An error; its text is the value of `Error`. */
export class TronError extends Error {}

const ADDRESS = /^41([0-9a-f]{40})$/i;

export function text(body: TronQuestion['body'], name: string): string {
  const value = body[name] ?? '';
  if (typeof value !== 'string') throw new TronError(`${name}: Expected string.`);
  return value;
}

/** Returns bytes as hex digits; none if the field is absent. */
export function hexArgument(body: TronQuestion['body'], name: string): string {
  const digits = text(body, name).toLowerCase();
  if (/^([0-9a-f]{2})*$/.test(digits)) return digits;
  throw new TronError(`${name}: INVALID hex String`);
}

/** Returns an address as its key; empty if it is absent, or no address of an account. */
export function keyArgument(body: TronQuestion['body'], name: string): string {
  const [, key = ''] = ADDRESS.exec(hexArgument(body, name)) ?? [];
  return key;
}

export function whole(body: TronQuestion['body'], name: string): number {
  const value = body[name] ?? 0;
  if (Number.isSafeInteger(value)) return Number(value);
  throw new TronError(`${name}: Couldn't parse integer`);
}
