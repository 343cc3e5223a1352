/**
 * The listener of a simulated node: JSON-RPC over HTTP POST and over WebSocket, on one loopback port or on one each,
 * with the faults of connections.
 *
 * @module
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';
import type { FaultKind, InjectedFault } from './faults.ts';
import {
  bearerOf,
  closeServer,
  cut,
  listenOnLoopback,
  MESSAGE_BYTES_MAX,
  readBody,
  refuse,
  sendThrough,
} from './http-listener.ts';
import { gethDialect, type JsonRpcDialect, RpcError } from './json-rpc.ts';

/** The faults that are applied here; the service applies the others. */
export const transportFaults: readonly FaultKind[] = [
  'rpc_error',
  'http_error',
  'http_refused',
  'hang',
  'cut',
  'drop',
  'half_open',
];

/** The caller: one WebSocket connection, or one HTTP request. */
export type Peer = Readonly<{
  /** From `Authorization: Bearer …`; empty if there is none. */
  bearer: string;
  /** Sends a notification; null if the caller cannot receive any (HTTP). */
  notify: ((method: string, params: unknown) => void) | null;
}>;

export type RpcService = Readonly<{
  /** Returns the fault that hits this request, if any. */
  strike(method: string, params: unknown): InjectedFault | null;
  /**
   * Answers a call. `fault` is the result of `strike`, unless it is a transport fault.
   * @throws RpcError
   */
  call(method: string, params: unknown, peer: Peer, fault: InjectedFault | null): unknown;
  /** Called when the connection has closed. */
  leave(peer: Peer): void;
  /** go-ethereum's if absent. */
  dialect?: JsonRpcDialect;
  /** The only kind of connection that is served; both if absent. */
  only?: 'http' | 'websocket';
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
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MESSAGE_BYTES_MAX,
    // A dead connection must not answer pings, so pongs are sent by hand.
    autoPong: false,
  });
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

/** Answers one message and returns which transport fault hit it. */
function answer(text: string, peer: Peer, service: RpcService): { text: string; fault: InjectedFault | null } {
  let struck: InjectedFault | null = null;
  const { dialect = gethDialect() } = service;
  const answered = dialect.answerMessage(text, (method, params) => {
    const fault = service.strike(method, params);
    if (!fault || !transportFaults.includes(fault.kind)) return service.call(method, params, peer, fault);
    if (fault.kind === 'rpc_error') throw dialect.internalError;
    if (fault.kind === 'http_error' && peer.notify) throw new RpcError(-32005, 'limit exceeded');
    struck ??= fault;
    return service.call(method, params, peer, null);
  });
  return { text: answered, fault: struck };
}

async function answerHttp(request: IncomingMessage, response: ServerResponse, service: RpcService): Promise<void> {
  if (service.only === 'websocket') return void request.socket.destroy();
  const { refusals, bodyBytesMax, pages } = service.dialect ?? gethDialect();
  const page = request.method === 'GET' ? pages[request.url ?? ''] : undefined;
  if (page !== undefined) return void response.end(page);
  if (request.method !== 'POST') return refuse(response, 405, refusals.method);
  if (!/^application\/json(-rpc)?\b/i.test(request.headers['content-type'] ?? '')) {
    return refuse(response, 415, refusals.contentType);
  }
  const body = await readBody(request, bodyBytesMax);
  const bytes = request.headers['content-length'] ?? 'unknown';
  if (body === null) return refuse(response, 413, refusals.tooLarge(bytes));
  const { text, fault } = answer(body, { bearer: bearerOf(request), notify: null }, service);
  sendThrough(fault, request, response, text);
}

function talk(client: WebSocket, bearer: string, service: RpcService): void {
  let isDead = false;
  const send = (text: string) => {
    if (isDead || text === '') return;
    if (client.bufferedAmount > UNSENT_BYTES_MAX) client.terminate();
    else client.send(text);
  };
  const peer: Peer = {
    bearer,
    notify: (method, params) => send(JSON.stringify({ jsonrpc: '2.0', method, params })),
  };
  client.on('message', (data) => {
    if (isDead) return;
    const { text, fault } = answer(data.toString(), peer, service);
    switch (fault?.kind) {
      case 'hang':
        return;
      case 'half_open':
        isDead = true;
        // Unread frames also leave pings and the closing handshake unanswered.
        return client.pause();
      case 'drop':
        return client.terminate();
      case 'cut':
        return send(cut(text));
      default:
        return send(text);
    }
  });
  client.on('ping', (data) => {
    if (!isDead) client.pong(data);
  });
  // A client that breaks the protocol loses its connection; `close` follows.
  client.on('error', () => client.terminate());
  client.on('close', () => service.leave(peer));
}
