/**
 * A merchant's server: a real HTTP server on loopback that keeps what it received and answers as the test sets.
 */
import {
  createServer as createHttpServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { closing } from './closing.ts';

export type Received = Readonly<{ method: string; path: string; headers: IncomingHttpHeaders; body: string }>;

/** Answers one request; `earlier` counts those before it on the same path. */
export type Answer = (response: ServerResponse, received: Received, earlier: number) => void;

export type MerchantServer = Awaited<ReturnType<typeof startMerchantServer>>;

/**
 * Starts the server.
 * @param tls PEM texts; the server then serves https
 * @param at its port; 0 for a free one
 */
export async function startMerchantServer(answer: Answer, tls?: Readonly<{ key: string; cert: string }>, at = 0) {
  /** Every request so far, in the order in which their bodies were complete. */
  const received: Received[] = [];
  const on = (path: string): readonly Received[] => received.filter((request) => request.path === path);
  const listener = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    // A sender that disconnects is part of what is tested.
    response.on('error', () => {});
    try {
      for await (const chunk of request) chunks.push(chunk);
    } catch {
      return;
    }
    const path = request.url ?? '';
    const whole = {
      method: request.method ?? '',
      path,
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
    };
    const earlier = on(path).length;
    received.push(whole);
    answer(response, whole, earlier);
  };
  const server = tls ? createHttpsServer(tls, listener) : createHttpServer(listener);
  await new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve));
  // A test that fails before it closes the server must still let its process end.
  server.unref();
  const { port } = server.address() as AddressInfo;
  return {
    origin: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    received: received as readonly Received[],
    on,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Starts one that is closed after the test. */
export const merchantServer = async (...of: Parameters<typeof startMerchantServer>): Promise<MerchantServer> =>
  closing(await startMerchantServer(...of));
