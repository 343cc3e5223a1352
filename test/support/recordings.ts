/**
 * Answers that were recorded from real nodes, as kept in `test/fixtures`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

// biome-ignore lint/suspicious/noExplicitAny: recordings are looked into freely; every field used is asserted
export type Json = any;

/** One case: what was asked and what the node answered. `file` has no extension. */
export type Recording = Readonly<{
  file: string;
  how: string;
  request: Json;
  /** Of the HTTP answer; absent if it came over a WebSocket. */
  status?: number;
  response?: Json;
  messages?: readonly Json[];
}>;

/** Returns the recordings of a folder below `test/fixtures`, by file name without extension. */
export function readRecordings(folder: string): ReadonlyMap<string, Recording> {
  const path = join('test/fixtures', folder);
  const files = readdirSync(path).map((name) => name.replace(/\.json$/, ''));
  return new Map(
    files.map((file) => [file, { file, ...JSON.parse(readFileSync(join(path, `${file}.json`), 'utf8')) }]),
  );
}
