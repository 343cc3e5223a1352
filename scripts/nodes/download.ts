/**
 * Downloads a file. What a cut connection or an ended command leaves is kept, and the next run goes on with it.
 * @module
 */
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import * as z from 'zod';
import { permanent } from '../../src/core/fault.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { openSnapshot } from './snapshot-source.ts';

export type DownloadOptions = Readonly<{
  url: string;
  /** Replaced once the download is complete. The part before is beside it (`.part`). */
  file: string;
  /** More is refused. */
  bytesMax: number;
  clock: Clock;
  /** Called before each write with all bytes that are there and those of the whole file; may throw. */
  beforeWrite?(received: number, bytes: number | null): void | Promise<void>;
}>;

const noteSchema = z.object({ url: z.string(), mark: z.string() });

/**
 * @returns the bytes of the file, and how many of them an earlier run had
 * @throws Fault permanent `download_too_large`, and what `openSnapshot` throws; the part is kept then
 */
export async function downloadFile(options: DownloadOptions): Promise<Readonly<{ bytes: number; kept: number }>> {
  const { url, file, bytesMax, clock, beforeWrite } = options;
  const [part, note] = [`${file}.part`, `${file}.part.json`];
  const haveOf = (mark: string): number => {
    const known = readNote(note);
    return known?.url === url && known.mark === mark && existsSync(part) ? statSync(part).size : 0;
  };
  const source = await openSnapshot(url, clock, () => {}, haveOf);
  const tooLarge = () =>
    permanent('download_too_large', `${url} has more than ${bytesMax} bytes, which this cannot be: check the address`);
  if (source.bytes !== null && source.bytes > bytesMax) throw tooLarge();
  if (source.mark !== null) writeFileSync(note, JSON.stringify({ url, mark: source.mark }));
  else rmSync(note, { force: true });
  let received = source.from;
  const handle = await open(part, source.from > 0 ? 'a' : 'w', 0o600);
  try {
    for await (const chunk of source.stream) {
      received += chunk.length;
      if (received > bytesMax) throw tooLarge();
      await beforeWrite?.(received, source.bytes);
      for (let at = 0; at < chunk.length; ) at += (await handle.write(chunk, at)).bytesWritten;
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(part, file);
  rmSync(note, { force: true });
  return { bytes: received, kept: source.from };
}

function readNote(file: string): z.infer<typeof noteSchema> | null {
  try {
    return noteSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    // No part, or half a note after a crash: the download begins again.
    return null;
  }
}
