/**
 * The client of the bridge next to java-tron (`quayside tron-ws`). Calls to the node and announcements of new heads
 * share one WebSocket. The token is in the URL: `ws://node:8190/?token=…`.
 */

import { excerpt } from '../../../core/excerpt.ts';
import { transient } from '../../../core/fault.ts';
import type { Clock } from '../../../lib/clock.ts';
import { openWebSocketTransport, type WebSocketOptions } from '../../transport/websocket.ts';
import { peekId, readAnswers, readFault, writeRequest } from '../bridge-message.ts';
import { type Answers, about, type Call, type TronTransport } from '../calls.ts';

/** Opens the connection in the background and keeps it up until `close`. */
export function openBridgeTransport(options: WebSocketOptions, clock: Clock): TronTransport {
  const { host } = options;
  let lastId = 0;

  function nonsense(bytes: Uint8Array): Error {
    const text = excerpt(Buffer.from(bytes.subarray(0, 1_024)).toString());
    return transient('node_nonsense', `${host} sent a message that is not the bridge's: ${text}`);
  }

  const transport = openWebSocketTransport(
    options,
    {
      read(bytes) {
        const id = peekId(bytes);
        if (id === undefined) throw nonsense(bytes);
        return id;
      },
      subscribe: null,
    },
    clock,
  );

  async function ask(calls: readonly Call[], signal: AbortSignal): Promise<Answers> {
    lastId += 1;
    const id = lastId;
    const path = calls[0]?.path ?? '';
    const message = await about(path, transport.exchange({ text: writeRequest({ id, calls }), ids: [id] }, signal));
    const fault = readFault(message);
    // The bridge's message names path and node.
    if (fault) throw transient(fault.code, `${fault.message} (reported by the bridge at ${host})`);
    const parts = readAnswers(message);
    if (!parts || parts.length !== calls.length) throw nonsense(message);
    // A small message may be a view into a larger buffer, which must neither be copied nor transferred to a worker.
    const isWhole = message.byteLength === message.buffer.byteLength;
    return { bytes: isWhole ? message : new Uint8Array(message), parts };
  }

  return { ask, onChange: transport.onChange, health: transport.health, close: transport.close };
}
