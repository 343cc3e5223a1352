/**
 * The bridge runs next to java-tron, which has no WebSocket, and provides one for followers elsewhere. It polls the
 * node over loopback, announces each new head, and forwards the few calls of followers and payouts
 * (`bridge-message.ts`).
 *
 * Its only state is the last head. While the node does not answer, the bridge disconnects all consumers. A follower
 * therefore checks the node's identity again after a restart of either.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { BlockRef } from '../../../core/block.ts';
import { Fault } from '../../../core/fault.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Log } from '../../../lib/log.ts';
import { createServer } from '../../../lib/node-http.ts';
import { openRequestQueue, type RequestQueue } from '../../transport/request-queue.ts';
import { readAnswer } from '../answer.ts';
import { type BridgeRequest, readRequest, writeAnswers, writeFault, writeHead } from '../bridge-message.ts';
import type { Answers } from '../calls.ts';
import { BLOCK_PATH, readHeader } from '../wire.ts';
import { openHttp } from './http.ts';

/** Limits of a bridge. Beyond them, a request is refused or a consumer disconnected, with a reason. */
export type BridgeLimits = Readonly<{
  connectionsMax: number;
  /** Concurrent requests of one connection. */
  requestsMax: number;
  requestBytesMax: number;
  responseBytesMax: number;
  /** Concurrent calls to the node, over all connections. */
  nodeCallsMax: number;
  /** A consumer with this many unread bytes is disconnected. */
  unsentBytesMax: number;
  requestTimeoutMs: number;
  /** A consumer that answers no ping for this long is disconnected. */
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

type BridgeOptions = Readonly<{
  host: string;
  /** 0 for any free port. */
  port: number;
  /** The token that consumers must send, as `Authorization: Bearer …` or `?token=…`. */
  token: string;
  nodeUrl: URL;
  solidUrl: URL;
  pollMs: number;
  limits?: Partial<BridgeLimits>;
  clock: Clock;
  log: Log;
}>;

type Bridge = Readonly<{ port: number; close(): Promise<void> }>;

type Consumer = { readonly socket: WebSocket; readonly name: string; requests: number; isAlive: boolean };

/** Close codes of https://www.rfc-editor.org/rfc/rfc6455#section-7.4.1 and IANA's registry. */
const GOING_AWAY = 1001;
const POLICY_VIOLATION = 1008;
const TRY_AGAIN_LATER = 1013;
/** The longest reason in a close frame. */
const REASON_BYTES_MAX = 123;
/** Time for a disconnected consumer to read the reason. */
const FAREWELL_MS = 1_000;

/**
 * Starts listening and polling.
 * @throws the listen error when the port is taken
 */
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

  /** Disconnects all consumers until the node answers again. */
  function lose(fault: Fault): void {
    if (head) log.warn({ code: fault.code, error: fault.message }, 'the node is unreachable');
    head = null;
    for (const consumer of [...consumers]) drop(consumer, TRY_AGAIN_LATER, `${nodeUrl.host} is unreachable`);
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
        else log.warn({ code: error.code, error: error.message }, 'the node did not return a head');
      }
      await clock.sleep(options.pollMs, stopping.signal);
    }
  }

  /** Closes a connection with a reason, and terminates it if the consumer does not read the reason. */
  function drop(consumer: Consumer, code: number, reason: string): void {
    if (!consumers.delete(consumer)) return;
    log.warn({ consumer: consumer.name, code, reason }, 'disconnecting a consumer');
    consumer.socket.close(code, reason.slice(0, REASON_BYTES_MAX));
    void clock.sleep(FAREWELL_MS, stopping.signal).then(() => consumer.socket.terminate());
  }

  function send(consumer: Consumer, message: string | Buffer): void {
    if (!consumers.has(consumer)) return;
    consumer.socket.send(message, { binary: false });
    const { bufferedAmount } = consumer.socket;
    if (bufferedAmount > limits.unsentBytesMax) {
      drop(consumer, POLICY_VIOLATION, `too slow: ${bufferedAmount} bytes are unread`);
    }
  }

  async function serve(consumer: Consumer, { id, calls }: BridgeRequest): Promise<void> {
    if (consumer.requests >= limits.requestsMax) {
      const message = `${limits.requestsMax} requests of this connection are being processed already`;
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
    const consumer: Consumer = { socket, name, requests: 0, isAlive: true };
    consumers.add(consumer);
    log.info({ consumer: name, consumers: consumers.size }, 'consumer connected');
    socket.on('message', (data: Buffer) => {
      const asked = readRequest(data.toString());
      if (typeof asked === 'string') drop(consumer, POLICY_VIOLATION, asked);
      else void serve(consumer, asked);
    });
    socket.on('pong', () => {
      consumer.isAlive = true;
    });
    // A consumer that breaks the protocol loses its connection. The event `close` follows.
    socket.on('error', () => socket.terminate());
    socket.on('close', (code) => {
      if (consumers.delete(consumer)) log.info({ consumer: name, code }, 'consumer disconnected');
    });
    socket.send(writeHead(first));
  }

  async function watch(): Promise<void> {
    while (!stopping.signal.aborted) {
      await clock.sleep(limits.silenceMsMax, stopping.signal);
      for (const consumer of consumers) {
        if (!consumer.isAlive) consumer.socket.terminate();
        consumer.isAlive = false;
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
      log.warn({ from }, 'refused a consumer without a valid token');
      return refuse(socket, '401 Unauthorized');
    }
    if (consumers.size >= limits.connectionsMax) {
      log.warn({ from, consumers: consumers.size }, 'refused a consumer: the limit is reached');
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

/** Compares digests, in constant time. */
function isAuthorized(request: IncomingMessage, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  const [, bearer = ''] = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '') ?? [];
  const query = new URL(request.url ?? '/', 'ws://bridge').searchParams.get('token') ?? '';
  return [bearer, query].some((given) => timingSafeEqual(digest(given), digest(token)));
}

function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
