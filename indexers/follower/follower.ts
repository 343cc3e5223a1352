/**
 * Follows one network: reads the node's chain, finds the transfers to watched addresses, and saves blocks, transfers
 * and cursor together. `src/core/follow.ts` decides. This is the loop that asks and acts.
 *
 * Each iteration starts from the database's last commit and the node's head. Catching up after an outage, a reconnect
 * or a crash is therefore no special case. A wake-up from the node only shortens the wait between iterations.
 */
import type { Node } from '../../src/chains/chain.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import type { BlockRef } from '../../src/core/block.ts';
import { type Lack, namesFinality } from '../../src/core/credit-policy.ts';
import { Fault, isTransient, permanent, transient } from '../../src/core/fault.ts';
import type { Database } from '../../src/database/database.ts';
import type { NetworkReport } from '../../src/database/networks.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { createWakeup } from '../wakeup.ts';
import type { Watch } from './address-watch.ts';
import { rangeAfterGap, replacedTip } from './after-gap.ts';
import { createBlockReader } from './block-reader.ts';
import { attestAll, placeFinal } from './confirmations.ts';
import { type Due, findDue } from './credits.ts';
import { createCursor, type Look, type Step } from './cursor.ts';
import { attestWith, type Fallback, noFallback, readAcrossGap } from './fallback.ts';
import { createFinalityCheck } from './finality-check.ts';
import { forkAdvice } from './fork-point.ts';
import { ageS, createFreshness } from './freshness.ts';
import { haltNetwork } from './halt.ts';
import { createIdentityProof } from './identity.ts';
import type { Matcher } from './matcher.ts';
import type { Reporter } from './reporter.ts';
import type { SecondNode } from './second-node.ts';
import { createWalk, type WalkEnd } from './walk.ts';

const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 10_000;
/** At most this many of our newest blocks are compared with the node's to find a fork. */
const COMPARED_MAX = 5_000;
/** A node is syncing or cut off if its head is older than this and older than `STALE_BLOCKS` block times. */
const STALE_MS_MIN = 60_000;
const STALE_BLOCKS = 25;
/**
 * Maximum age of a proof of identity. A gateway may put another network's node behind the connection. If that node's
 * chain links to ours, only the identity shows the difference.
 */
const PROOF_AGE_MS_MAX = 60_000;
/** Maximum age while the node's head is behind ours. A proof at every poll would double the load of a syncing node. */
const PROOF_AGE_BEHIND_MS_MAX = 5_000;

type FollowerOptions = Readonly<{
  network: NetworkConfig;
  node: Node;
  database: Database;
  matcher: Matcher;
  watch: Watch;
  reporter: Pick<Reporter, 'update'>;
  secondNode: SecondNode;
  /** Serves blocks that the node cannot; none if absent. */
  fallback?: Fallback;
  /** Called before the network's first block is read, and again if it fails. */
  onFirst?: (number: number) => Promise<void>;
  clock: Clock;
  blocksPerIngestMax: number;
  /** A number from 0 to 1, for jitter. */
  random: () => number;
}>;

/** `again`: there is more to do at once. `rest`: wait for a wake-up. */
type StepEnd = 'again' | 'rest';

