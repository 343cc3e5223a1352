/**
 * A machine of a simulated history that can be restored to an earlier state, database and signer's journal together,
 * while the chain goes on. A follower of its own reads what is final, as the indexer does.
 */
import * as assert from 'uvu/assert';
import { type BlockGap, openGaps } from '../../src/core/gap.ts';
import { isPayback } from '../../src/core/intent.ts';
import type { ChainTransfer, NetworkKey } from '../../src/core/transfer.ts';
import type { OperatorAct } from '../../src/database/audit-log.ts';
import type { Reread } from '../../src/database/recovery.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { ingestStep } from '../support/ingested-chain.ts';
import { networkReport } from '../support/network-report.ts';
import { type Bench, copy } from './payout-bench.ts';
import { type Chain, type Mined, signedIntents } from './payout-chain.ts';

type MatchedBlock = Reread['blocks'][number];

export type Machine = ReturnType<typeof createMachine>;

/** The operator of every history. */
export const actOf = (command: string, atMs: number): OperatorAct => ({
  atMs,
  operator: 'alice',
  command,
  reason: 'the simulation',
});

export function createMachine(bench: Bench, network: NetworkKey, chain: Chain, clock: Clock) {
  let signer = bench.openSigner();
  let kept = signer.copy();
  copy(bench.main, bench.other, network);

  const { database } = bench.main;
  /** Whether there may be gaps, which are looked for only then. */
  let hasSkipped = false;
  let read = 0;
  const blockAt = (number: number): MatchedBlock => {
    const block = { hash: hashOf(number), parent: hashOf(number - 1), number, timeS: Math.floor(clock.nowMs() / 1000) };
    return { block, transfers: (chain.final()[number - 1] ?? []).flatMap(transferOf) };
  };
  const hashOf = (number: number): string => (number === 0 ? '' : `${network} block ${number}`);
  const listGaps = async () => (hasSkipped ? ((await database.networks.find(network))?.gaps ?? []) : []);

  /** Saves the final blocks that the database does not have, but for those that are passed over. */
  async function follow(): Promise<void> {
    const [tip] = await database.blocks.tail(network, 1);
    const final = chain.final().length;
    const gaps = await listGaps();
    let from = (tip?.number ?? 0) + 1;
    for (let gap = gapAt(gaps, from); gap; gap = gapAt(gaps, from)) from = gap.to + 1;
    read = from > final ? (tip?.number ?? 0) : final;
    if (from > final) return;
    const wallets = await database.wallets.listOwn(network);
    if (wallets.length === 0) return;
    const connect = Array.from({ length: final + 1 - from }, (_, at) => blockAt(from + at));
    const ownWallet = Math.max(...wallets.map(({ seq }) => seq));
    const at = { network, nowMs: clock.nowMs(), expectTip: tip?.hash ?? null, readThroughS: 0 };
    assert.is(await database.blocks.ingest(ingestStep({ ...at, ownWallet, connect, floor: final })), 'done');
  }

  /**
   * Passes over the next final blocks, as `network reread` does where no node of the follower serves them.
   * @returns false if there are none, or nothing was read before
   */
  async function skip(count: number): Promise<boolean> {
    const [tip] = await database.blocks.tail(network, 1);
    const [from, head] = [(tip?.number ?? 0) + 1, chain.blocks().length];
    const to = Math.min(from + count - 1, chain.final().length);
    if (!tip || to < from || gapAt(await listGaps(), from)) return false;
    await database.networks.report(networkReport(network, clock.nowMs(), { headNumber: head }));
    const range = { network, from, to, isDryRun: false };
    assert.is((await database.networks.skip({ ...range, act: actOf('network reread', clock.nowMs()) })).kind, 'done');
    hasSkipped = true;
    return true;
  }

  /** Reads blocks that were passed over, as `network reread` does. @returns false if no block after them was read */
  async function reread({ from, to }: BlockGap): Promise<boolean> {
    const anchor = await database.blocks.rereadAnchor(network, to);
    if (!anchor) return false;
    const own = actOf('network reread', clock.nowMs());
    const outcome = await database.blocks.saveReread({
      network,
      family: 'evm',
      decimals: {},
      dustFloorPar: 0n,
      watchedThrough: Number.MAX_SAFE_INTEGER,
      from,
      to,
      anchor: anchor.hash,
      isCheck: false,
      act: own,
      blocks: Array.from({ length: to + 1 - from }, (_, at) => blockAt(from + at)),
    });
    assert.is(outcome.kind, 'done');
    await database.networks.closeGaps(network, { from, to, doubtful: [] }, own);
    return true;
  }

  return {
    /** `read`: the newest block that is final and was read, or passed over. */
    blocks: () => ({ head: chain.blocks().length, final: chain.final().length, read }),
    signer: () => signer,
    follow,
    skip,
    /** Blocks that were passed over and not read since, oldest first. */
    gaps: async () => openGaps(await listGaps()).toSorted((one, other) => one.to - other.to),
    reread,
    /** Remembers the present state of the database and the journal. */
    keep() {
      copy(bench.main, bench.other, network);
      kept = signer.copy();
    },
    /** Restores both to the state that was remembered last. */
    putBack() {
      copy(bench.other, bench.main, network);
      signer.close();
      signer = bench.openSigner(kept);
    },
    close: () => signer.close(),
  };
}

const gapAt = (gaps: readonly BlockGap[], number: number): BlockGap | undefined =>
  gaps.find(({ from, to }) => from <= number && number <= to);

function transferOf({ tx, intentId, payer, paid }: Mined): ChainTransfer[] {
  const intent = paid ? signedIntents.get(intentId) : undefined;
  if (!intent || !isPayback(intent)) return [];
  const { currency, to, units } = intent;
  return [{ tx, index: 0, currency, from: payer, to, units, isOutgoing: true }];
}
