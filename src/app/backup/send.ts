/**
 * Copies a backup to another machine, through a command of the operator's.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { transient } from '../../core/fault.ts';
import { systemClock } from '../../lib/clock.ts';

/** A target that takes nothing and says nothing for so long is given up. */
const SILENT_MS_MAX = 120_000;
/** Of what a command says is wrong. */
const ANSWER_CHARACTERS_MAX = 500;
/** All that a command gets of our environment: the settings' variables may hold secrets. */
const COMMAND_VARIABLES = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'SSH_AUTH_SOCK'];

/**
 * Runs a program with the file on its standard input, and returns when it has said that it has all of it. No shell is
 * involved, so nothing is quoted: each word is one argument, and `{name}` in it becomes the file's name, which has only
 * letters, digits, a dash and a dot.
 * @throws Fault transient `backup_not_sent`
 */
export async function sendBackup(file: string, run: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const [program = '', ...args] = run.map((word) => word.replaceAll('{name}', basename(file)));
  const own = Object.fromEntries(COMMAND_VARIABLES.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
  const child = spawn(program, args, { env: own, stdio: ['pipe', 'ignore', 'pipe'] });
  const said = readStart(child.stderr);
  const silent = watchSilence(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit') as Promise<[number | null, string | null]>;
  try {
    // Whether the command has read everything, only its exit code says: it may end early.
    const given = pipeline(watched(createReadStream(file), silent), child.stdin).then(
      () => null,
      (error: unknown) => error,
    );
    const [code, signal] = await ended;
    const broken = await given;
    if (code === 0 && broken === null) return;
    const why = signal ?? (code === 0 ? 'it ended before it had read everything' : `exit code ${code}`);
    throw notSent(file, `${program}: ${why} ${await said}`);
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) throw notSent(file, error.message, error);
    throw error;
  } finally {
    silent.end();
    child.kill('SIGKILL');
  }
}

const notSent = (file: string, why: string, cause?: unknown) =>
  transient(
    'backup_not_sent',
    `${file} was made, but not sent: ${why.trim()}. Correct \`backup.send\`, then run \`quayside backup\``,
    cause,
  );

type Silence = Readonly<{ heard(): void; end(): void }>;

/** Calls `kill` once nothing was heard for too long. */
function watchSilence(kill: () => void): Silence {
  const over = new AbortController();
  let heardAtMs = performance.now();
  const watch = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const leftMs = heardAtMs + SILENT_MS_MAX - performance.now();
      if (leftMs <= 0) return kill();
      await systemClock.sleep(leftMs, over.signal);
    }
  };
  void watch();
  return {
    heard() {
      heardAtMs = performance.now();
    },
    end: () => over.abort(),
  };
}

/** Passes a stream on; each part that is taken shows that the other side is alive. */
async function* watched(source: Readable, silent: Silence): AsyncGenerator<Buffer> {
  for await (const part of source) {
    yield part;
    silent.heard();
  }
}

/** Reads a stream to its end, and returns its start as one line. */
async function readStart(stream: Readable): Promise<string> {
  let text = '';
  for await (const part of stream) if (text.length < ANSWER_CHARACTERS_MAX) text += part;
  return text.slice(0, ANSWER_CHARACTERS_MAX).replaceAll(/\s+/g, ' ').trim();
}
