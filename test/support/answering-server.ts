/**
 * A local HTTP server in the place of another party: it answers each path as the test sets at that moment.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** `hang` accepts the request and never answers. A function writes the response itself. */
export type Reply = Readonly<{ status?: number; body: string }> | 'hang' | ((response: ServerResponse) => void);

export type AnsweringServer = Readonly<{
  origin: string;
  /** Sets the reply of a path (with its query); a path without one is 404. */
  reply(path: string, reply: Reply): void;
  /** Every request so far, as its path with query. */
  asked: readonly string[];
  close(): Promise<void>;
}>;

/** @param port 0 for a free one */
export async function startAnsweringServer(port = 0): Promise<AnsweringServer> {
  const replies = new Map<string, Reply>();
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    const reply = replies.get(path) ?? { status: 404, body: `no reply was set for ${path}` };
    if (reply === 'hang') return;
    if (typeof reply === 'function') return reply(response);
    response.writeHead(reply.status ?? 200, { 'content-type': 'text/plain; charset=utf-8' }).end(reply.body);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    reply: (path, reply) => void replies.set(path, reply),
    asked,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
