/**
 * The listener of a simulated node: JSON-RPC over HTTP POST and over WebSocket, on one loopback port or on one each.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';
import { createServer } from '../lib/node-http.ts';
import {
  bearerOf,
  closeServer,
  listenOnLoopback,
  MESSAGE_BYTES_MAX,
  readBody,
  refuse,
  sendJson,
} from './http-listener.ts';
import type { Interceptor } from './interceptor.ts';
import { answerMessage } from './json-rpc.ts';

/** The caller: one WebSocket connection, or one HTTP request. */
export type Peer = Readonly<{
  /** From `Authorization: Bearer …`; empty if there is none. */
  bearer: string;
  /** Sends a notification; null if the caller cannot receive any (HTTP). */
  notify: ((method: string, params: unknown) => void) | null;
}>;

export type RpcService = Readonly<{
  /**
   * Answers a call.
   * @throws RpcError
   */
  call(method: string, params: unknown, peer: Peer): unknown;
  /** Called when the connection has closed. */
  leave(peer: Peer): void;
  /** The only kind of connection that is served; both if absent. */
  only?: 'http' | 'websocket';
  interceptor: Interceptor;
}>;

/** A client that reads too slowly is disconnected. */
const UNSENT_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Starts listening.
 * @param port tried first; if it is taken (or 0), any free one
 * @throws the listen error if that fails too
 */
export async function serveJsonRpc(
  port: number,
  service: RpcService,
): Promise<Readonly<{ port: number; close(): Promise<void> }>> {
  const server = createServer((request, response) => {
    answerHttp(request, response, service);
  });
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MESSAGE_BYTES_MAX });
  if (service.only !== 'http') {
    server.on('upgrade', (request, socket, head) => {
      sockets.handleUpgrade(request, socket, head, (client) => talk(client, bearerOf(request), service));
    });
  }

  const listening = await listenOnLoopback(server, port);
  return {
    port: listening,
    async close() {
      for (const client of sockets.clients) client.terminate();
      await closeServer(server);
    },
  };
}

/** Returns what the node says to a message of this caller. */
function answering(peer: Peer, { interceptor, call }: RpcService): (message: string) => string {
  const over = peer.notify ? 'websocket' : 'http';
  return (message) =>
    answerMessage(message, (method, params) =>
      interceptor.call({ method, params, over }, (asked) => call(method, asked, peer)),
    );
}

async function answerHttp(request: IncomingMessage, response: ServerResponse, service: RpcService): Promise<void> {
  if (service.only === 'websocket') return void request.socket.destroy();
  if (request.method !== 'POST') return refuse(response, 405, 'method not allowed');
  const body = await readBody(request);
  if (body === null) return refuse(response, 413, 'content length too large');
  service.interceptor.exchange(body, answering({ bearer: bearerOf(request), notify: null }, service), {
    connection: response,
    send: (text) => sendJson(response, text),
  });
}

function talk(client: WebSocket, bearer: string, service: RpcService): void {
  const send = (text: string) => {
    if (client.bufferedAmount > UNSENT_BYTES_MAX) client.terminate();
    else client.send(text);
  };
  const peer: Peer = {
    bearer,
    notify: (method, params) => send(JSON.stringify({ jsonrpc: '2.0', method, params })),
  };
  const answer = answering(peer, service);
  client.on('message', (data) => {
    service.interceptor.exchange(data.toString(), answer, { connection: client, send });
  });
  // A client that breaks the protocol loses its connection; `close` follows.
  client.on('error', () => client.terminate());
  client.on('close', () => service.leave(peer));
}
