/**
 * One WebSocket that is kept open. It reconnects with back-off, subscribes again after each connect, and is dropped
 * when the other side shows no sign of life. An announcement is a wake-up, and its content is not read.
 *
 * The dialect defines the messages.
 */
import type { Socket } from 'node:net';
import WebSocket from 'ws';
import { excerpt } from '../../core/excerpt.ts';
import { Fault, transient } from '../../core/fault.ts';
import type { Clock } from '../../lib/clock.ts';
import type { RpcMessage, RpcTransport, RpcTransportOptions } from './rpc-transport.ts';

const RETRY_DELAY_MS_MIN = 250;
const RETRY_DELAY_MS_MAX = 10_000;
/** Checks of the connection within the longest silence allowed. */
const LOOKS_PER_IDLE_MAX = 3;

type SocketDialect = Readonly<{
  /**
   * Returns the id of the request that a message answers; null for an announcement, undefined for an error that names
   * no request. Nodes refuse a batch with such an error.
   * @throws Fault transient for any other message; the connection is then dropped
   */
  read(bytes: Buffer): number | null | undefined;
  /**
   * The subscription to announcements. Null if they come without one; the first then comes right after the connection.
   */
  subscribe: Readonly<{
    id: number;
    text: string;
    /**
     * Returns whether the answer grants the subscription.
     * @throws Fault transient
     */
    isGranted(answer: Uint8Array): boolean;
  }> | null;
}>;

export type WebSocketOptions = Omit<RpcTransportOptions, 'concurrencyMax' | 'advice'>;

type Pending = Readonly<{ isBatch: boolean; resolve(bytes: Uint8Array): void; reject(fault: Fault): void }>;

/** One connection, from its first packet to its end. `fault` is the reason given to waiting requests when it ends. */
type Link = {
  readonly socket: WebSocket;
  tcp: Socket | null;
  isOpen: boolean;
  /** Announcements are arriving. */
  isSubscribed: boolean;
  fault: Fault | null;
};

/** State that outlives a connection. `heardAtMs`: last sign of life. `failures`: attempts since the last message. */
type State = {
  link: Link | null;
  lastFault: Fault;
  heardAtMs: number;
  connections: number;
  failures: number;
};

