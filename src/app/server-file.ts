/**
 * The file with the address of a data directory's server, by which tools find it even when the system chose its port.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { writeSecretFile } from '../lib/secret-file.ts';

const schema = z.object({
  pid: z.int(),
  base_url: z.string(),
  port: z.int(),
  metrics_url: z.string(),
  dashboard_url: z.string(),
});

type ServerFile = z.infer<typeof schema>;

const fileIn = (dataDir: string): string => join(dataDir, 'server.json');

export const writeServerFile = (dataDir: string, running: ServerFile): void =>
  writeSecretFile(fileIn(dataDir), `${JSON.stringify(running, null, 2)}\n`);

export const removeServerFile = (dataDir: string): void => rmSync(fileIn(dataDir), { force: true });

/** @returns the server's file; null when no server runs, even if a killed one has left its file */
export function readServerFile(dataDir: string): ServerFile | null {
  try {
    const running = schema.parse(JSON.parse(readFileSync(fileIn(dataDir), 'utf8')));
    process.kill(running.pid, 0);
    return running;
  } catch {
    // No server runs if there is no file, half a file after a crash, or no such process.
    return null;
  }
}
