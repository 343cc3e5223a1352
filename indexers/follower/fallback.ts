/**
 * The second node (`fallback_url`), which serves blocks that the first node cannot: pruned ones, a hole in its ledger,
 * a block whose content it cannot read. The second node serves blocks by their hash, and continues our chain below the
 * first node's final block. It never determines the head or the final block, and never decides a reorg.
 */
import type { Attestation, Node } from '../../src/chains/chain.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import type { BlockRef } from '../../src/core/block.ts';
import { Fault, transient } from '../../src/core/fault.ts';
import type { Unconfirmed } from '../../src/database/blocks.ts';
import type { NetworkReport } from '../../src/database/networks.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { Log } from '../../src/lib/log.ts';
import { createIdentityProof } from './identity.ts';

/** Faults of a node that does not have the data, or never answers such a request. */
const lost = [
  'node_block_missing',
  'node_history_pruned',
  'node_history_disabled',
  'node_method_missing',
  'node_response_too_large',
];
/** Faults that may pass, or may be permanent for one block. */
const perhapsPermanent = [
  'node_error',
  'node_timeout',
  'node_nonsense',
  'node_content_contradictory',
  'node_content_doubtful',
  'node_infos_missing',
];
const PROOF_AGE_MS_MAX = 60_000;
/** The network's state names the fallback for this long after its last use. */
const REMARK_MS = 600_000;

/** Returns whether another node, or another request, may get the answer that a node failed to give. */
export const isUnserved = (fault: Fault): boolean => isLost(fault) || perhapsPermanent.includes(fault.code);

/** Returns whether the node will fail in the same way again. */
export const isLost = ({ code }: Fault): boolean => lost.includes(code);

export interface Fallback {
  /**
   * Reads from the second node after the first one failed.
   * @param what for the log and the network's state: `block 123`
   * @throws the first node's fault, with the second one's if there is a second node
   */
  ask<T>(fault: Fault, what: string, read: (second: Node) => Promise<T>): Promise<T>;
  /** Returns the reason `fallback_used` if the second node was used lately; otherwise null. */
  remark(): NetworkReport['reason'];
  close(): Promise<void>;
}

type FallbackOptions = Readonly<{
  network: NetworkConfig;
  /** Opens the second node. Called when it is first needed. */
  open: () => Node;
  clock: Pick<Clock, 'nowMs'>;
  log: Pick<Log, 'warn'>;
}>;

/** For networks without `fallback_url`. */
export const noFallback: Fallback = {
  async ask(fault) {
    throw fault;
  },
  remark: () => null,
  async close() {},
};

export function createFallback({ network, open, clock, log }: FallbackOptions): Fallback {
  let opened: Readonly<{ node: Node; prove: () => Promise<void> }> | null = null;
  let used: Readonly<{ atMs: number; message: string }> | null = null;

  function connect() {
    const node = open();
    const identity = createIdentityProof(network, node, clock);
    return { node, prove: () => identity.renew(PROOF_AGE_MS_MAX) };
  }

  function remark(): NetworkReport['reason'] {
    if (!used || clock.nowMs() - used.atMs >= REMARK_MS) return null;
    return { code: 'fallback_used', message: used.message };
  }

  function note(fault: Fault, what: string): void {
    const isNew = remark() === null;
    const message = `${what} came from fallback_url, because the node did not serve it: ${fault.message}`;
    used = { atMs: clock.nowMs(), message };
    if (isNew) log.warn({ code: 'fallback_used', why: fault.code }, message);
  }

  return {
    async ask(fault, what, read) {
      try {
        opened ??= connect();
        await opened.prove();
        const answer = await read(opened.node);
        note(fault, what);
        return answer;
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        throw transient(
          fault.code,
          `${fault.message}. The node at fallback_url did not serve it either: ${error.message}`,
        );
      }
    },
    remark,
    async close() {
      await opened?.node.close();
    },
  };
}

/**
 * Continues our chain where the first node has lost blocks, at most up to the first node's final block.
 * @throws the fault, if the second node does not continue our chain or has another final block
 */
export async function readAcrossGap(
  fallback: Fallback,
  fault: Fault,
  tip: BlockRef | undefined,
  final: BlockRef | null,
  blocksMax: number,
): Promise<readonly BlockRef[]> {
  if (!isLost(fault) || !tip || !final || final.number <= tip.number) throw fault;
  const from = tip.number + 1;
  return fallback.ask(fault, `the chain from block ${from} on`, async (second) => {
    const [same] = await second.range(final.number, final.number);
    if (same?.hash !== final.hash) throw otherChain(`block ${final.number} is not ${final.hash}`);
    const found = await second.range(from, Math.min(final.number, tip.number + blocksMax));
    if (found[0]?.parent !== tip.hash) throw otherChain(`block ${tip.number} is not ${tip.hash}`);
    return found.filter(({ number }) => number <= final.number);
  });
}

const otherChain = (what: string): Fault => transient('node_inconsistent', `its ${what}`);

/** Returns an `attest` of the first node that asks the second one about final blocks that the first has lost. */
export function attestWith(node: Pick<Node, 'attest'>, fallback: Fallback, final: BlockRef | null) {
  const isFinal = ({ number }: Unconfirmed): boolean => final !== null && number <= final.number;
  const fromSecond = (fault: Fault, block: Unconfirmed, txs: readonly string[]): Promise<Attestation> =>
    fallback.ask(fault, `the check of block ${block.number}`, (second) => second.attest(block, txs));
  return {
    async attest(block: Unconfirmed, txs: readonly string[]): Promise<Attestation> {
      try {
        const answer = await node.attest(block, txs);
        if (answer !== 'unsure' || !isFinal(block) || fallback === noFallback) return answer;
      } catch (error) {
        if (!(error instanceof Fault) || !isLost(error) || !isFinal(block)) throw error;
        return fromSecond(error, block, txs);
      }
      const missing = transient('node_block_missing', `the node does not have block ${block.number} ${block.hash}`);
      return fromSecond(missing, block, txs).catch((error: unknown) => {
        if (!(error instanceof Fault)) throw error;
        return 'unsure' as const;
      });
    },
  };
}