/** Opens the connection in the background and keeps it open until `close`. */
export function openWebSocketTransport(options: WebSocketOptions, dialect: SocketDialect, clock: Clock): RpcTransport {
  const { host } = options;
  const closing = new AbortController();
  const pending = new Map<number, Pending>();
  const listeners: (() => void)[] = [];
  const state: State = {
    link: null,
    lastFault: unreachable('not connected yet'),
    heardAtMs: 0,
    connections: 0,
    failures: 0,
  };
  state.link = connect();

  function unreachable(why: string, cause?: unknown): Fault {
    return transient(
      'node_unreachable',
      `${host}: ${why}. Is the node up, and its WebSocket open to this machine?`,
      cause,
    );
  }
  function notify(): void {
    for (const listener of listeners) listener();
  }
  function markAlive(): void {
    state.heardAtMs = clock.nowMs();
  }

  function connect(): Link {
    const socket = new WebSocket(options.url, {
      maxPayload: options.responseBytesMax,
      handshakeTimeout: options.requestTimeoutMs,
      // Answers are hex. Compressing them costs more than it saves, and a small compressed message may inflate to a
      // huge one.
      perMessageDeflate: false,
      skipUTF8Validation: true,
    });
    const made: Link = { socket, tcp: null, isOpen: false, isSubscribed: false, fault: null };
    socket.on('upgrade', (response) => {
      made.tcp = response.socket;
    });
    socket.on('open', () => {
      made.isOpen = true;
      state.connections += 1;
      markAlive();
      subscribe(made);
    });
    socket.on('message', (data: Buffer) => {
      markAlive();
      state.failures = 0;
      receive(made, data);
    });
    socket.on('ping', markAlive);
    socket.on('pong', markAlive);
    socket.on('error', (error) => {
      made.fault ??= connectionFault(error);
    });
    socket.on('close', (code, reason) => {
      ended(made.fault ?? unreachable(`the connection was closed (${code} ${excerpt(reason.toString())})`));
    });
    void watch(made);
    return made;
  }

  function connectionFault(error: Error & { code?: string }): Fault {
    if (error.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH')
      return transient(
        'node_response_too_large',
        `${host} sent a message of more than ${options.responseBytesMax} bytes, more than any block needs: check that the network's url is a node's`,
        error,
      );
    const why = excerpt(error.message || String(error.code));
    // The text of `ws` for a handshake that was answered with another status.
    if (/^Unexpected server response: 40[13]$/.test(error.message))
      return transient(
        'node_refused',
        `${host}: ${why}. Check the credentials in the node's URL, and that its port is not the engine port (8551)`,
        error,
      );
    return unreachable(why, error);
  }

  /** Fails all requests in flight and plans the next connection. */
  function ended(fault: Fault): void {
    state.link = null;
    state.lastFault = fault;
    for (const waiting of [...pending.values()]) waiting.reject(fault);
    pending.clear();
    void reconnect();
  }

  async function reconnect(): Promise<void> {
    const delayMs = Math.min(RETRY_DELAY_MS_MIN * 2 ** state.failures, RETRY_DELAY_MS_MAX);
    state.failures += 1;
    await clock.sleep(delayMs, closing.signal);
    if (!closing.signal.aborted) state.link = connect();
  }

  /** Ends a connection at once; its `close` event does the rest. */
  function drop(made: Link, fault: Fault): void {
    made.fault ??= fault;
    made.socket.terminate();
  }

  /**
   * Pings, and drops a connection that is silent for too long. A half-open TCP connection reports no error by itself.
   */
  async function watch(made: Link): Promise<void> {
    let bytesSeen = 0;
    for (;;) {
      await clock.sleep(options.idleMsMax / LOOKS_PER_IDLE_MAX, closing.signal);
      if (closing.signal.aborted || state.link !== made) return;
      if (!made.isOpen) continue;
      // A long answer is a sign of life while it is arriving.
      const bytes = made.tcp?.bytesRead ?? 0;
      if (bytes !== bytesSeen) markAlive();
      bytesSeen = bytes;
      if (clock.nowMs() - state.heardAtMs > options.idleMsMax) {
        drop(made, unreachable(`no sign of life for ${options.idleMsMax} ms`));
        return;
      }
      made.socket.ping();
      if (!made.isSubscribed) subscribe(made);
    }
  }

  /** Subscribes. If the node refuses, perhaps because it is starting, `watch` tries again. */
  function subscribe(made: Link): void {
    const { subscribe: request } = dialect;
    if (!request || pending.has(request.id)) return;
    pending.set(request.id, {
      isBatch: false,
      resolve: (answer) => {
        pending.delete(request.id);
        made.isSubscribed = request.isGranted(answer);
        // New heads are announced from now on. Earlier ones must be polled.
        notify();
      },
      reject: () => {},
    });
    made.socket.send(request.text);
  }

  function receive(made: Link, bytes: Buffer): void {
    try {
      const id = dialect.read(bytes);
      if (id === null) {
        made.isSubscribed = true;
        notify();
        return;
      }
      if (id === undefined) refuseBatches(bytes);
      // After its time-out, an answer has no waiting request.
      else pending.get(id)?.resolve(bytes);
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      drop(made, fault);
    }
  }

  /**
   * Takes an error as the answer to every waiting batch.
   * @throws Fault transient if no batch waits
   */
  function refuseBatches(bytes: Buffer): void {
    const batches = [...new Set(pending.values())].filter(({ isBatch }) => isBatch);
    if (batches.length === 0) {
      throw transient('node_nonsense', `${host} sent an error that names no request: ${excerpt(bytes.toString())}`);
    }
    for (const waiting of batches) waiting.resolve(bytes);
  }

  function exchange(request: RpcMessage, signal: AbortSignal): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const through = state.link;
      if (!through) {
        reject(state.lastFault);
        return;
      }
      const settle = () => {
        signal.removeEventListener('abort', onAbort);
        for (const id of request.ids) pending.delete(id);
      };
      const waiting: Pending = {
        isBatch: request.ids.length > 1,
        resolve: (bytes) => {
          settle();
          resolve(bytes);
        },
        reject: (fault) => {
          settle();
          reject(fault);
        },
      };
      const onAbort = () => {
        waiting.reject(
          transient('node_timeout', `${host} did not answer within ${options.requestTimeoutMs} ms: is it overloaded?`),
        );
      };
      const send = () => {
        if (!signal.aborted) through.socket.send(request.text);
      };
      for (const id of request.ids) pending.set(id, waiting);
      signal.addEventListener('abort', onAbort);
      if (signal.aborted) onAbort();
      else if (through.isOpen) send();
      else through.socket.once('open', send);
    });
  }

  return {
    exchange,
    onChange: (listener) => {
      listeners.push(listener);
    },
    health: () => {
      const { link, heardAtMs, connections } = state;
      return { connected: link?.isSubscribed ?? false, heardAtMs, connections };
    },
    async close() {
      closing.abort();
      const last = state.link;
      if (!last) return;
      const ending = new Promise((resolve) => last.socket.once('close', resolve));
      drop(last, transient('node_unreachable', `${host}: this connection was closed from here`));
      await ending;
    },
  };
}
