/**
 * Arguments of java-tron's HTTP interface: fields of a JSON body. Errors have java-tron's texts.
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

/** java-tron names the line and column of the value in the body's compact text. */
function parseError(body: TronQuestion['body'], name: string, what: string): TronError {
  const field = `${JSON.stringify(name)}:`;
  const column = JSON.stringify(body).indexOf(field) + field.length + 1;
  return new TronError(`class org.tron.core.services.http.JsonFormat$ParseException : 1:${column}: ${what}`);
}

export function text(body: TronQuestion['body'], name: string): string {
  const value = body[name] ?? '';
  if (typeof value !== 'string') throw parseError(body, name, 'Expected string.');
  return value;
}

/** Returns bytes as hex digits; none if the field is absent. */
export function hexArgument(body: TronQuestion['body'], name: string): string {
  const digits = text(body, name).toLowerCase();
  if (/^([0-9a-f]{2})*$/.test(digits)) return digits;
  throw parseError(body, name, 'INVALID hex String');
}

/** Returns an address as its key; empty if it is absent, or no address of an account. */
export function keyArgument(body: TronQuestion['body'], name: string): string {
  const [, key = ''] = ADDRESS.exec(hexArgument(body, name)) ?? [];
  return key;
}

export function whole(body: TronQuestion['body'], name: string): number {
  const value = body[name] ?? 0;
  if (Number.isSafeInteger(value)) return Number(value);
  throw parseError(body, name, `Couldn't parse integer: For input string: "${JSON.stringify(value)}"`);
}
