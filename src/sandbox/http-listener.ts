/**
 * The HTTP listener of a simulated node on loopback, for any protocol on top.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const HOST = '127.0.0.1';
const CONNECTIONS_MAX = 200;
export const MESSAGE_BYTES_MAX = 5 * 1024 * 1024;

/**
 * Starts listening and returns the port.
 * @param port tried first; if it is taken (or 0), any free one
 * @throws the listen error if that fails too
 */
export async function listenOnLoopback(server: Server, port: number): Promise<number> {
  server.maxConnections = CONNECTIONS_MAX;
  const listen = (wanted: number) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(wanted, HOST, () => {
        server.off('error', reject);
        resolve();
      });
    });
  await listen(port).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE' && error.code !== 'EACCES') throw error;
    return listen(0);
  });
  return (server.address() as AddressInfo).port;
}

/** Closes the port and every HTTP connection to it. */
export async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}

/** Returns the token of `Authorization: Bearer …`; empty if there is none. */
export const bearerOf = (request: IncomingMessage): string =>
  /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';

/**
 * Returns the body's text; null if it is longer than `bytesMax`. If the client disconnects, the promise never settles
 * and is collected with it.
 */
export function readBody(request: IncomingMessage, bytesMax = MESSAGE_BYTES_MAX): Promise<string | null> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= bytesMax) chunks.push(chunk);
      else resolve(null);
    });
    request.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
  });
}

export function refuse(response: ServerResponse, status: number, why: string): void {
  response.writeHead(status, { connection: 'close' }).end(`${why}\n`);
}

/** Sends an answer as JSON. */
export const sendJson = (response: ServerResponse, text: string): void =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(text);
