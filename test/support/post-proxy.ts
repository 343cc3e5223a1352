/**
 * Sits between a client and a node that is asked by POST. As a gateway, it may send the same connection to another
 * node; and it changes answers, as set at that moment. Otherwise it is transparent.
 */
import type { ServerResponse } from 'node:http';
import { type Received, startMerchantServer } from './merchant-server.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies and answers are changed at will
type Json = any;

export type PostProxy = Awaited<ReturnType<typeof startPostProxy>>;

export async function startPostProxy(firstUrl: string) {
  /** Replaces the answer's text; undefined leaves it unchanged, null leaves the request unanswered. */
  const lies: { answer?: (path: string, body: Json, text: string) => string | null | undefined } = {};
  /** Paths with bodies, as received. */
  const asked: (readonly [path: string, body: Json])[] = [];
  let nodeUrl = firstUrl;

  async function pass(response: ServerResponse, { path, body }: Received): Promise<void> {
    const headers = { 'content-type': 'application/json' };
    asked.push([path, JSON.parse(body)]);
    const answer = await fetch(`${nodeUrl}${path}`, { method: 'POST', headers, body });
    const text = await answer.text();
    const told = lies.answer ? lies.answer(path, JSON.parse(body), text) : text;
    if (told !== null) response.writeHead(answer.status, headers).end(told ?? text);
  }

  // A node that was stopped meanwhile: a gateway then resets the connection.
  const { origin: url, close } = await startMerchantServer(
    (response, received) => void pass(response, received).catch(() => response.destroy()),
  );
  return {
    ...{ url, lies, asked, close },
    /** Sends every request from now on to this node. */
    connectTo(other: string) {
      nodeUrl = other;
    },
  };
}
