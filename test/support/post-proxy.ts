/**
 * Sits between a client and a node that is asked by POST. As a gateway, it may send the same connection to another
 * node; and it changes answers, as set at that moment. Otherwise it is transparent.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

// biome-ignore lint/suspicious/noExplicitAny: bodies and answers are changed at will
type Json = any;

export type PostProxy = Awaited<ReturnType<typeof startPostProxy>>;

export async function startPostProxy(firstUrl: string) {
  /** Replaces the answer's text; undefined leaves it unchanged, null leaves the request unanswered. */
  const lies: { answer?: (path: string, body: Json, text: string) => string | null | undefined } = {};
  /** Paths with bodies, as received. */
  const asked: (readonly [path: string, body: Json])[] = [];
  let nodeUrl = firstUrl;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += chunk;
    const path = request.url ?? '/';
    const headers = { 'content-type': 'application/json' };
    asked.push([path, JSON.parse(body)]);
    const answer = await fetch(`${nodeUrl}${path}`, { method: 'POST', headers, body });
    const text = await answer.text();
    const told = lies.answer ? lies.answer(path, JSON.parse(body), text) : text;
    if (told !== null) response.writeHead(answer.status, headers).end(told ?? text);
  }

  // A node that was stopped meanwhile: a gateway then resets the connection.
  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lies,
    asked,
    /** Sends every request from now on to this node. */
    connectTo(url: string) {
      nodeUrl = url;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
