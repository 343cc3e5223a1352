/**
 * A bridge in the test's own process, between real sockets.
 */
import WebSocket from 'ws';
import { type BridgeLimits, startBridge } from '../../src/chains/tron/node/bridge.ts';
import { openLog } from '../../src/lib/log.ts';
import { fairClock } from './fair-clock.ts';

export const BRIDGE_TOKEN = 'a-token-of-more-than-16-characters';

export type TronBridge = Awaited<ReturnType<typeof startTronBridge>>;

/**
 * Starts a bridge.
 * @param nodeUrl where java-tron listens, both interfaces at one address
 */
export async function startTronBridge(nodeUrl: string, limits: Partial<BridgeLimits> = {}) {
  const listen = (port: number) =>
    startBridge({
      host: '127.0.0.1',
      port,
      token: BRIDGE_TOKEN,
      nodeUrl: new URL(nodeUrl),
      solidUrl: new URL(nodeUrl),
      pollMs: 20,
      limits,
      clock: fairClock,
      log: openLog('tron-ws', process.env.LOG ?? 'silent'),
    });
  let bridge = await listen(0);
  const { port } = bridge;
  return {
    /** With the token. */
    url: `ws://127.0.0.1:${port}/?token=${BRIDGE_TOKEN}`,
    stop: () => bridge.close(),
    /** Starts it again at the same port. */
    async start() {
      bridge = await listen(port);
    },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: messages are looked into freely; every field used is asserted
type Json = any;

/**
 * Opens a consumer with a bare WebSocket.
 * @throws Error naming the HTTP status if it is refused
 */
export async function openConsumer(url: string, headers: Record<string, string> = {}) {
  const socket = new WebSocket(url, { headers });
  const messages: Json[] = [];
  socket.on('message', (data) => messages.push(JSON.parse(String(data))));
  const closed = new Promise<readonly [number, string]>((resolve) => {
    socket.on('close', (code, reason) => resolve([code, reason.toString()]));
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('open', () => resolve());
    socket.once('error', reject);
  });
  return {
    socket,
    /** Messages so far, parsed. */
    messages: messages as readonly Json[],
    /** Resolves with close code and reason. */
    closed,
    /** Sends a value as JSON, a text as it is. */
    say: (message: unknown) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
  };
}
