/**
 * The bridge: runs beside java-tron, which has no WebSocket, and offers one to followers elsewhere. It announces each new head, which it finds
 * by asking the node in a tight loop over loopback, and passes on the few calls that a follower makes (`bridge-message.ts`).
 *
 * It keeps no state but the last head it saw. While the node does not answer, nobody is connected: to a follower the bridge and the node are
 * one, so that it also checks again which node it talks to after either was restarted.
 * @module
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { BlockRef } from '../../../core/block.ts';
import { Fault } from '../../../core/fault.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Log } from '../../../lib/log.ts';
import { openRequestQueue, type RequestQueue } from '../../transport/request-queue.ts';
import { readAnswer } from '../answer.ts';
import { type BridgeRequest, readRequest, writeAnswers, writeFault, writeHead } from '../bridge-message.ts';
import type { Answers } from '../calls.ts';
import { BLOCK_PATH, readHeader } from '../wire.ts';
import { openHttp } from './http.ts';

/** What a bridge bears; everything beyond is refused or dropped with a reason. */
export type BridgeLimits = Readonly<{
  connectionsMax: number;
  /** Requests of one connection that are under way. */
  requestsMax: number;
  requestBytesMax: number;
  responseBytesMax: number;
  /** Calls to the node at once, for everybody together. */
  nodeCallsMax: number;
  /** A consumer that lets so much lie unread is dropped. */
  unsentBytesMax: number;
  requestTimeoutMs: number;
  /** A consumer that answers no ping for this long is gone. */
  silenceMsMax: number;
}>;

const usualLimits: BridgeLimits = {
  connectionsMax: 16,
  requestsMax: 64,
  requestBytesMax: 16 * 1024,
  responseBytesMax: 32 * 1024 * 1024,
  nodeCallsMax: 16,
  unsentBytesMax: 64 * 1024 * 1024,
  requestTimeoutMs: 15_000,
  silenceMsMax: 30_000,
};

export type BridgeOptions = Readonly<{
  host: string;
  /** 0 for any. */
  port: number;
  /** What a consumer must show, as `Authorization: Bearer …` or `?token=…`. */
  token: string;
  nodeUrl: URL;
  solidUrl: URL;
  pollMs: number;
  limits?: Partial<BridgeLimits>;
  clock: Clock;
  log: Log;
}>;

export type Bridge = Readonly<{ port: number; close(): Promise<void> }>;

type Consumer = { readonly socket: WebSocket; readonly name: string; requests: number; isHeard: boolean };

/** Close codes of https://www.rfc-editor.org/rfc/rfc6455#section-7.4.1 and IANA's registry. */
const GOING_AWAY = 1001;
const POLICY_VIOLATION = 1008;
const TRY_AGAIN_LATER = 1013;
/** A close frame holds so much of a reason. */
const REASON_BYTES_MAX = 123;
/** A dropped consumer may read the reason for so long. */
const FAREWELL_MS = 1_000;

