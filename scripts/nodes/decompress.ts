/**
 * Decompresses a stream by what its name ends with: gzip here, Zstandard and LZ4 by their own programs.
 * @module
 */
import { spawn } from 'node:child_process';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { permanent } from '../../src/core/fault.ts';

const programs: Readonly<Record<string, readonly string[]>> = {
  '.zst': ['zstd', '-dc', '--long=31'],
  '.lz4': ['lz4', '-dc'],
};

/** Returns what decompresses a file; null if it need not be. @throws Fault permanent `snapshot_format` */
export function formatOf(name: string): 'gzip' | readonly string[] | null {
  if (/\.(tgz|tar\.gz)$/.test(name)) return 'gzip';
  if (name.endsWith('.tar')) return null;
  const [, ending = ''] = /\.tar(\.\w+)$/.exec(name) ?? [];
  const program = programs[ending];
  if (program) return program;
  throw permanent('snapshot_format', `${name} is none of .tar, .tar.gz, .tgz, .tar.zst, .tar.lz4`);
}

type Filter = Readonly<{ input: Writable; output: AsyncIterable<Uint8Array>; ended: Promise<void>; stop(): void }>;

/** @throws what the source throws; Fault permanent `snapshot_damaged` if it cannot be decompressed */
export async function* decompress(
  source: AsyncIterable<Uint8Array>,
  format: ReturnType<typeof formatOf>,
): AsyncGenerator<Uint8Array> {
  if (format === null) return yield* source;
  const filter = format === 'gzip' ? gunzip() : program(format);
  let sourceError: unknown = null;
  async function* watched(): AsyncGenerator<Uint8Array> {
    try {
      yield* source;
    } catch (error) {
      sourceError = error;
      throw error;
    }
  }
  const feeding = pipeline(Readable.from(watched()), filter.input).catch((error: unknown) => error);
  try {
    yield* filter.output;
    const error = await feeding;
    // What the program says comes before what writing to it said.
    await filter.ended;
    if (error) throw error;
  } catch (error) {
    // A source that fails makes the filter fail too.
    await feeding;
    if (sourceError !== null) throw sourceError;
    const why = error instanceof Error ? error.message : String(error);
    throw permanent('snapshot_damaged', `the file cannot be decompressed: ${why}. It is damaged: get it again`, error);
  } finally {
    filter.stop();
    await feeding;
  }
}

function gunzip(): Filter {
  const stream = createGunzip();
  return { input: stream, output: stream, ended: Promise.resolve(), stop: () => stream.destroy() };
}

function program([name = '', ...args]: readonly string[]): Filter {
  const child = spawn(name, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said = (said + chunk).slice(-500);
  });
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', (error) => reject(new Error(`${name} does not run (${error.message}): install it`)));
    child.once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(said.trim() || `${name} ended with ${code}`)),
    );
  });
  // It is awaited only if everything before it went well.
  ended.catch(() => {});
  return { input: child.stdin, output: child.stdout, ended, stop: () => child.kill('SIGKILL') };
}
