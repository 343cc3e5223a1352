/**
 * Sits between a client and a java-tron node and changes the node's answers, as set at that moment. Without lies it is
 * transparent.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

// biome-ignore lint/suspicious/noExplicitAny: bodies and answers are changed at will
type Json = any;

export type TronProxy = Readonly<{
  url: string;
  /** Replaces the answer's text; undefined leaves it unchanged, null leaves the request unanswered. */
  lies: { answer?: (path: string, body: Json, text: string) => string | null | undefined };
  /** Paths with bodies, as received. */
  asked: (readonly [path: string, body: Json])[];
  close(): Promise<void>;
}>;

export async function startTronProxy(nodeUrl: string): Promise<TronProxy> {
  const lies: TronProxy['lies'] = {};
  const asked: (readonly [string, Json])[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const path = request.url ?? '/';
    asked.push([path, JSON.parse(body)]);
    const answer = await fetch(`${nodeUrl}${path}`, { method: 'POST', body });
    const text = await answer.text();
    const told = lies.answer ? lies.answer(path, JSON.parse(body), text) : text;
    if (told !== null) response.writeHead(answer.status).end(told ?? text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lies,
    asked,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