/** Starts listening and polling. @throws the listen error when the port is taken */
export async function startBridge(options: BridgeOptions): Promise<Bridge> {
  const { nodeUrl, clock, log } = options;
  const limits = { ...usualLimits, ...options.limits };
  const stopping = new AbortController();
  const node = openHttp(
    { ...limits, url: nodeUrl, solidUrl: options.solidUrl, concurrencyMax: limits.nodeCallsMax },
    clock,
  );
  const queue = openRequestQueue({ ...limits, host: nodeUrl.host, concurrencyMax: limits.nodeCallsMax });
  const consumers = new Set<Consumer>();
  let head: BlockRef | null = null;

  function announce(next: BlockRef): void {
    if (!head) log.info({ node: nodeUrl.host, number: next.number }, 'the node answers');
    head = next;
    const text = writeHead(next);
    for (const { socket } of consumers) socket.send(text);
  }

  /** Until the node answers again, nobody is connected. */
  function lose(fault: Fault): void {
    if (head) log.warn({ code: fault.code, error: fault.message }, 'the node is out of reach');
    head = null;
    for (const consumer of [...consumers]) drop(consumer, TRY_AGAIN_LATER, `${nodeUrl.host} is out of reach`);
  }

  async function poll(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        const answers = await askNode(node, queue, [{ path: BLOCK_PATH, body: { detail: false } }], limits);
        const { ref } = readHeader(readAnswer(answers.bytes, { path: BLOCK_PATH, host: nodeUrl.host }), {
          path: BLOCK_PATH,
          host: nodeUrl.host,
        });
        if (ref.hash !== head?.hash) announce(ref);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        if (error.code === 'node_unreachable') lose(error);
        else log.warn({ code: error.code, error: error.message }, 'the node gave no head');
      }
      await clock.sleep(options.pollMs, stopping.signal);
    }
  }

  /** Ends a connection with a reason; one that does not read it is cut off. */
  function drop(consumer: Consumer, code: number, reason: string): void {
    if (!consumers.delete(consumer)) return;
    log.warn({ consumer: consumer.name, code, reason }, 'a consumer is disconnected');
    consumer.socket.close(code, reason.slice(0, REASON_BYTES_MAX));
    void clock.sleep(FAREWELL_MS, stopping.signal).then(() => consumer.socket.terminate());
  }

  function send(consumer: Consumer, message: string | Buffer): void {
    if (!consumers.has(consumer)) return;
    consumer.socket.send(message, { binary: false });
    const { bufferedAmount } = consumer.socket;
    if (bufferedAmount > limits.unsentBytesMax) {
      drop(consumer, POLICY_VIOLATION, `too slow: ${bufferedAmount} bytes lie unread`);
    }
  }

  async function serve(consumer: Consumer, { id, calls }: BridgeRequest): Promise<void> {
    if (consumer.requests >= limits.requestsMax) {
      const message = `${limits.requestsMax} requests of this connection are under way already`;
      send(consumer, writeFault(id, { code: 'node_busy', message }));
      return;
    }
    consumer.requests += 1;
    try {
      const { bytes, parts } = await askNode(node, queue, calls, limits);
      send(
        consumer,
        writeAnswers(
          id,
          parts.map(({ from, to }) => bytes.subarray(from, to)),
        ),
      );
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      if (error.code === 'node_unreachable') lose(error);
      else send(consumer, writeFault(id, error));
    } finally {
      consumer.requests -= 1;
    }
  }

  function welcome(socket: WebSocket, request: IncomingMessage, first: BlockRef): void {
    const name = `${request.socket.remoteAddress}:${request.socket.remotePort}`;
    const consumer: Consumer = { socket, name, requests: 0, isHeard: true };
    consumers.add(consumer);
    log.info({ consumer: name, consumers: consumers.size }, 'a consumer is connected');
    socket.on('message', (data: Buffer) => {
      const asked = readRequest(data.toString());
      if (typeof asked === 'string') drop(consumer, POLICY_VIOLATION, asked);
      else void serve(consumer, asked);
    });
    socket.on('pong', () => {
      consumer.isHeard = true;
    });
    // A consumer that breaks the protocol loses its connection; `close` follows.
    socket.on('error', () => socket.terminate());
    socket.on('close', (code) => {
      if (consumers.delete(consumer)) log.info({ consumer: name, code }, 'a consumer is gone');
    });
    socket.send(writeHead(first));
  }

  async function watch(): Promise<void> {
    while (!stopping.signal.aborted) {
      await clock.sleep(limits.silenceMsMax, stopping.signal);
      for (const consumer of consumers) {
        if (!consumer.isHeard) consumer.socket.terminate();
        consumer.isHeard = false;
        consumer.socket.ping();
      }
    }
  }

  const server = createServer((_request, response) => {
    response.writeHead(426, { connection: 'close', upgrade: 'websocket' }).end('this is a WebSocket\n');
  });
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: limits.requestBytesMax,
    perMessageDeflate: false,
  });
  server.on('upgrade', (request, socket, first) => {
    const from = request.socket.remoteAddress;
    if (!isAuthorized(request, options.token)) {
      log.warn({ from }, 'a consumer without the right token is refused');
      return refuse(socket, '401 Unauthorized');
    }
    if (consumers.size >= limits.connectionsMax) {
      log.warn({ from, consumers: consumers.size }, 'one consumer too many is refused');
      return refuse(socket, '503 Service Unavailable');
    }
    const known = head;
    if (!known) return refuse(socket, '503 Service Unavailable');
    sockets.handleUpgrade(request, socket, first, (made) => welcome(made, request, known));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  const work = Promise.all([poll(), watch()]);

  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const { socket } of consumers) socket.close(GOING_AWAY, 'the bridge stops');
      stopping.abort();
      await node.close();
      await work;
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      await closed;
    },
  };
}

function askNode(
  node: ReturnType<typeof openHttp>,
  queue: RequestQueue,
  calls: BridgeRequest['calls'],
  { requestTimeoutMs }: Pick<BridgeLimits, 'requestTimeoutMs'>,
): Promise<Answers> {
  const signal = AbortSignal.timeout(requestTimeoutMs);
  return queue.add(signal, () => node.ask(calls, signal));
}

/** Compares digests, in a time that does not tell how much was right. */
function isAuthorized(request: IncomingMessage, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  const [, bearer = ''] = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '') ?? [];
  const query = new URL(request.url ?? '/', 'ws://bridge').searchParams.get('token') ?? '';
  return [bearer, query].some((given) => timingSafeEqual(digest(given), digest(token)));
}

function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