export function createFollower(options: FollowerOptions) {
  const { network, node, database, matcher, watch, reporter, secondNode, fallback = noFallback, clock } = options;
  const staleMs = Math.max(STALE_MS_MIN, STALE_BLOCKS * network.blockTimeMs);
  const wakeup = createWakeup(clock);
  const cursor = createCursor(database, network, () => clock.nowMs());
  const walk = createWalk(node, 2 * network.reorgDepthMax + 2);
  const reader = createBlockReader(node, matcher, fallback);
  const identity = createIdentityProof(network, node, clock);
  const whyUnfinal = createFinalityCheck(network);
  const judgeFreshness = createFreshness(node, staleMs);
  const asksForSafe = namesFinality(network.confirmations, 'safe');
  /** Reasons why payments wait. */
  let lacking: ReadonlySet<Lack> = new Set();
  /**
   * Blocks in one step. There are fewer after a failure, or while addresses are added faster than a full step takes.
   */
  let blocksMax = options.blocksPerIngestMax;
  let retryMs = RETRY_MS_MIN;

  async function look(): Promise<Look> {
    const askedAtMs = clock.nowMs();
    const [final, head, safe = null] = await Promise.all([
      node.finalized(),
      node.head(),
      asksForSafe ? node.safe?.() : null,
    ]);
    // A final block above the head is from another node behind the gateway, or from a race that the next poll resolves.
    const finalized = final && final.number <= head.number ? final : null;
    const finalNumber = final?.number ?? null;
    return { head, finalized, finalNumber, safe, askedAtMs, ...(await judgeFreshness(head, askedAtMs)) };
  }

  async function decide({ head, finalized }: Look): Promise<WalkEnd> {
    const next = cursor.afterGap();
    if (next !== null) return goOnAfterGap(head, next);
    const tip = cursor.tip();
    if (tip) {
      const end = await walk
        .towards(head, cursor.blocks(), cursor.floor(), blocksMax)
        .catch(async (error: unknown): Promise<WalkEnd> => {
          if (!(error instanceof Fault)) throw error;
          const connect = await readAcrossGap(fallback, error, tip, finalized, blocksMax);
          return { kind: 'advance', drop: [], connect };
        });
      return beforeGap(head, end);
    }
    // The first step starts as far back as a reorg may reach, so that the tail can follow one from the beginning.
    const from = Math.max(0, head.number - network.reorgDepthMax);
    await options.onFirst?.(from);
    return { kind: 'advance', drop: [], connect: await node.range(from, Math.min(head.number, from + blocksMax - 1)) };
  }

  async function goOnAfterGap(head: BlockRef, next: number): Promise<WalkEnd> {
    if (head.number < next) return { kind: 'rest', why: 'behind' };
    // No block above the gap links to our tip, so a reorg of the tip would not show.
    const other = await replacedTip(node, cursor.tip());
    if (other) return walk.towards(other, cursor.blocks(), cursor.floor(), blocksMax);
    const to = Math.min(head.number, next + blocksMax - 1);
    return { kind: 'advance', drop: [], connect: await rangeAfterGap(node, network.key, next, to) };
  }

  /** Cuts a plan before the first block that an operator skipped. A plan that begins there continues after the gap. */
  async function beforeGap(head: BlockRef, plan: WalkEnd): Promise<WalkEnd> {
    if (plan.kind !== 'advance' || plan.drop.length > 0) return plan;
    const at = plan.connect.findIndex(({ number }) => cursor.afterGap(number) !== null);
    const next = cursor.afterGap(plan.connect[at]?.number);
    if (at < 0 || next === null) return plan;
    return at === 0 ? goOnAfterGap(head, next) : { ...plan, connect: plan.connect.slice(0, at) };
  }

  async function save(step: Step, seen: Look): Promise<StepEnd | 'done'> {
    const known = { watchedThrough: watch.through(), ownWallet: watch.ownWallet() };
    const outcome = await cursor.save(step, seen, known);
    // The next step loads the position that an operator has set, or that was saved although the database reported a
    // failure.
    if (outcome === 'recovered' || outcome === 'moved') return 'again';
    if (outcome === 'stale_watch') {
      // Somebody may have paid an address that the matcher did not have, so the blocks are read again, fewer at a time.
      await watch.load(true);
      shorten();
      return 'again';
    }
    reporter.update({ headNumber: seen.head.number, readThroughS: cursor.readThroughS(seen) });
    if (step.connect.length > 0) {
      blocksMax = Math.min(blocksMax * 2, options.blocksPerIngestMax);
      retryMs = RETRY_MS_MIN;
    }
    return 'done';
  }

  function shorten(): void {
    blocksMax = Math.max(1, Math.floor(blocksMax / 2));
  }

  async function connectBlocks(
    drop: readonly BlockRef[],
    connect: readonly BlockRef[],
    seen: Look,
  ): Promise<StepEnd | 'done'> {
    const { read, fault } = await reader.read(connect);
    const top = read.at(-1)?.block.number ?? -1;
    // A chain shorter than ours is not saved, not even on the way to a longer one, because payments would seem to
    // vanish.
    const end = top >= (cursor.tip()?.number ?? 0) ? await save({ drop, connect: read, confirm: [] }, seen) : 'done';
    if (fault) throw fault;
    return end;
  }

  const findDueNow = ({ finalized, safe }: Look): Promise<Due> => {
    const isOurs = safe !== null && placeFinal(cursor.blocks(), safe) !== 'foreign';
    const tip = cursor.tip()?.number ?? 0;
    const heights = { tip, safe: isOurs ? safe.number : null, final: finalized?.number ?? null };
    return findDue(network, database.blocks, heights, cursor.floor());
  };

  async function confirmBlocks(seen: Look): Promise<StepEnd | 'done'> {
    const { finalized } = seen;
    if (finalized && placeFinal(cursor.blocks(), finalized) === 'foreign') {
      throw transient(
        'node_inconsistent',
        `the node reports block ${finalized.number} ${finalized.hash} as final, but the block is not on its own chain`,
      );
    }
    const { blocks: due, ...waiting } = await findDueNow(seen);
    lacking = waiting.lacking;
    const { confirmed, gone, fault } = await attestAll(attestWith(node, fallback, finalized), due);
    const agreed = await secondNode.agreeing(confirmed);
    const end = await save({ drop: [], connect: [], confirm: agreed }, seen);
    if (end !== 'done') return end;
    if (fault) throw fault;
    const [lost] = gone;
    if (lost) {
      throw transient(
        'confirmation_contradicted',
        `the node no longer confirms block ${lost.number} ${lost.hash}, whose payments are due. They stay unconfirmed until the node's chain shows the reason`,
      );
    }
    return 'done';
  }

  /**
   * Returns how old a proof of identity may be for a step. Blocks that do not continue our chain may be another
   * network's.
   */
  function proofAgeMsMax(next: WalkEnd): number {
    switch (next.kind) {
      case 'halt':
        return 0;
      case 'rest':
        return next.why === 'behind' ? PROOF_AGE_BEHIND_MS_MAX : PROOF_AGE_MS_MAX;
      case 'advance':
        return next.connect[0]?.parent === cursor.tip()?.hash ? PROOF_AGE_MS_MAX : 0;
    }
  }

  const halting = {
    reporter,
    clock,
    wakeup,
    prove: () => identity.renew(0),
    isMoved: reload,
  };

  /** Loads the position if an operator has moved it. @returns whether it was loaded */
  async function reload(): Promise<boolean> {
    const position = await cursor.refresh();
    if (position) reporter.update(position);
    return position !== null;
  }

  /** Polls the node once, and makes at most one step towards its head. */
  async function step(): Promise<StepEnd> {
    await reload();
    // The identity comes first, because a node of another network may not even answer our other requests.
    await identity.renew(PROOF_AGE_MS_MAX);
    await watch.load(false);
    const seen = await look();
    // Reported at once, so that the lag is visible even if the next blocks cannot be read.
    reporter.update({ headNumber: seen.head.number });
    const end = await advance(seen).catch((fault: unknown) => confirmRead(seen, fault));
    if (end !== 'done') return end;
    const confirmed = await confirmBlocks(seen);
    if (confirmed !== 'done') return confirmed;
    return reportProgress(seen);
  }

  /**
   * Confirms payments in blocks that were read although the next blocks cannot be read. That may last, and payments
   * that are known and final should not wait for it. If this fails too, only the first fault is reported.
   * @throws the fault that kept the next blocks from being read
   */
  async function confirmRead(seen: Look, fault: unknown): Promise<StepEnd> {
    if (!isTransient(fault)) throw fault;
    try {
      if ((await findDueNow(seen)).blocks.length > 0) {
        // Blocks that do not continue our chain may be another network's.
        await identity.renew(PROOF_AGE_BEHIND_MS_MAX);
        const end = await confirmBlocks(seen);
        if (end !== 'done') return end;
      }
    } catch (error) {
      if (!isTransient(error)) throw error;
    }
    throw fault;
  }

  /** Makes at most one step towards the node's head. */
  async function advance(seen: Look): Promise<StepEnd | 'done'> {
    const { head } = seen;
    const next = await decide(seen);
    await identity.renew(proofAgeMsMax(next));
    if (next.kind === 'halt') {
      const tail = await database.blocks.tail(network.key, COMPARED_MAX);
      const advice = await forkAdvice(node, network.key, tail);
      throw permanent('reorg_below_floor', `${network.key}: ${next.why}. ${advice}`);
    }
    if (next.kind === 'rest' && next.why === 'behind') {
      const message = `the node shows block ${head.number}, but block ${cursor.tip()?.number} was read already`;
      reporter.update({ state: 'behind', reason: { code: 'node_behind', message }, headNumber: head.number });
      return 'rest';
    }
    return next.kind === 'advance' ? connectBlocks(next.drop, next.connect, seen) : 'done';
  }

  async function reportProgress(seen: Look): Promise<StepEnd> {
    const { head } = seen;
    const gap = head.number - (cursor.tip()?.number ?? 0);
    const behind = whyBehind(seen, gap);
    const heights = { safe: seen.safe?.number ?? null, finalized: seen.finalNumber };
    const waiting = whyUnfinal(head.number, heights, lacking) ?? secondNode.reason();
    const reason = behind ?? waiting ?? clockBehind(seen) ?? fallback.remark();
    const readThroughS = cursor.readThroughS(seen);
    reporter.update({ state: behind ? 'behind' : 'following', reason, headNumber: head.number, readThroughS });
    return gap > 0 ? 'again' : 'rest';
  }

  function whyBehind({ whyStale }: Look, gap: number): NetworkReport['reason'] {
    if (gap > options.blocksPerIngestMax) {
      return { code: 'catching_up', message: `${gap} blocks are still to be read` };
    }
    return whyStale === null ? null : { code: 'node_stale', message: whyStale };
  }

  /** Returns the reason to report for a chain that is followed although its newest block is old by its own time. */
  function clockBehind({ head, askedAtMs, isOld }: Look): NetworkReport['reason'] {
    if (!isOld) return null;
    const message = `the chain's clock is ${ageS(head, askedAtMs)} s behind, but its blocks keep coming`;
    return { code: 'chain_clock_behind', message };
  }

  return {
    /**
     * Follows until the signal aborts. A network that must not continue (a wrong node, a reorg of final blocks) is
     * halted. It then only checks the node's identity, until the node is right again or an operator moves the network's
     * position.
     */
    async run(signal: AbortSignal): Promise<void> {
      node.onChange(wakeup.notify);
      signal.addEventListener('abort', wakeup.notify, { once: true });
      while (!signal.aborted) {
        try {
          const end = await step();
          retryMs = RETRY_MS_MIN;
          if (end === 'rest') await wakeup.wait(network.pollMs);
        } catch (error) {
          if (!(error instanceof Fault)) throw error;
          // The stop closes the node, so requests in flight fail.
          if (signal.aborted) break;
          if (error.kind === 'permanent') {
            await haltNetwork(error, halting, signal);
            continue;
          }
          reporter.update({ state: 'fault', reason: { code: error.code, message: error.message } });
          shorten();
          // A wake-up may mean that the node is back. It never makes a retry come faster than the first one.
          await clock.sleep(RETRY_MS_MIN, signal);
          await wakeup.wait((retryMs - RETRY_MS_MIN) * (0.5 + options.random() / 2));
          retryMs = Math.min(retryMs * 2, RETRY_MS_MAX);
        }
      }
    },
  };
}
