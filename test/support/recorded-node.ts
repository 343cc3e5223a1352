/**
 * A JSON-RPC node that answers what a real one answered: it plays recordings at a socket, over HTTP and WebSocket.
 *
 *   const node = await startRecordedNode({ eth_getBalance: () => '0x1' });
 *   node.play(recordings.get('eth_chainId'));
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import type { Json, Recording } from './recordings.ts';

type Question = Readonly<{ id: unknown; method: string; params: readonly unknown[] }>;

/** Results of methods that no played recording answers. */
export type Results = Readonly<Record<string, (params: readonly Json[]) => unknown>>;

export type RecordedNode = Readonly<{
  httpUrl: string;
  wsUrl: string;
  /**
   * Plays these recordings from now on, and no others. A recorded call answers every call of its method (and of the
   * same function of a contract); of several, the one with the same arguments. A recorded batch or refusal answers
   * every message.
   */
  play(...recordings: readonly Recording[]): void;
  close(): Promise<void>;
}>;

const same = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one).toLowerCase() === JSON.stringify(other).toLowerCase();
/** The function that a call of a contract is of; undefined for other requests. */
const functionOf = (params: Json): string | undefined => params[0]?.data?.slice(0, 10);

export async function startRecordedNode(results: Results = {}): Promise<RecordedNode> {
  let played: readonly Recording[] = [];

  function answer({ id, method, params }: Question): Json {
    const calls = played.filter(
      ({ request }) => request.method === method && functionOf(request.params) === functionOf(params),
    );
    const call = calls.find(({ request }) => same(request.params, params)) ?? calls[0];
    if (call) return { ...call.response, id };
    const result = results[method];
    if (result) return { jsonrpc: '2.0', id, result: result(params) };
    return { jsonrpc: '2.0', id, error: { code: -32601, message: `nothing is recorded of ${method}` } };
  }

  /** Returns the answer to a whole message, with the ids of the question. */
  function answerAll(text: string): { status: number; body: string } {
    const question: Question | Question[] = JSON.parse(text);
    const whole = played.find(({ request, status }) => Array.isArray(request) || (status ?? 200) !== 200);
    if (whole && typeof whole.response === 'string') return { status: whole.status ?? 200, body: whole.response };
    if (whole && Array.isArray(question)) {
      const idOf = new Map(whole.request.map(({ id }: Question, at: number) => [id, question[at]?.id]));
      const answers = [whole.response].flat().map((one: Json) => ({ ...one, id: idOf.get(one.id) ?? null }));
      return { status: 200, body: JSON.stringify(Array.isArray(whole.response) ? answers : answers[0]) };
    }
    return { status: 200, body: JSON.stringify(Array.isArray(question) ? question.map(answer) : answer(question)) };
  }

  const server = createServer(async (request: IncomingMessage, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const { status, body } = answerAll(text);
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (client) => {
    client.on('message', (data) => {
      const text = data.toString();
      const messages = played.find((recording) => recording.messages)?.messages;
      if (!messages || !text.includes('eth_subscribe')) return client.send(answerAll(text).body);
      const { id } = JSON.parse(text) as Question;
      for (const message of messages) client.send(JSON.stringify(message.id === 1 ? { ...message, id } : message));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const place = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    httpUrl: `http://${place}`,
    wsUrl: `ws://${place}`,
    play(...recordings) {
      played = recordings;
    },
    async close() {
      for (const client of sockets.clients) client.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
