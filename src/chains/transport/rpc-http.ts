/**
 * JSON-RPC by HTTP POST, for nodes without a WebSocket.
 */
import type { Clock } from '../../lib/clock.ts';
import { openHttpTransport } from './http.ts';
import type { RpcTransport, RpcTransportOptions } from './rpc-transport.ts';

/** Connects at the first request. */
export function openRpcHttp(options: RpcTransportOptions, clock: Clock): RpcTransport {
  const { url } = options;
  const transport = openHttpTransport(options, clock);
  const path = `${url.pathname}${url.search}`;
  return {
    exchange: (message, signal) => transport.post(path, message.text, signal),
    onChange: () => {},
    health: transport.health,
    close: transport.close,
  };
}
