/**
 * A raw JSON-RPC client over one WebSocket, to see exactly what a node sends.
 */
import WebSocket from 'ws';
import { until } from '../support/until.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by tests that assert every field they use
type Json = any;

export type RpcClient = Readonly<{
  socket: WebSocket;
  /** Everything received so far: parsed, or the text if it is not JSON. */
  received: readonly Json[];
  /** Results of `eth_subscription` notifications of one subscription so far. */
  notified(subscription: string): Json[];
  /** Sends a call and waits for its whole answer. */
  ask(method: string, params?: unknown): Promise<Json>;
  close(): Promise<void>;
}>;

/** Connects and waits until the connection is open. */
export async function openRpcClient(url: string, headers: Record<string, string> = {}): Promise<RpcClient> {
  const socket = new WebSocket(url, { headers, perMessageDeflate: false });
  const received: Json[] = [];
  let asked = 0;
  socket.on('message', (data) => {
    const text = data.toString();
    try {
      received.push(JSON.parse(text));
    } catch {
      received.push(text);
    }
  });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  socket.on('error', () => socket.terminate());
  return {
    socket,
    received,
    notified: (subscription) =>
      received
        .filter((message) => message.params?.subscription === subscription)
        .map((message) => message.params.result),
    async ask(method, params = []) {
      asked += 1;
      const id = `call ${asked}`;
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
      const answer = () => received.find((message) => message.id === id);
      await until(`${method} is answered`, () => answer() !== undefined);
      return answer();
    },
    async close() {
      socket.terminate();
      await closed;
    },
  };
}
