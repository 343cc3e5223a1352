/**
 * Asks a second node about large payments at the moment of credit. Its chain must have the same block with the same
 * transfers.
 */
import type { Node } from '../../src/chains/chain.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { Fault, permanent } from '../../src/core/fault.ts';
import type { ChainTransfer } from '../../src/core/transfer.ts';
import type { NetworkReport } from '../../src/database/networks.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { DueBlock } from './credits.ts';
import { createIdentityProof } from './identity.ts';
import { type Matcher, matchContent } from './matcher.ts';

/** Time before the next question about an unconfirmed block, or to a node that failed. */
const RETRY_MS = 5_000;
const PROOF_AGE_MS_MAX = 60_000;
/**
 * Time for questions in one iteration of the follower. A fast second node keeps up with a follower that catches up. A
 * slow one delays reading by no more than this and one more block.
 */
const ASKING_MS_MAX = 3_000;

type Reason = NonNullable<NetworkReport['reason']>;
type Wait = Readonly<{ retryAtMs: number; reason: Reason }>;

export type SecondNode = ReturnType<typeof createSecondNode>;

/** @param open connects to the second node, when it is first needed; null if the settings name none */
export function createSecondNode(
  network: NetworkConfig,
  open: (() => Node) | null,
  matcher: Pick<Matcher, 'match'>,
  clock: Pick<Clock, 'nowMs'>,
) {
  let asked: { node: Node; prove: () => Promise<void> } | null = null;
  /** The last failure, and the time of the next question. */
  let failed = { untilMs: 0, message: '' };
  /** By block hash, in the order of the questions. */
  const waits = new Map<string, Wait>();

  function connect() {
    if (!open) throw permanent('second_node_missing', 'witness_url is not set');
    const node = open();
    const identity = createIdentityProof(network, node, clock);
    return { node, prove: () => identity.renew(PROOF_AGE_MS_MAX) };
  }

  /** Returns why the second node does not confirm a block; null if it does. */
  async function objection({ hash, number, secondNode }: DueBlock): Promise<Reason | null> {
    asked ??= connect();
    const { node, prove } = asked;
    await prove();
    const txs = [...new Set(secondNode.map(({ tx }) => tx))];
    const attested = await node.attest({ hash, number }, txs);
    if (attested === 'unsure') return unavailable(number, `its chain does not have block ${number} yet`);
    const [block] = attested === 'holds' ? await node.range(number, number) : [];
    if (block?.hash !== hash)
      return disagrees(number, hash, 'has another block at that height, or does not have the transaction');
    const found = new Set((await matchContent(node, matcher, block)).map(textOf));
    const missing = secondNode.find((transfer) => !found.has(textOf(transfer)));
    return missing ? disagrees(number, hash, `does not show the transfer of transaction ${missing.tx}`) : null;
  }

  async function ask(block: DueBlock): Promise<Reason | null> {
    try {
      return await objection(block);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      failed = { untilMs: clock.nowMs() + RETRY_MS, message: error.message };
      return unavailable(block.number, error.message);
    }
  }

  /** Asks about a block and remembers why it waits. @returns whether the block is confirmed */
  async function isConfirmed(block: DueBlock): Promise<boolean> {
    const nowMs = clock.nowMs();
    const before = waits.get(block.hash);
    const hasFailed = nowMs < failed.untilMs;
    if (hasFailed && before) return false;
    const reason = hasFailed ? unavailable(block.number, failed.message) : await ask(block);
    waits.delete(block.hash);
    if (reason) waits.set(block.hash, { retryAtMs: nowMs + RETRY_MS, reason });
    return reason === null;
  }

  return {
    /** Returns the blocks, without the transactions that need the second node's confirmation and do not have it. */
    async agreeing(blocks: readonly DueBlock[]): Promise<readonly DueBlock[]> {
      const hashes = new Set(blocks.map(({ hash }) => hash));
      for (const hash of waits.keys()) if (!hashes.has(hash)) waits.delete(hash);
      const nowMs = clock.nowMs();
      const agreed: DueBlock[] = [];
      for (const block of blocks) {
        const needs = block.secondNode.length > 0;
        const hasTime = clock.nowMs() - nowMs <= ASKING_MS_MAX;
        const mayAsk = needs && hasTime && (waits.get(block.hash)?.retryAtMs ?? 0) <= nowMs;
        const isAgreed = !needs || (mayAsk && (await isConfirmed(block)));
        const rest = isAgreed ? block : withoutSecond(block);
        if (rest.txs.length > 0) agreed.push(rest);
      }
      return agreed;
    },
    /** Returns why payments wait for the second node; null if none do. The server raises an alarm if this lasts. */
    reason(): Reason | null {
      const reasons = [...waits.values()].map(({ reason }) => reason);
      return reasons.find(({ code }) => code === DISAGREES) ?? reasons[0] ?? null;
    },
    close: async () => asked?.node.close(),
  };
}

const textOf = ({ tx, index, currency, from, to, units }: ChainTransfer): string =>
  [tx, index, currency, from, to, units].join(' ');

function withoutSecond(block: DueBlock): DueBlock {
  const asked = new Set(block.secondNode.map(({ tx }) => tx));
  return { ...block, txs: block.txs.filter((tx) => !asked.has(tx)), secondNode: [] };
}

const DISAGREES = 'second_node_disagrees';

const disagrees = (number: number, hash: string, what: string): Reason => ({
  code: DISAGREES,
  message:
    `payments in block ${number} ${hash} are due, but the second node (witness_url) ${what}: ` +
    'they stay seen. Compare both nodes with a block explorer, and replace the one that is wrong in url or witness_url',
});

const unavailable = (number: number, why: string): Reason => ({
  code: 'second_node_unavailable',
  message:
    `payments in block ${number} wait for the second node (witness_url): ${why}. They stay seen until it confirms ` +
    'them: look at that node, correct witness_url, or raise two_node_amount',
});
