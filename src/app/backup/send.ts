/**
 * Copies a backup to another machine: through a command of the operator's, or into an S3-compatible store.
 * @module
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, readFileSync, statSync } from 'node:fs';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import * as z from 'zod';
import type { BackupTarget } from '../../config/config.ts';
import { permanent, transient } from '../../core/fault.ts';
import { systemClock } from '../../lib/clock.ts';
import { type AwsKey, signAws } from './aws-signature.ts';

/** What S3 takes in one request. */
const PUT_BYTES_MAX = 5 * 2 ** 30;
/** A target that takes nothing and says nothing for so long is given up. */
const SILENT_MS_MAX = 120_000;
/** Of what a command or a store answers to say what is wrong. */
const ANSWER_CHARACTERS_MAX = 500;
/** All that a command gets of our environment: the settings' variables may hold secrets. */
const COMMAND_VARIABLES = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'SSH_AUTH_SOCK'];

const awsKey = z.strictObject({ access_key_id: z.string().min(1), secret_access_key: z.string().min(1) });

/**
 * Sends a file, and returns when the target has said that it has all of it.
 * @throws Fault transient `backup_not_sent`; permanent `backup_too_large`, `not_found`, `credentials_file_open`,
 * `credentials_invalid`
 */
export const sendBackup = (file: string, target: BackupTarget, env: NodeJS.ProcessEnv): Promise<void> =>
  target.kind === 'command' ? sendToCommand(file, target.run, env) : sendToS3(file, target);

/**
 * Runs a program with the file on its standard input. No shell is involved, so nothing is quoted: each word is one
 * argument, and `{name}` in it becomes the file's name, which has only letters, digits, a dash and a dot.
 */
async function sendToCommand(file: string, run: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
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

async function sendToS3(file: string, target: Extract<BackupTarget, { kind: 's3' }>): Promise<void> {
  const bytes = statSync(file).size;
  if (bytes > PUT_BYTES_MAX) {
    throw permanent(
      'backup_too_large',
      `${file} has ${bytes} bytes, more than one upload to S3 takes (${PUT_BYTES_MAX}): set \`backup.send\` to a command (docs/backups.md)`,
    );
  }
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  const bodySha256 = hash.digest('hex');
  const url = new URL(`${target.url}/${basename(file)}`);
  const headers = { 'content-length': String(bytes), 'x-amz-content-sha256': bodySha256 };
  const how = { key: readAwsKey(target.credentialsFile), region: target.region, service: 's3' };
  const signed = signAws({ method: 'PUT', url, headers, bodySha256 }, { ...how, nowMs: systemClock.nowMs() });
  const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, { method: 'PUT', headers: signed });
  const silent = watchSilence(() => request.destroy(new Error('it took nothing for two minutes')));
  try {
    const answered = once(request, 'response') as Promise<[Readable & { statusCode: number }]>;
    const [[response]] = await Promise.all([answered, pipeline(watched(createReadStream(file), silent), request)]);
    const said = await readStart(response);
    if (response.statusCode !== 200) throw notSent(file, `${url.host} answered ${response.statusCode}: ${said}`);
  } catch (error) {
    if (error instanceof Error && !('kind' in error)) throw notSent(file, `${url.host}: ${error.message}`, error);
    throw error;
  } finally {
    silent.end();
    request.destroy();
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

/** @throws Fault permanent `not_found`, `credentials_file_open`, `credentials_invalid` */
function readAwsKey(file: string): AwsKey {
  const { mode } = statSync(file, { throwIfNoEntry: false }) ?? {};
  const example = '{"access_key_id": "…", "secret_access_key": "…"}';
  if (mode === undefined) throw permanent('not_found', `${file} does not exist: it must hold ${example}`);
  if ((mode & 0o077) !== 0) {
    throw permanent('credentials_file_open', `other users of this machine can access ${file}; run: chmod 600 ${file}`);
  }
  try {
    const { access_key_id, secret_access_key } = awsKey.parse(JSON.parse(readFileSync(file, 'utf8')));
    return { accessKeyId: access_key_id, secretAccessKey: secret_access_key };
  } catch (error) {
    throw permanent('credentials_invalid', `${file} must hold ${example} and nothing else`, error);
  }
}
