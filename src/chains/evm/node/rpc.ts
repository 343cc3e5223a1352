/**
 * Calls to one EVM node, over the transport that its URL selects.
 */

import { type Fault, permanent, transient } from '../../../core/fault.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { NodeOptions } from '../../chain.ts';
import { errorFault as faultOf, nonsense, type Origin, type RpcAnswer, type RpcError } from '../../json-rpc.ts';
import { createRpcClient, type RpcClient } from '../../transport/rpc-client.ts';
import { openRpcHttp } from '../../transport/rpc-http.ts';
import type { RpcTransport, RpcTransportOptions } from '../../transport/rpc-transport.ts';
import { evmErrors } from '../rpc-errors.ts';
import { type Header, readHeader, readQuantity, readUnits } from '../wire.ts';
import { openRpcSocket } from './rpc-socket.ts';

/** `host` names the node in messages. */
export type EvmRpc = Readonly<{ rpc: RpcClient; transport: RpcTransport; host: string }>;

type EvmRpcOptions = Omit<RpcTransportOptions, 'url' | 'host'> &
  Readonly<{ url: string }> &
  Pick<NodeOptions, 'observe'>;

/**
 * Starts connecting; the first call waits for the connection.
 * @throws Fault permanent `node_url_invalid`
 */
export function openEvmRpc(options: EvmRpcOptions, clock: Clock): EvmRpc {
  const url = URL.canParse(options.url) ? new URL(options.url) : null;
  const scheme = url?.protocol ?? '';
  if (!url || !['ws:', 'wss:', 'http:', 'https:'].includes(scheme)) {
    throw permanent('node_url_invalid', 'the node URL must start with ws://, wss://, http:// or https://');
  }
  // Path and user part often hold an access key. Host and port are enough to find the node.
  const { host } = url;
  const transportOptions = { ...options, url, host };
  const transport = scheme.startsWith('ws')
    ? openRpcSocket(transportOptions, clock)
    : openRpcHttp(transportOptions, clock);
  return { rpc: createRpcClient(transport, { ...options, host, meanings: evmErrors }), transport, host };
}

export const errorFault = (error: RpcError, origin: Origin): Fault => faultOf(error, origin, evmErrors);

/** Writes a number as a JSON-RPC argument. */
export const quantity = (number: number | bigint): string => `0x${number.toString(16)}`;

/**
 * Reads the answer to `eth_getBlockByNumber` with the tag `finalized`; null if the node has no such block.
 * @throws Fault transient
 */
export function readFinalized(answer: RpcAnswer, origin: Origin): Header | null {
  if (answer.ok) return answer.result === null ? null : readHeader(answer.result, origin);
  if (hasNoFinality(answer.error)) return null;
  throw errorFault(answer.error, origin);
}

/**
 * Returns whether an error means that the node has no `finalized` block, because it does not know the tag or nothing is
 * final yet.
 */
const hasNoFinality = ({ code, message }: RpcError): boolean =>
  code === -32602 || code === -39001 || /finalized|not found|unknown block|invalid (argument|block)/i.test(message);

/** @throws Fault transient */
export function resultOf(answer: RpcAnswer, origin: Origin): unknown {
  if (!answer.ok) throw errorFault(answer.error, origin);
  return answer.result;
}

/**
 * Reads a count from an answer.
 * @throws Fault transient
 */
export function readCount(answer: RpcAnswer, origin: Origin): number {
  const count = readQuantity(resultOf(answer, origin));
  if (count === null) throw nonsense(origin, 'answered without a number');
  return count;
}

/**
 * Reads an amount of money or gas from an answer.
 * @throws Fault transient
 */
export function readAmount(answer: RpcAnswer, origin: Origin): bigint {
  const amount = readUnits(resultOf(answer, origin));
  if (amount === null) throw nonsense(origin, 'answered without a number');
  return amount;
}

/**
 * Checks the answer to `eth_chainId`.
 * @throws Fault transient, also if the node is on another chain
 */
export function expectChain(answer: RpcAnswer, chainId: string, host: string): void {
  const origin = { method: 'eth_chainId', host };
  const found = readUnits(resultOf(answer, origin));
  if (found?.toString() === chainId) return;
  throw transient(
    'node_wrong_chain',
    `${host} is on chain ${found}, not ${chainId}, and is not used for payouts: correct the network's url, rpc_url or witness_url`,
  );
}

/**
 * Returns the number of the newest final block, from a node on the right chain.
 * @param finalDepth blocks at this depth count as final if the node does not report finality
 * @throws Fault transient
 */
export async function finalBlock(
  { rpc, host }: EvmRpc,
  { chainId, finalDepth }: Readonly<{ chainId: string; finalDepth: number }>,
): Promise<number> {
  const block = (tag: string) => ({ method: 'eth_getBlockByNumber', params: [tag, false] });
  const [chain, final, head] = await rpc.batch([
    { method: 'eth_chainId', params: [] },
    block('finalized'),
    block('latest'),
  ]);
  expectChain(chain, chainId, host);
  const origin = { method: 'eth_getBlockByNumber', host };
  const header = readFinalized(final, origin);
  if (header) return header.ref.number;
  return Math.max(0, readHeader(resultOf(head, origin), origin).ref.number - finalDepth);
}
