/** A node about itself: its client and version, its peers, how far it is, and whether it takes transactions. */

import type { Family, NodeOptions } from '../../src/chains/chain.ts';
import { openEvmRpc } from '../../src/chains/evm/node/rpc.ts';
import { readQuantity } from '../../src/chains/evm/wire.ts';
import { readUrls } from '../../src/chains/solana/node/urls.ts';
import { solanaErrors } from '../../src/chains/solana/rpc-errors.ts';
import { createRpcClient, type RpcClient } from '../../src/chains/transport/rpc-client.ts';
import { openRpcHttp } from '../../src/chains/transport/rpc-http.ts';
import { openTronRpc } from '../../src/chains/tron/node/rpc.ts';
import { Fault } from '../../src/core/fault.ts';
import { isFields } from '../../src/core/fields.ts';
import type { Clock } from '../../src/lib/clock.ts';

export type Software = Readonly<{
  /** In lower case, such as `geth`; null if the node does not say. */
  client: string | null;
  /** Such as `1.17.10`; null if the node does not say. */
  version: string | null;
  /** As the node itself writes both. */
  text: string;
  /** Null if the node does not say. */
  peers: number | null;
  /** Its own answer to how far it is, as plain data; null if it says that it is not syncing, or nothing. */
  syncing: Readonly<Record<string, unknown>> | null;
}>;

const unknown: Software = {
  client: null,
  version: null,
  text: 'a client that does not name itself',
  peers: null,
  syncing: null,
};

/** Returns client and version of a text such as `Geth/v1.16.9-stable/linux-amd64/go1.25`. */
export function readVersion(text: string): Pick<Software, 'client' | 'version' | 'text'> {
  const [client = ''] = /^[a-z-]+/i.exec(text) ?? [];
  const [version] = /\d+(\.\d+)+/.exec(text) ?? [];
  return { client: client.toLowerCase() || null, version: version ?? null, text };
}

/** @throws Fault transient if the node does not answer */
export function readSoftware(family: Family, options: NodeOptions, clock: Clock): Promise<Software> {
  return { evm: readEvm, tron: readTron, solana: readSolana }[family](options, clock);
}

async function readEvm(options: NodeOptions, clock: Clock): Promise<Software> {
  const { rpc, transport } = openEvmRpc(options, clock);
  try {
    const text = await resultOf(rpc, 'web3_clientVersion');
    const peers = readQuantity(await resultOf(rpc, 'net_peerCount'));
    const syncing = await resultOf(rpc, 'eth_syncing');
    return {
      ...unknown,
      peers,
      syncing: isFields(syncing) ? syncing : null,
      ...(typeof text === 'string' && readVersion(text)),
    };
  } finally {
    await transport.close();
  }
}

/** Returns the result; null for any answer without one. */
async function resultOf(rpc: RpcClient, method: string): Promise<unknown> {
  const answer = await rpc.attempt(method, []);
  return answer.ok ? answer.result : null;
}

/**
 * Returns whether an EVM node takes transactions: it answers anything but that there is no such method. Some nodes
 * close the request instead.
 */
export async function takesTransactions(options: NodeOptions, clock: Clock): Promise<boolean> {
  const { rpc, transport } = openEvmRpc(options, clock);
  try {
    // No transaction is that short.
    await rpc.call('eth_sendRawTransaction', ['0x']);
    return true;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const isClosed = ['node_method_missing', 'node_refused', 'node_unreachable', 'node_timeout'].includes(error.code);
    return !isClosed;
  } finally {
    await transport.close();
  }
}

async function readTron(options: NodeOptions, clock: Clock): Promise<Software> {
  const { ask, transport } = openTronRpc(options, clock);
  try {
    const info = await ask({ path: '/wallet/getnodeinfo', body: {} });
    if (!isFields(info)) return unknown;
    const { codeVersion } = isFields(info.configNodeInfo) ? info.configNodeInfo : {};
    const peers = info.currentConnectCount;
    return {
      ...unknown,
      ...(typeof codeVersion === 'string' && {
        ...readVersion(codeVersion),
        client: 'java-tron',
        text: `java-tron ${codeVersion}`,
      }),
      peers: typeof peers === 'number' ? peers : null,
    };
  } catch (error) {
    // The bridge, and some gateways, pass on what an indexer needs, and nothing else.
    if (error instanceof Fault) return unknown;
    throw error;
  } finally {
    await transport.close();
  }
}

async function readSolana(options: NodeOptions, clock: Clock): Promise<Software> {
  const { rpcUrl, advice } = readUrls(options);
  const http = openRpcHttp({ ...options, url: rpcUrl, host: rpcUrl.host, advice }, clock);
  try {
    const rpc = createRpcClient(http, { ...options, host: rpcUrl.host, meanings: solanaErrors });
    const found = await resultOf(rpc, 'getVersion');
    const version = isFields(found) ? found['solana-core'] : null;
    return typeof version === 'string'
      ? { ...unknown, ...readVersion(version), client: 'agave', text: `agave ${version}` }
      : unknown;
  } finally {
    await http.close();
  }
}
