/**
 * What a command of the operator's tool is. The tool itself (`tool.ts`) finds one by its name, reads its options and
 * prints its answer; a command knows nothing of the terminal.
 * @module
 */

import type { Config } from '../../src/config/config.ts';
import { permanent } from '../../src/core/fault.ts';
import type { Database, MerchantStore } from '../../src/database/database.ts';
import type { Clock } from '../../src/lib/clock.ts';

/** What commands work on: one installation's configuration and database. */
export type Installation = Readonly<{ config: Config; database: Database; clock: Clock }>;

/** An option takes a value when `value` names its placeholder; otherwise it is a switch. */
export type Option = Readonly<{ value?: string; help: string }>;

export type Input = Readonly<{
  /** As many as the command names. */
  args: readonly string[];
  options: Readonly<Record<string, string | boolean | undefined>>;
  env: NodeJS.ProcessEnv;
  /** The folder that relative paths count from. */
  cwd: string;
}>;

/** The same answer twice: for programs and for people. `isBad`: it tells of something wrong, as the exit code does then. */
export type Answer = Readonly<{ json: unknown; lines: readonly string[]; isBad?: boolean }>;

type Described = Readonly<{
  /** The words that call it, such as `store create`. */
  name: string;
  /** Placeholders of what must follow the name. */
  args: readonly string[];
  summary: string;
  options: Readonly<Record<string, Option>>;
}>;

/** A command that needs no installation: it may run on a machine that has none. */
export type OfflineCommand = Described & Readonly<{ runOffline(input: Input): Promise<Answer> }>;

export type Command = Described &
  Readonly<{
    /** It talks to the simulated nodes, so the sandbox must have been started. */
    needsSandbox?: true;
    run(input: Input, installation: Installation): Promise<Answer>;
  }>;

export const storeOption: Option = { value: 'ID', help: 'the store; may be left out when there is only one' };

/** The text of an option. @throws Fault permanent `usage` when it is required and missing */
export function textOption(input: Input, name: string): string | undefined {
  const value = input.options[name];
  return typeof value === 'string' ? value : undefined;
}

/** @throws Fault permanent `usage` unless the option has one of these values */
export function choiceOption<T extends string>(input: Input, name: string, choices: readonly T[], fallback?: T): T {
  const text = textOption(input, name) ?? fallback;
  const choice = choices.find((one) => one === text);
  if (choice !== undefined) return choice;
  throw usage(`--${name} ${text === undefined ? 'is missing' : `is "${text}"`}, expected ${choices.join(' or ')}`);
}

/** @throws Fault permanent `usage` unless the option is a whole number between `min` and `max` */
export function wholeOption(input: Input, name: string, min: number, max: number, fallback: number): number {
  const text = textOption(input, name);
  if (text === undefined) return fallback;
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw usage(`--${name} is "${text}", expected a whole number from ${min} to ${max}`);
}

/** The store that `--store` names, or the only one there is. @throws Fault permanent `usage`, `not_found` */
export async function storeOf(input: Input, database: Database): Promise<MerchantStore> {
  const id = textOption(input, 'store');
  if (id !== undefined) {
    const found = await database.findStore(id);
    if (found) return found;
    throw notFound(`there is no store ${id}; \`quayside store list\` shows them`);
  }
  const [only, ...others] = await database.listStores();
  if (!only) throw notFound('there is no store yet; make one with `quayside store create <name>`');
  if (others.length === 0) return only;
  throw usage('there are several stores: name one with --store (`quayside store list` shows them)');
}

/** The command was called wrongly: exit code 2. */
export const usage = (message: string) => permanent('usage', message);

/** The thing that was named does not exist: exit code 3. */
export const notFound = (message: string) => permanent('not_found', message);

/** Rows as columns of equal width. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** A moment as people read it; a dash for none. */
export const moment = (ms: number | null): string =>
  ms === null ? '-' : new Date(ms).toISOString().replace('T', ' ').slice(0, 19);
