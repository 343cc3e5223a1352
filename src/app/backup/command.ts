/** Commands of the operator's that carry copies to another machine and back. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';

/** Characters of a command's complaint that are kept. */
const SAID_CHARACTERS_MAX = 500;
/** All that a command gets of our environment: the settings' variables may hold secrets. */
const COMMAND_VARIABLES = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'SSH_AUTH_SOCK'];

/**
 * Runs a command to its end. No shell is involved, so nothing is quoted: each word is one argument.
 * @param values replacements in the words, such as `{name}`
 * @param input what it reads from its standard input
 * @returns why it failed; null if it ended well and had read all of its input
 */
export async function runCommand(
  words: readonly string[],
  values: Readonly<Record<string, string>>,
  env: NodeJS.ProcessEnv,
  input: Readable = Readable.from([]),
): Promise<string | null> {
  const replaced = words.map((word) => word.replace(/\{\w+\}/g, (name) => values[name] ?? name));
  const [program = '', ...args] = replaced;
  const own = Object.fromEntries(COMMAND_VARIABLES.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
  const child = spawn(program, args, { env: own, stdio: ['pipe', 'ignore', 'pipe'] });
  let unstarted: string | null = null;
  const ended = once(child, 'exit').catch((error: NodeJS.ErrnoException) => {
    unstarted = error.code === 'ENOENT' ? 'not found: install it, or name its whole path' : error.message;
    return [null, null];
  });
  // Whether the command has read everything, only its exit code says: it may end early.
  const [broken, said, [code, signal]] = await Promise.all([
    pipeline(input, child.stdin).then(
      () => null,
      (error: unknown) => error,
    ),
    text(child.stderr),
    ended,
  ]);
  if (code === 0 && broken === null) return null;
  const how = unstarted ?? signal ?? (code === 0 ? 'it ended before it had read everything' : `exit code ${code}`);
  return `${program}: ${how} ${said.slice(0, SAID_CHARACTERS_MAX).replaceAll(/\s+/g, ' ')}`.trim();
}
