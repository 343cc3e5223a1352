/**
 * A local HTTP server in the place of another party: it answers each path as the test sets at that moment.
 */
import type { ServerResponse } from 'node:http';
import { startMerchantServer } from './merchant-server.ts';

/** `hang` accepts the request and never answers. A function writes the response itself. */
export type Reply = Readonly<{ status?: number; body: string }> | 'hang' | ((response: ServerResponse) => void);

export type AnsweringServer = Awaited<ReturnType<typeof startAnsweringServer>>;

/** @param port 0 for a free one */
export async function startAnsweringServer(port = 0) {
  const replies = new Map<string, Reply>();
  const asked: string[] = [];
  const { origin, close } = await startMerchantServer(
    (response, { path }) => {
      asked.push(path);
      const reply = replies.get(path) ?? { status: 404, body: `no reply was set for ${path}` };
      if (reply === 'hang') return;
      if (typeof reply === 'function') return reply(response);
      response.writeHead(reply.status ?? 200, { 'content-type': 'text/plain; charset=utf-8' }).end(reply.body);
    },
    undefined,
    port,
  );
  return {
    origin,
    close,
    /** Sets the reply of a path (with its query); a path without one is 404. */
    reply: (path: string, reply: Reply) => void replies.set(path, reply),
    /** Every request so far, as its path with query. */
    asked: asked as readonly string[],
  };
}
