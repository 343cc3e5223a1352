/** Operator's commands that copy backups to another machine and back. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';

/** Most characters of a command's error output that are kept. */
const SAID_CHARACTERS_MAX = 500;
/** The variables that a command gets from our environment. The others may contain secrets from the settings. */
const COMMAND_VARIABLES = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'SSH_AUTH_SOCK'];

/**
 * Runs a command to its end. Each word is one argument, without a shell, so nothing needs quotes.
 * @param values replacements in the words, such as `{file}`
 * @returns the reason of a failure; null if it succeeded
 */
export async function runCommand(
  words: readonly string[],
  values: Readonly<Record<string, string>>,
  env: NodeJS.ProcessEnv,
): Promise<string | null> {
  const replaced = words.map((word) => word.replace(/\{\w+\}/g, (name) => values[name] ?? name));
  const [program = '', ...args] = replaced;
  const own = Object.fromEntries(COMMAND_VARIABLES.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
  return whyFailed(program, spawn(program, args, { env: own, stdio: ['ignore', 'ignore', 'pipe'] }));
}

/**
 * Awaits the end of a program.
 * @returns the reason of a failure with the program's error output; null if it succeeded
 */
export async function whyFailed(
  program: string,
  child: ChildProcess & Readonly<{ stderr: Readable }>,
): Promise<string | null> {
  const ended = once(child, 'close').then(
    ([code, signal]) => (code === 0 ? null : (signal ?? `exit code ${code}`)),
    ({ code, message }) => (code === 'ENOENT' ? 'not found: install it, or name its whole path' : message),
  );
  const [said, how] = await Promise.all([text(child.stderr), ended]);
  return how && `${program}: ${how} ${said.slice(0, SAID_CHARACTERS_MAX).replaceAll(/\s+/g, ' ')}`.trim();
}
