/**
 * Sits between a client and a real JSON-RPC node and changes what the node says: wrong answers, truncated
 * texts, silence, dead connections. Without lies it is transparent, over HTTP and WebSocket.
 *
 *   const proxy = await startLyingProxy(anvil);
 *   proxy.lies.answer = (question, answer) => question.method === 'eth_getLogs' ? { ...answer, result: [] } : answer;
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import WebSocket, { WebSocketServer } from 'ws';

export type Question = Readonly<{ id?: unknown; method: string; params: readonly unknown[] }>;
export type Answer = Readonly<{
  jsonrpc: '2.0';
  id: unknown;
  result?: unknown;
  error?: { code: number; message: string };
}>;

/** Called for every answer; absent ones change nothing. A batch is one text with several answers. */
export type Lies = {
  /** Asks the node something else instead; `answer` then answers the client. Over WebSocket. */
  question?: (question: Question) => Question;
  answer?: (question: Question, answer: Answer) => Answer;
  /** Changes the whole text just before it is sent; null: it is never sent. `methods` are those it answers. */
  text?: (text: string, methods: readonly string[]) => string | null;
  /** HTTP status instead of 200. */
  status?: number;
};

export type LyingProxy = Awaited<ReturnType<typeof startLyingProxy>>;

const asList = <T>(value: T | readonly T[]): readonly T[] => (Array.isArray(value) ? value : [value as T]);

export async function startLyingProxy(node: Readonly<{ httpUrl: string; wsUrl: string }>) {
  /** The current lies; may be changed at any time. */
  const lies: Lies = {};
  /** Authorization headers, as received. */
  const authorizations: string[] = [];
  const clients = new Set<WebSocket>();
  let connected = 0;

  /** Returns the node's text with the current lies, or null for silence. */
  function spoil(text: string, questions: readonly Question[]): string | null {
    const value = JSON.parse(text) as Answer | Answer[];
    const changed = asList(value).map((answer) => {
      const question = questions.find(({ id }) => id === answer.id);
      return question && lies.answer ? lies.answer(question, answer) : answer;
    });
    const honest = lies.answer ? JSON.stringify(Array.isArray(value) ? changed : changed[0]) : text;
    return lies.text
      ? lies.text(
          honest,
          questions.map(({ method }) => method),
        )
      : honest;
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    authorizations.push(request.headers.authorization ?? '');
    let body = '';
    for await (const chunk of request) body += chunk;
    const questions = asList(JSON.parse(body) as Question | Question[]);
    const upstream = await fetch(node.httpUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    const text = spoil(await upstream.text(), questions);
    if (text === null) return;
    response.writeHead(lies.status ?? 200, { 'content-type': 'application/json' }).end(text);
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (client, request) => {
    connected += 1;
    authorizations.push(request.headers.authorization ?? '');
    clients.add(client);
    const questions = new Map<unknown, Question>();
    const upstream = new WebSocket(node.wsUrl);
    const ready = new Promise((resolve) => upstream.once('open', resolve));
    client.on('message', async (data) => {
      const asked = asList(JSON.parse(String(data)) as Question | Question[]);
      for (const question of asked) questions.set(question.id, question);
      await ready;
      const { question: change } = lies;
      const isBatch = Array.isArray(JSON.parse(String(data)));
      const changed = change && asked.map(change);
      upstream.send(changed ? JSON.stringify(isBatch ? changed : changed[0]) : String(data));
    });
    upstream.on('message', (data) => {
      const ids = asList(JSON.parse(String(data)) as Answer | Answer[]).map(({ id }) => id);
      const asked = ids.flatMap((id) => questions.get(id) ?? []);
      const text = spoil(String(data), asked);
      if (text !== null && clients.has(client)) client.send(text);
    });
    upstream.on('error', () => client.terminate());
    upstream.on('close', () => client.terminate());
    client.on('close', () => upstream.terminate());
    client.on('error', () => upstream.terminate());
  });

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (!address || typeof address === 'string') throw new Error('no port');
  return {
    httpUrl: `http://127.0.0.1:${address.port}`,
    wsUrl: `ws://127.0.0.1:${address.port}`,
    lies,
    /** WebSocket connections so far. */
    connections: () => connected,
    authorizations,
    /** Present WebSocket connections stay open, but transmit nothing any more. */
    freeze() {
      for (const client of clients) client.pause();
      clients.clear();
    },
    /** Ends all lies. */
    heal() {
      for (const lie of Object.keys(lies) as (keyof Lies)[]) delete lies[lie];
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
