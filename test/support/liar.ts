/**
 * Stands between a client and a node of any family, as a gateway does, and changes what the node says: false answers,
 * truncated texts, silence, dead connections, another node. Without lies it is transparent, over HTTP and WebSocket.
 *
 *   const liar = await startLiar(node);
 *   liar.tell((call) => (call === 'eth_getLogs' ? [] : undefined));
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import WebSocket, { WebSocketServer } from 'ws';
import type { Json } from './recordings.ts';

/** An error in place of a result of JSON-RPC. */
export class Failure {
  readonly error: Readonly<{ code: number; message: string }>;
  constructor(code: number, message: string) {
    this.error = { code, message };
  }
}

/**
 * Returns the false answer to a call; undefined for the true one of the node.
 * @param call the method of JSON-RPC, or the path of java-tron's interface
 * @param asked the parameters, or the body
 * @param honest the node's result, or its whole answer
 */
export type Lie = (call: string, asked: Json, honest: Json) => unknown;

/** They may be changed at any time; absent ones change nothing. */
type Lies = {
  answer?: Lie;
  /** Changes a whole text just before it is sent; null: it is never sent. A batch is one text with several answers. */
  text?: (text: string, calls: readonly string[]) => string | null;
  /** HTTP status instead of the node's. */
  status?: number;
};

export type Liar = Awaited<ReturnType<typeof startLiar>>;

type Question = Readonly<{ id?: unknown; method: string; params: Json }>;

const asList = <T>(value: T | readonly T[]): readonly T[] => (Array.isArray(value) ? value : [value as T]);

/** Returns the node's text with the lies in it. */
function spoil({ answer: lie, text: change }: Lies, text: string, questions: readonly Question[]): string | null {
  const [first] = questions;
  const calls = questions.map(({ method }) => method);
  let told = text;
  if (lie && first?.method.startsWith('/')) {
    const lied = lie(first.method, first.params, parsed(text));
    if (lied !== undefined) told = JSON.stringify(lied);
  } else if (lie) {
    const value: Json = JSON.parse(text);
    const answers = asList(value).map((answer: Json) => {
      const { method = '', params = [] } = questions.find(({ id }) => id === answer.id) ?? {};
      const lied = method ? lie(method, params, answer.result) : undefined;
      if (lied === undefined) return answer;
      return { jsonrpc: '2.0', id: answer.id, ...(lied instanceof Failure ? lied : { result: lied }) };
    });
    told = JSON.stringify(Array.isArray(value) ? answers : answers[0]);
  }
  return change ? change(told, calls) : told;
}

/** Returns an answer of java-tron, some of which are not JSON. */
function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Returns the calls of a body; java-tron's is one, whose name is its path. */
const questionsIn = (body: Json, path: string): readonly Question[] =>
  Array.isArray(body) || body.jsonrpc ? asList(body) : [{ method: path, params: body }];

export async function startLiar(node: Readonly<{ httpUrl: string; wsUrl?: string }>) {
  const lies: Lies = {};
  /** Calls over HTTP, as received. */
  const asked: (readonly [call: string, params: Json])[] = [];
  const clients = new Set<WebSocket>();
  let nodeUrl = node.httpUrl;
  let connected = 0;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += chunk;
    const path = request.url ?? '/';
    const questions = questionsIn(JSON.parse(body), path);
    asked.push(...questions.map(({ method, params }) => [method, params] as const));
    const headers = { 'content-type': 'application/json' };
    const upstream = await fetch(new URL(path, nodeUrl), { method: 'POST', headers, body });
    const text = spoil(lies, await upstream.text(), questions);
    if (text !== null) response.writeHead(lies.status ?? upstream.status, headers).end(text);
  }

  // A node that was stopped meanwhile: a gateway then resets the connection.
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (client) => {
    connected += 1;
    clients.add(client);
    const questions = new Map<unknown, Question>();
    const upstream = new WebSocket(node.wsUrl ?? '');
    const ready = new Promise((resolve) => upstream.once('open', resolve));
    client.on('message', async (data) => {
      for (const question of questionsIn(JSON.parse(String(data)), '/')) questions.set(question.id, question);
      await ready;
      upstream.send(String(data));
    });
    upstream.on('message', (data) => {
      const ids = asList<Json>(JSON.parse(String(data))).map(({ id }) => id);
      const text = spoil(
        lies,
        String(data),
        ids.flatMap((id) => questions.get(id) ?? []),
      );
      if (text !== null && clients.has(client)) client.send(text);
    });
    upstream.on('error', () => client.terminate());
    upstream.on('close', () => client.terminate());
    client.on('close', () => upstream.terminate());
    client.on('error', () => upstream.terminate());
  });

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A test that fails before it closes the liar must still let its process end.
  server.unref();
  const address = server.address();
  if (!address || typeof address === 'string') throw new Error('no port');
  return {
    httpUrl: `http://127.0.0.1:${address.port}`,
    wsUrl: `ws://127.0.0.1:${address.port}`,
    lies,
    asked,
    /** Answers falsely from now on. */
    tell(lie: Lie) {
      lies.answer = lie;
    },
    /** Answers nothing of use any more, over HTTP. */
    fail() {
      lies.status = 503;
    },
    /** Ends all lies. */
    heal() {
      for (const lie of Object.keys(lies) as (keyof Lies)[]) delete lies[lie];
    },
    /** Sends every request over HTTP from now on to this node. */
    connectTo(other: string) {
      nodeUrl = other;
    },
    /** WebSocket connections so far. */
    connections: () => connected,
    /** Present WebSocket connections stay open, but transmit nothing any more. */
    freeze() {
      for (const client of clients) client.pause();
      clients.clear();
    },
    /** Sends a text to all present WebSocket connections. */
    say(text: string) {
      for (const client of clients) client.send(text);
    },
    async close() {
      for (const client of sockets.clients) client.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => sockets.close(resolve));
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
