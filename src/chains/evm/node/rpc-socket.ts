/**
 * JSON-RPC over a WebSocket, with `newHeads` as the wake-up.
 */

import { excerpt } from '../../../core/excerpt.ts';
import { transient } from '../../../core/fault.ts';
import type { Clock } from '../../../lib/clock.ts';
import { parseJson, peekId, readAnswer } from '../../json-rpc.ts';
import type { RpcTransport, RpcTransportOptions } from '../../transport/rpc-transport.ts';
import { openWebSocketTransport } from '../../transport/websocket.ts';

/** This transport's own id; callers count from 1. */
const SUBSCRIBE_ID = 0;

/** The first bytes of a message, enough to recognise a notification. */
const NOTIFICATION_BYTES = 96;
const NOTIFICATION_FIRST = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"method"\s*:\s*"eth_subscription"/;

/** Returns whether a message belongs to a subscription, judging by its first bytes. */
export function isNotification(bytes: Uint8Array): boolean {
  return NOTIFICATION_FIRST.test(
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1', 0, NOTIFICATION_BYTES),
  );
}

/** Opens the connection in the background and keeps it up until `close`. */
export function openRpcSocket(options: RpcTransportOptions, clock: Clock): RpcTransport {
  const { host } = options;

  /**
   * Parses the whole message for its id, which `peekId` did not find; null for a notification, undefined for an error
   * without id.
   */
  function slowId(bytes: Buffer): number | null | undefined {
    if (isNotification(bytes)) return null;
    const origin = { method: 'the WebSocket', host };
    const value = parseJson(bytes, origin);
    const first = Array.isArray(value) ? value[0] : value;
    if (first?.method === 'eth_subscription') return null;
    const answer = readAnswer(first, origin);
    if (Number.isInteger(answer.id)) return answer.id;
    if (!answer.ok) return undefined;
    throw transient(
      'node_nonsense',
      `${host} sent a message that does not answer any request: ${excerpt(bytes.toString())}`,
    );
  }

  return openWebSocketTransport(
    options,
    {
      read: (bytes) => peekId(bytes) ?? slowId(bytes),
      subscribe: {
        id: SUBSCRIBE_ID,
        text: `{"jsonrpc":"2.0","id":${SUBSCRIBE_ID},"method":"eth_subscribe","params":["newHeads"]}`,
        isGranted: (bytes) => {
          const origin = { method: 'eth_subscribe', host };
          return readAnswer(parseJson(bytes, origin), origin).ok;
        },
      },
    },
    clock,
  );
}
