/**
 * The shape of a `quayside` command, and what commands share. `tool.ts` finds a command by its name, reads its options
 * and prints its answer.
 */

import { userInfo } from 'node:os';
import type { Field } from '../../src/acts/act.ts';
import type { Config } from '../../src/config/config.ts';
import { permanent } from '../../src/core/fault.ts';
import type { OperatorAct } from '../../src/database/audit-log.ts';
import type { Database } from '../../src/database/database.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { Progress } from './output.ts';
import { recordLines } from './table.ts';

/** The configuration and database of one installation, on which commands work. */
export type Installation = Readonly<{ config: Config; database: Database; clock: Clock }>;

/** An option. It takes a value if `value` names its placeholder or there are `choices`; otherwise it is a switch. */
export type Option = Pick<Field, 'value' | 'choices' | 'help' | 'isRequired'>;

export type Input = Readonly<{
  /** Those of the command's `args`. */
  args: readonly string[];
  /** By their names in `options`, and `json`. */
  options: Readonly<Record<string, string | true | undefined>>;
  env: NodeJS.ProcessEnv;
  /** The folder that relative paths start from. */
  cwd: string;
  /** The person, the time and the reason of this run, for the audit log. */
  act: OperatorAct;
  /** Lines on the terminal while it works; they are cleared when it ends. */
  progress: Progress;
}>;

/**
 * An answer, for programs and for people. `isBad`: it reports something wrong, so the exit code is 1. `code` is another
 * exit code, of commands whose help lists theirs.
 */
export type Answer = Readonly<{ json: unknown; lines: readonly string[]; isBad?: boolean; code?: 0 | 1 | 2 | 3 }>;

/** Returns an answer whose record people see as well, with sentences below it. */
export const recordAnswer = (json: object, sentences: readonly string[] = [], isBad = false): Answer => ({
  json,
  isBad,
  lines: [...recordLines(json), ...(sentences.length > 0 ? ['', ...sentences] : [])],
});

type Described = Readonly<{
  /** The words that run it, such as `store add`. */
  name: string;
  /** Placeholders of its arguments, such as `<file> [folder]`. */
  args?: string;
  summary: string;
  /** By their names: `dryRun` is `--dry-run`. */
  options?: Readonly<Record<string, Option>>;
  /** Lines below the options in its help. */
  notes?: readonly string[];
}>;

/** A command that also runs on a machine without an installation. */
export type OfflineCommand = Described & Readonly<{ runOffline(input: Input): Promise<Answer> }>;

export type Command = Described &
  Readonly<{
    /** It makes the installation where there is none. */
    createsInstallation?: true;
    run(input: Input, installation: Installation): Promise<Answer>;
  }>;

export type AnyCommand = Command | OfflineCommand;

/** A program that its operator runs by words. */
export type Tool = Readonly<{
  name: string;
  purpose: string;
  commands: readonly AnyCommand[];
  /** Its commands by how often each is needed; those of a subject, the first word, stand together. */
  sections: readonly (readonly [title: string, commands: readonly AnyCommand[]])[];
}>;

export const toolOf = (name: string, purpose: string, sections: Tool['sections']): Tool => ({
  name,
  purpose,
  sections,
  commands: sections.flatMap(([, commands]) => commands),
});

export const reasonOption: Option = { value: 'REASON', help: 'why, for the audit log (`quayside audit list`)' };

export const requiredReason: Option = { ...reasonOption, isRequired: true };

export const dryRunOption: Option = { help: 'show what would change, and change nothing' };

/** Returns who runs a command, when and why, for the audit log. */
export const operatorAct = (
  { name }: Pick<Command, 'name'>,
  { env, options }: Pick<Input, 'env' | 'options'>,
  clock: Clock,
): OperatorAct => ({
  atMs: clock.nowMs(),
  operator: operatorName(env),
  command: name,
  reason: String(options.reason ?? '').trim() || null,
});

/** Returns the user of this process and, if it is another, the one who ran it through `sudo`. */
function operatorName({ SUDO_USER }: NodeJS.ProcessEnv): string {
  const user = accountName();
  return SUDO_USER && SUDO_USER !== user ? `${SUDO_USER} as ${user}` : user;
}

function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container the user may have a number only.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** Returns the name of an option as people write it. */
export const dashed = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Returns the text of an option, or undefined if it was not given. */
export function textOption(input: Input, name: string): string | undefined {
  const value = input.options[name];
  return typeof value === 'string' ? value : undefined;
}

/** Returns an option's number. @throws Fault permanent `usage` unless it is a whole number from `min` to `max` */
export function wholeOption(input: Input, name: string, min: number, max: number, fallback: number): number {
  const text = textOption(input, name);
  if (text === undefined) return fallback;
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw usage(`--${name} is "${text}", expected a whole number from ${min} to ${max}`);
}

/** Returns the error for a wrong command line: exit code 2. */
export const usage = (message: string) => permanent('usage', message);

/** Returns the error for something that was named and does not exist: exit code 3. */
export const notFound = (message: string) => permanent('not_found', message);

/** Returns a time as programs read it (UTC); null for none. */
export const momentOrNull = (ms: number | null): string | null => (ms === null ? null : moment(ms));

/** Returns a time as people read it (UTC), or a dash for none. */
export const moment = (ms: number | null): string =>
  ms === null ? '-' : new Date(ms).toISOString().replace('T', ' ').slice(0, 19);
