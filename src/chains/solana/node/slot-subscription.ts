/**
 * Wake-ups from Solana's PubSub WebSocket. `slotSubscribe` announces each slot that the node has seen, slightly before
 * its block can be read. Blocks are read by HTTP.
 */

import { excerpt } from '../../../core/excerpt.ts';
import { transient } from '../../../core/fault.ts';
import type { Clock } from '../../../lib/clock.ts';
import { parseJson, readAnswer } from '../../json-rpc.ts';
import type { RpcTransport } from '../../transport/rpc-transport.ts';
import { openWebSocketTransport, type WebSocketOptions } from '../../transport/websocket.ts';

const SUBSCRIBE_ID = 0;

/** Opens the connection in the background and keeps it up until `close`. */
export function openSlotSubscription(options: WebSocketOptions, clock: Clock): Omit<RpcTransport, 'exchange'> {
  const { host } = options;
  const origin = { method: 'slotSubscribe', host };
  return openWebSocketTransport(
    options,
    {
      read(bytes) {
        const value = parseJson(bytes, origin) as { method?: unknown };
        if (value?.method === 'slotNotification') return null;
        const { id } = readAnswer(value, origin);
        if (Number.isInteger(id)) return id;
        throw transient('node_nonsense', `${host} sent a message that was not requested: ${excerpt(bytes.toString())}`);
      },
      subscribe: {
        id: SUBSCRIBE_ID,
        text: `{"jsonrpc":"2.0","id":${SUBSCRIBE_ID},"method":"slotSubscribe"}`,
        isGranted: (bytes) => readAnswer(parseJson(bytes, origin), origin).ok,
      },
    },
    clock,
  );
}
