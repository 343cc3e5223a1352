/**
 * JSON-RPC over one WebSocket that is kept up for good: it reconnects with back-off, subscribes to new heads again after each
 * connect, and is dropped when the node gives no sign of life. A new head is a doorbell; its content is not read.
 * @module
 */
import type { Socket } from 'node:net';
import WebSocket from 'ws';
import type { Clock } from '../../clock.ts';
import { Fault, transient } from '../../core/fault.ts';
import { excerpt, isNotification, parseJson, peekId, readAnswer } from './json-rpc.ts';
import type { RpcMessage, RpcTransport, RpcTransportOptions } from './rpc-transport.ts';

const RETRY_DELAY_MS_MIN = 250;
const RETRY_DELAY_MS_MAX = 10_000;
/** Signs of life are looked for so often within the longest silence allowed. */
const LOOKS_PER_IDLE_MAX = 3;
/** The transport's own id; callers count from 1. */
const SUBSCRIBE_ID = 0;
const SUBSCRIBE = `{"jsonrpc":"2.0","id":${SUBSCRIBE_ID},"method":"eth_subscribe","params":["newHeads"]}`;

type Pending = Readonly<{ resolve(bytes: Uint8Array): void; reject(fault: Fault): void }>;

/** One connection, from its first packet to its end. `fault` is what those who wait are told when it ends. */
type Link = {
  readonly socket: WebSocket;
  tcp: Socket | null;
  isOpen: boolean;
  isSubscribed: boolean;
  fault: Fault | null;
};

