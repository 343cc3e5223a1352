/**
 * Statements in SQL, whichever engine runs them.
 */

/** The changes of one statement. */
export type Changes = Readonly<{ changes: number }>;

/** A statement in SQL; it is compiled when it first runs. */
export type Statement = Readonly<{
  get(...values: readonly unknown[]): Promise<unknown>;
  all(...values: readonly unknown[]): Promise<unknown[]>;
  run(...values: readonly unknown[]): Promise<Changes>;
  /** Returns rows one by one; within a body only. */
  iterate(...values: readonly unknown[]): AsyncIterable<unknown>;
  /** Returns the same statement, whose rows are their first column. */
  pluck(): Statement;
  /** Returns the same statement, whose rows are lists of their columns. */
  raw(): Statement;
}>;

/** Statements for the bodies of `read` and `write`. */
export type Client = Readonly<{ prepare(text: string): Statement }>;

let noted: Set<string> | null = null;

/** Remembers the text of a statement for `textsPrepared`. */
export const noteText = (textOf: () => string): void => void noted?.add(textOf());

/** Returns the texts of the statements that are prepared while `open` runs: for a look at every plan. */
export function textsPrepared(open: () => void): readonly string[] {
  const texts = new Set<string>();
  noted = texts;
  try {
    open();
  } finally {
    noted = null;
  }
  return [...texts];
}
