/**
 * A proxy before a PostgreSQL server, which breaks a connection exactly at a COMMIT. It listens on a socket in a folder
 * of its own and reads what clients send (postgresql.org/docs/15/protocol-message-formats.html).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addressOf } from '../support/postgres.ts';

/**
 * `before`: the server never gets the COMMIT. `after`: it commits, and the answer is lost. `late`: the client's
 * connection ends first, and the COMMIT arrives while the client tries again. `silent`: it commits, the answer is lost,
 * and the connection stays open.
 */
export type Break = 'before' | 'after' | 'late' | 'silent';
export const breaks: readonly Break[] = ['before', 'after', 'late', 'silent'];

const SOCKET = '.s.PGSQL.5432';
const LATE_MS = 30;

/** Returns the messages of what a client sends, whole; the first one has no type. */
function createCutter(): (chunk: Buffer) => readonly Buffer[] {
  let [left, isStarted]: [Buffer, boolean] = [Buffer.alloc(0), false];
  return (chunk) => {
    const messages: Buffer[] = [];
    left = Buffer.concat([left, chunk]);
    for (;;) {
      const lengthAt = isStarted ? 1 : 0;
      if (left.length < lengthAt + 4) return messages;
      const end = lengthAt + left.readUInt32BE(lengthAt);
      if (left.length < end) return messages;
      messages.push(left.subarray(0, end));
      left = left.subarray(end);
      isStarted = true;
    }
  };
}

const isCommit = (message: Buffer): boolean => message[0] === 0x51 && message.toString().includes('COMMIT');

export async function openPostgresProxy(firstServer: string) {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-px-'));
  const next: Break[] = [];
  const sockets = new Set<Socket>();
  let [broken, serverFolder] = [0, firstServer];

  function breakAt(how: Break, client: Socket, server: Socket, message: Buffer): void {
    broken++;
    server.removeAllListeners('data');
    if (how === 'before') {
      client.destroy();
      server.destroy();
      return;
    }
    if (how === 'late') client.destroy();
    const pass = () => server.write(message);
    if (how === 'late') setTimeout(pass, LATE_MS);
    else pass();
    server.once('data', () => {
      if (how === 'silent') return;
      client.destroy();
      server.destroy();
    });
  }

  const listener = createServer((client) => {
    const server = createConnection(join(serverFolder, SOCKET));
    const cut = createCutter();
    let isBroken = false;
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
    }
    server.on('data', (chunk) => client.write(chunk));
    server.on('close', () => client.destroy());
    client.on('close', () => !isBroken && server.destroy());
    client.on('data', (chunk) => {
      for (const message of cut(chunk)) {
        const how = !isBroken && isCommit(message) ? next.shift() : undefined;
        isBroken ||= how !== undefined;
        if (how) breakAt(how, client, server, message);
        else if (!isBroken) server.write(message);
      }
    });
  });
  await new Promise<void>((resolve) => listener.listen(join(folder, SOCKET), resolve));
  return {
    /** Returns the address of a database behind the proxy. */
    address: (database: string) => addressOf(folder, database),
    /** Sends new connections to another server. */
    turnTo(other: string) {
      serverFolder = other;
    },
    /** How the next commits break, one after the other; none does if it is empty. */
    next,
    /** How many commits were broken. */
    broken: () => broken,
    close() {
      listener.close();
      for (const socket of sockets) socket.destroy();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
