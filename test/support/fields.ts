/** Some fields of values that have others too. */
import * as assert from 'uvu/assert';

type Fields<T> = { readonly [Name in keyof T]?: T[Name] | undefined };

const pick = (value: object, names: readonly string[]): object =>
  Object.fromEntries(names.map((name) => [name, (value as Record<string, unknown>)[name]]));

/** Asserts that a value has these fields, each of them equal. */
export function has<T extends object>(value: T | null | undefined, fields: NoInfer<Fields<T>>, message?: string): void {
  assert.equal(value && pick(value, Object.keys(fields)), fields, message);
}

/** Asserts that there are as many values as these, and that each has the fields of its place. */
export function have<T extends object>(values: readonly T[], fields: readonly NoInfer<Fields<T>>[], message?: string) {
  const names = Object.keys(fields[0] ?? {});
  assert.equal(
    values.map((value) => pick(value, names)),
    fields,
    message,
  );
}

/** Returns one field of each value. */
export const column = <T extends object, Name extends keyof T>(values: readonly T[], name: Name): T[Name][] =>
  values.map((value) => value[name]);