/** Opens the connection in the background and keeps it up until `close`. */
export function openRpcSocket(options: RpcTransportOptions, clock: Clock): RpcTransport {
  const { host } = options;
  const closing = new AbortController();
  const pending = new Map<number, Pending>();
  const bells: (() => void)[] = [];
  let link: Link | null = connect();
  let lastFault = unreachable('not connected yet');
  let heardAtMs = 0;
  let connections = 0;
  let failures = 0;

  function unreachable(why: string, cause?: unknown): Fault {
    return transient(
      'node_unreachable',
      `${host}: ${why}. Is the node up, and its WebSocket open to this machine?`,
      cause,
    );
  }
  function ring(): void {
    for (const bell of bells) bell();
  }
  function heard(): void {
    heardAtMs = clock.nowMs();
  }

  function connect(): Link {
    const socket = new WebSocket(options.url, {
      maxPayload: options.responseBytesMax,
      handshakeTimeout: options.requestTimeoutMs,
      // Answers are hex: compressing them costs more than it saves, and inflating is a way to be flooded.
      perMessageDeflate: false,
      skipUTF8Validation: true,
    });
    const made: Link = { socket, tcp: null, isOpen: false, isSubscribed: false, fault: null };
    socket.on('upgrade', (response) => {
      made.tcp = response.socket;
    });
    socket.on('open', () => {
      made.isOpen = true;
      connections += 1;
      heard();
      subscribe(made);
    });
    socket.on('message', (data: Buffer) => {
      heard();
      failures = 0;
      receive(made, data);
    });
    socket.on('ping', heard);
    socket.on('pong', heard);
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
    if (error.code !== 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH')
      return unreachable(excerpt(error.message || String(error.code)), error);
    return transient(
      'node_response_too_large',
      `${host} sent a message of more than ${options.responseBytesMax} bytes: raise the limit, or find out what the node sends`,
      error,
    );
  }

  /** Fails everything under way and plans the next connection. */
  function ended(fault: Fault): void {
    link = null;
    lastFault = fault;
    for (const waiting of [...pending.values()]) waiting.reject(fault);
    pending.clear();
    void reconnect();
  }

  async function reconnect(): Promise<void> {
    const delayMs = Math.min(RETRY_DELAY_MS_MIN * 2 ** failures, RETRY_DELAY_MS_MAX);
    failures += 1;
    await clock.sleep(delayMs, closing.signal);
    if (!closing.signal.aborted) link = connect();
  }

  /** Ends a connection at once; its `close` event does the rest. */
  function drop(made: Link, fault: Fault): void {
    made.fault ??= fault;
    made.socket.terminate();
  }

  /** Pings, and drops a connection that is silent for too long: a half-open TCP connection reports no error by itself. */
  async function watch(made: Link): Promise<void> {
    let bytesSeen = 0;
    for (;;) {
      await clock.sleep(options.idleMsMax / LOOKS_PER_IDLE_MAX, closing.signal);
      if (closing.signal.aborted || link !== made) return;
      if (!made.isOpen) continue;
      // A long answer that is still on its way is a sign of life before it is a message.
      const bytes = made.tcp?.bytesRead ?? 0;
      if (bytes !== bytesSeen) heard();
      bytesSeen = bytes;
      if (clock.nowMs() - heardAtMs > options.idleMsMax) {
        drop(made, unreachable(`no sign of life for ${options.idleMsMax} ms`));
        return;
      }
      made.socket.ping();
      if (!made.isSubscribed) subscribe(made);
    }
  }

  /** Asks for new heads. A node that refuses is asked again by `watch`: it may have been starting. */
  function subscribe(made: Link): void {
    if (pending.has(SUBSCRIBE_ID)) return;
    pending.set(SUBSCRIBE_ID, {
      resolve: (bytes) => {
        const origin = { method: 'eth_subscribe', host };
        made.isSubscribed = readAnswer(parseJson(bytes, origin), origin).ok;
        // Heads from here on are announced; whatever came before must be looked for.
        ring();
      },
      reject: () => {},
    });
    made.socket.send(SUBSCRIBE);
  }

  function receive(made: Link, bytes: Buffer): void {
    try {
      const id = peekId(bytes) ?? slowId(bytes);
      if (id === null) {
        ring();
        return;
      }
      const waiting = pending.get(id);
      pending.delete(id);
      // Nobody waits any more for an answer that came after its timeout.
      waiting?.resolve(bytes);
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      drop(made, fault);
    }
  }

  /** The id of an answer that shows it at neither end; null for a notification. */
  function slowId(bytes: Buffer): number | null {
    if (isNotification(bytes)) return null;
    const origin = { method: 'the WebSocket', host };
    const value = parseJson(bytes, origin);
    const first = Array.isArray(value) ? value[0] : value;
    if (first?.method === 'eth_subscription') return null;
    const answer = readAnswer(first, origin);
    if (Number.isInteger(answer.id)) return answer.id;
    throw transient('node_nonsense', `${host} sent a message that answers no request: ${excerpt(bytes.toString())}`);
  }

  function exchange(message: RpcMessage, signal: AbortSignal): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const through = link;
      if (!through) {
        reject(lastFault);
        return;
      }
      const settle = () => {
        signal.removeEventListener('abort', onAbort);
        for (const id of message.ids) pending.delete(id);
      };
      const waiting: Pending = {
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
          transient('node_timeout', `${host} gave no answer within ${options.requestTimeoutMs} ms: is it overloaded?`),
        );
      };
      const send = () => {
        if (!signal.aborted) through.socket.send(message.text);
      };
      for (const id of message.ids) pending.set(id, waiting);
      signal.addEventListener('abort', onAbort);
      if (signal.aborted) onAbort();
      else if (through.isOpen) send();
      else through.socket.once('open', send);
    });
  }

  return {
    exchange,
    onBell: (bell) => {
      bells.push(bell);
    },
    health: () => ({ connected: link?.isSubscribed ?? false, heardAtMs, connections }),
    async close() {
      closing.abort();
      const last = link;
      if (!last) return;
      const ending = new Promise((resolve) => last.socket.once('close', resolve));
      drop(last, transient('node_unreachable', `${host}: this connection was closed from here`));
      await ending;
    },
  };
}
