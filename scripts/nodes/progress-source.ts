/**
 * A node's own statement of its progress, by family.
 */
import type { Family, NodeOptions } from '../../src/chains/chain.ts';
import { openEvmRpc } from '../../src/chains/evm/node/rpc.ts';
import { readQuantity } from '../../src/chains/evm/wire.ts';
import { openTronRpc } from '../../src/chains/tron/node/rpc.ts';
import { Fault } from '../../src/core/fault.ts';
import { isFields } from '../../src/core/fields.ts';
import type { Clock } from '../../src/lib/clock.ts';

/** `syncing` is the node's own answer to how far it is, as plain data; null if it says that it is not syncing. */
export type Said = Readonly<{ peers: number | null; syncing: Readonly<Record<string, unknown>> | null }>;

export type ProgressSource = Readonly<{
  /** @throws Fault transient */
  read(): Promise<Said>;
  close(): Promise<void>;
}>;

const WAITS = 'waits for its consensus client or its first peer';
const nothing: Said = { peers: null, syncing: null };

/** @throws Fault permanent `node_url_invalid` */
export function openProgressSource(family: Family, options: NodeOptions, clock: Clock): ProgressSource {
  if (family === 'evm') return openEvm(options, clock);
  if (family === 'tron') return openTron(options, clock);
  return { read: async () => nothing, close: async () => {} };
}

function openEvm(options: NodeOptions, clock: Clock): ProgressSource {
  const { rpc, transport } = openEvmRpc(options, clock);
  return {
    async read() {
      const peers = await rpc.attempt('net_peerCount', []);
      const syncing = await rpc.attempt('eth_syncing', []);
      return {
        peers: peers.ok ? readQuantity(peers.result) : null,
        syncing: syncing.ok && isFields(syncing.result) ? syncing.result : null,
      };
    },
    close: transport.close,
  };
}

function openTron(options: NodeOptions, clock: Clock): ProgressSource {
  const { ask, transport } = openTronRpc(options, clock);
  return {
    async read() {
      try {
        const info = await ask({ path: '/wallet/getnodeinfo', body: {} });
        const peers = isFields(info) ? info.currentConnectCount : null;
        return { ...nothing, peers: typeof peers === 'number' ? peers : null };
      } catch (error) {
        // A bridge, and some gateways, do not pass it on.
        if (error instanceof Fault) return nothing;
        throw error;
      }
    },
    close: transport.close,
  };
}

/**
 * Returns what a node is at while the age of its newest block says nothing: it fetches a state, whose end nobody knows,
 * or waits. Null if blocks are all that is missing.
 * @param number of the newest block
 */
export function phaseOf(syncing: Said['syncing'], number: number): string | null {
  if (syncing === null) return number === 0 ? WAITS : null;
  const [current, highest, healing] = [syncing.currentBlock, syncing.highestBlock, syncing.healingTrienodes].map(
    (value) => readQuantity(value) ?? 0,
  ) as [number, number, number];
  if (Array.isArray(syncing.stages)) return stageText(syncing.stages);
  if (number > 0) return null;
  // geth 1.16 says that it is syncing from block 0 to block 0 before its consensus client has spoken.
  if (highest === 0) return WAITS;
  if (healing > 0) return `heals its state (${healing} nodes pending), which ends when the disk is fast enough`;
  if (current < highest) return `fetches blocks and state: block ${current} of ${highest}`;
  return 'fetches the state';
}

/** The slowest stage decides: its client shows its newest block as the target. Null once all are at the same block. */
function stageText(stages: readonly unknown[]): string | null {
  const read = stages.flatMap((stage) => {
    const { name, block } = isFields(stage) ? stage : {};
    const number = readQuantity(block);
    return typeof name === 'string' && number !== null ? [{ name, number }] : [];
  });
  const slowest = read.reduce<(typeof read)[number] | null>(
    (one, other) => (one && one.number <= other.number ? one : other),
    null,
  );
  const target = Math.max(0, ...read.map(({ number }) => number));
  return slowest === null || slowest.number === target
    ? null
    : `stage ${slowest.name} at block ${slowest.number} of ${target}`;
}
