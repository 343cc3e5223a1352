/**
 * A PostgreSQL server of this machine for a run of tests, with one database that each test copies. It keeps nothing:
 * the disk is never synced, and its folder is removed at the end.
 */
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { preparePostgres } from '../../src/database/engine/postgres-server.ts';

export type PostgresServer = Readonly<{ folder: string; stop(): void }>;

const versions = '/usr/lib/postgresql';
/** The database that the others are copied from. */
const TEMPLATE = 'template';

/** Returns the address of a database on the server whose socket is in this folder. */
export const addressOf = (folder: string, database: string): string =>
  `postgres://postgres@localhost/${database}?host=${encodeURIComponent(folder)}`;

/** Returns Debian's folder of the newest server that is installed; null if none is. */
export function serverPrograms(): string | null {
  const found = existsSync(versions) ? readdirSync(versions).sort((one, other) => Number(other) - Number(one)) : [];
  return found.map((version) => join(versions, version, 'bin')).find((bin) => existsSync(join(bin, 'initdb'))) ?? null;
}

/** The user that the server runs as, which root must not. Numbers, because a child takes no names. */
function otherUser(): { uid: number; gid: number } | Record<string, never> {
  if (process.getuid?.() !== 0) return {};
  const id = (word: string) => Number(execFileSync('id', [word, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** Starts a server on a socket in a folder of its own, with the template. It ends with this process, at the latest. */
export async function startPostgres(bin: string): Promise<PostgresServer> {
  const user = otherUser();
  // The path of a socket has at most 107 bytes, so it is not in the checkout.
  const folder = mkdtempSync(join(tmpdir(), 'quayside-pg-'));
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const form = ['--auth=trust', '--username=postgres', '--encoding=UTF8', '--locale=C.UTF-8', '--no-sync'];
  execFileSync(join(bin, 'initdb'), ['-D', data, ...form], {
    ...user,
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const settings = { listen_addresses: '', unix_socket_directories: folder, max_connections: '300', fsync: 'off' };
  const quick = { ...settings, full_page_writes: 'off', synchronous_commit: 'off' };
  const words = Object.entries(quick).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const server = spawn(join(bin, 'postgres'), ['-D', data, ...words], { ...user, cwd: folder, stdio: 'ignore' });
  const stop = (): void => {
    server.kill('SIGINT');
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  process.once('exit', stop);
  while (spawnSync(join(bin, 'pg_isready'), ['-h', folder]).status !== 0 && server.exitCode === null);
  execFileSync(join(bin, 'createdb'), ['-h', folder, '-U', 'postgres', TEMPLATE]);
  await preparePostgres(addressOf(folder, TEMPLATE));
  return { folder, stop };
}

let copies = 0;

/** Makes a new database with the tables and no rows. @returns its address, and what removes it */
export function copyTemplate(folder: string): Readonly<{ url: string; remove(): void }> {
  const bin = serverPrograms() ?? '';
  const name = `t${process.pid}_${++copies}`;
  execFileSync(join(bin, 'createdb'), ['-h', folder, '-U', 'postgres', '-T', TEMPLATE, name]);
  return {
    url: addressOf(folder, name),
    remove: () => void execFile(join(bin, 'dropdb'), ['-h', folder, '-U', 'postgres', '--force', name]).unref(),
  };
}
