/**
 * Arguments of java-tron's HTTP interface: fields of a JSON body. Errors have java-tron's texts.
 *
 * @module
 */
import type { FaultKind } from './faults.ts';
import type { View } from './view.ts';

/** One request: the body's fields, the node's view of the world, and the fault to apply to the answer. */
export type TronQuestion = Readonly<{
  body: Readonly<Record<string, unknown>>;
  view: View;
  fault: FaultKind | null;
}>;

/** An error; its text is the value of `Error`. */
export class TronError extends Error {}

export const ADDRESS = /^41([0-9a-f]{40})$/i;

const badField = (name: string, expected: string) =>
  new TronError(`class org.tron.core.services.http.JsonFormat$ParseException : 1:2: ${name}: Expected ${expected}.`);

export function text(body: TronQuestion['body'], name: string): string {
  const value = body[name] ?? '';
  if (typeof value !== 'string') throw badField(name, 'string');
  return value;
}

/** Returns an address as its key. */
export function keyArgument(body: TronQuestion['body'], name: string): string {
  const [, key] = ADDRESS.exec(text(body, name)) ?? [];
  if (key === undefined) throw new TronError(`INVALID hex String: ${name}`);
  return key.toLowerCase();
}

export function whole(body: TronQuestion['body'], name: string): number {
  const value = body[name] ?? 0;
  if (!Number.isSafeInteger(value)) throw badField(name, 'number');
  return Number(value);
}
