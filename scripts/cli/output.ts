/**
 * What a command writes part by part: into a new file, or to standard output.
 */
import { once } from 'node:events';
import { createWriteStream, existsSync, renameSync, rmSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { permanent } from '../../src/core/fault.ts';

const PRIVATE = 0o600;

/**
 * Writes to standard output, no faster than it is read.
 * @throws Fault permanent `output_closed` if whoever reads stops reading
 */
export async function toStandardOutput(parts: AsyncIterable<string | Uint8Array>): Promise<void> {
  const { stdout } = process;
  let isClosed = false;
  const close = () => {
    isClosed = true;
  };
  stdout.on('error', close);
  try {
    for await (const part of parts) {
      if (isClosed)
        throw permanent('output_closed', 'the program that read the output stopped reading; nothing was changed');
      // `once` rejects with the error of a reader that is gone.
      if (!stdout.write(part)) await once(stdout, 'drain').catch(close);
    }
  } finally {
    // The last write may fail only after this: a program that ends needs no listener removed.
    await new Promise((done) => setImmediate(done));
  }
}

/**
 * Writes a new file, mode 0600, beside it first: a file of this name is always whole.
 * @throws Fault permanent `refused` if it exists or cannot be written; what `parts` throws
 */
export async function toNewFile(parts: AsyncIterable<string | Uint8Array>, path: string): Promise<void> {
  if (existsSync(path)) throw permanent('refused', `${path} exists already; name another file`);
  const partial = `${path}.partial`;
  const out = createWriteStream(partial, { mode: PRIVATE, flush: true });
  try {
    await pipeline(parts, out);
    renameSync(partial, path);
  } catch (error) {
    // A failure may come before the file is opened.
    if (!out.closed) await once(out, 'close');
    rmSync(partial, { force: true });
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw permanent(
      'refused',
      `${path} could not be written: ${error.message}; name a file in a folder that you can write to`,
    );
  }
}
