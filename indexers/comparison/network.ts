/**
 * Compares the final blocks of one network, which are read again from its node, with the database: blocks that no
 * night has compared yet, and those that differed. A difference is an alarm until a night finds these blocks the same.
 */
import type { Node } from '../../src/chains/chain.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { Fault } from '../../src/core/fault.ts';
import { alarmKey } from '../../src/database/alarms.ts';
import type { BlockComparison, NumberRange } from '../../src/database/comparison.ts';
import type { Database } from '../../src/database/database.ts';
import { isFollowed } from '../../src/database/network-health.ts';
import { type Clock, DAY_MS } from '../../src/lib/clock.ts';
import type { Log } from '../../src/lib/log.ts';
import type { Watch } from '../follower/address-watch.ts';
import { createIdentityProof } from '../follower/identity.ts';
import type { Matcher } from '../follower/matcher.ts';
import { readChainRange } from '../follower/range-reader.ts';
import { compareBlocks, type Difference } from './blocks.ts';

/** How long a node may fail before the night ends. */
const PATIENCE_MS = 600_000;
/** The process rests as long as it works, so that the node and the follower have half of the time for themselves. */
const REST_MS_MAX = 5_000;
const FOLLOWED_POLL_MS = 5_000;
/** After this long without being followed, the network is left for the next night. */
const UNFOLLOWED_MS_MAX = 4 * 3_600_000;
/** Faults of a node that no longer has the blocks. */
const GONE: readonly string[] = ['node_history_pruned', 'node_block_missing'];

export type ComparisonParts = Readonly<{
  network: NetworkConfig;
  node: Node;
  matcher: Pick<Matcher, 'match'>;
  watch: Watch;
  database: Pick<
    Database,
    | 'listNetworks'
    | 'firstBlockFrom'
    | 'recordedRange'
    | 'listComparisons'
    | 'recordComparison'
    | 'keepAlarm'
    | 'endAlarm'
  >;
  clock: Clock;
  log: Log;
  patienceMs?: number;
}>;

type Found = Pick<BlockComparison, 'differs' | 'differences' | 'message'>;
const nothing: Found = { differs: null, differences: 0, message: null };

/** Compares everything that is due. Faults of the node are logged, and the rest is left for the next night. */
export async function compareNetwork(parts: ComparisonParts, signal: AbortSignal): Promise<void> {
  const { network, log } = parts;
  try {
    await rest(parts, 0, signal);
    const final = await finalNumber(parts);
    if (final === null || signal.aborted) return;
    await createIdentityProof(network, parts.node, parts.clock).renew(0, final);
    await parts.watch.load(true);
    const before = (await parts.database.listComparisons()).find((one) => one.network === network.key) ?? null;
    const open = before ? await compareAgain(parts, before, final, signal) : nothing;
    await compareNew(parts, before, open, final, signal);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    if (!signal.aborted) log.warn({ network: network.key, code: error.code }, `blocks not compared: ${error.message}`);
  }
}

/** Returns the highest number that was read and is final; null before the first. */
async function finalNumber({ network, database }: ComparisonParts): Promise<number | null> {
  const status = (await database.listNetworks()).find((one) => one.network === network.key);
  return status?.cursor && status.floor > 0 ? Math.min(status.floor, status.cursor.number) : null;
}

/** Compares the blocks that differed. What the node no longer has stays as it was. @returns what differs still */
async function compareAgain(
  parts: ComparisonParts,
  before: BlockComparison,
  final: number,
  signal: AbortSignal,
): Promise<Found> {
  const { differs, differences, message } = before;
  if (differs === null) return nothing;
  let found = nothing;
  try {
    for await (const part of walk(parts, differs, final, signal)) found = added(found, part.differences);
  } catch (error) {
    if (error instanceof Fault && GONE.includes(error.code)) return { differs, differences, message };
    throw error;
  }
  if (signal.aborted) return { differs, differences, message };
  await keep(parts, { ...before, ...found });
  return found;
}

/** Compares the blocks since the last night, or since a day ago; keeps how far it came after each part of them. */
async function compareNew(
  parts: ComparisonParts,
  before: BlockComparison | null,
  open: Found,
  final: number,
  signal: AbortSignal,
): Promise<void> {
  const { network, database, clock, log } = parts;
  const dayAgo = Math.max(0, final - Math.ceil(DAY_MS / network.blockTimeMs));
  const from = before ? before.through + 1 : await database.firstBlockFrom(network.key, dayAgo);
  if (from === null || from > final) return;
  let state = { ...open, network: network.key, from, through: from, comparedAtMs: 0, blocks: 0, transfers: 0 };
  for await (const part of walk(parts, { from, to: final }, final, signal)) {
    const { blocks, transfers, through } = part;
    state = {
      ...state,
      ...added(state, part.differences),
      through,
      comparedAtMs: clock.nowMs(),
      blocks: state.blocks + blocks,
      transfers: state.transfers + transfers,
    };
    await keep(parts, state);
  }
  const { through, blocks, transfers, differences } = state;
  log.info({ network: network.key, from, through, blocks, transfers, differences }, 'final blocks compared');
}

type Part = Readonly<{ through: number; blocks: number; transfers: number; differences: readonly Difference[] }>;

/** Compares a range part by part, and rests after each. */
async function* walk(
  parts: ComparisonParts,
  range: NumberRange,
  final: number,
  signal: AbortSignal,
): AsyncGenerator<Part> {
  const { network, database, clock, patienceMs = PATIENCE_MS } = parts;
  let from = range.from;
  let sinceMs = clock.nowMs();
  for await (const part of readChainRange({ ...parts, patienceMs }, range.from, range.to, signal)) {
    const { blocks, throughNumber: through } = part;
    const recorded = await database.recordedRange(network.key, { from, to: through });
    const differences = compareBlocks(network, blocks, recorded, final - network.reorgDepthMax);
    const transfers = blocks.reduce((sum, block) => sum + block.transfers.length, 0);
    yield { through, blocks: blocks.length, transfers, differences };
    from = through + 1;
    await rest(parts, clock.nowMs() - sinceMs, signal);
    sinceMs = clock.nowMs();
  }
}

const added = ({ differs, differences, message }: Found, more: readonly Difference[]): Found =>
  more.reduce<Found>(
    (found, { number, message: text }) => ({
      differs: {
        from: Math.min(found.differs?.from ?? number, number),
        to: Math.max(found.differs?.to ?? number, number),
      },
      differences: found.differences + 1,
      message: found.message ?? text,
    }),
    { differs, differences, message },
  );

/** Saves how far it came, and raises or ends the alarm. */
async function keep({ database, clock }: ComparisonParts, comparison: BlockComparison): Promise<void> {
  const { network, differs, differences, message } = comparison;
  await database.recordComparison(comparison);
  const [key, atMs] = [alarmKey('comparison', network), clock.nowMs()];
  if (!differs) return void (await database.endAlarm(key, atMs));
  const reread = `quayside networks reread ${network} --from ${differs.from} --to ${differs.to}`;
  await database.keepAlarm({
    key,
    atMs,
    network,
    sessionId: null,
    code: 'comparison_differs',
    message:
      `blocks ${differs.from} to ${differs.to} of ${network} have ${differences} difference(s) between the chain and the ` +
      `database: ${message}. \`${reread}\` adds missed transfers; the next night compares these blocks again, and ends ` +
      'this alarm if they are the same',
  });
}

/**
 * Rests after work, and for as long as the network is not followed: then its node has more urgent things to answer.
 * @throws Fault transient `network_not_followed` after hours of that
 */
async function rest({ network, database, clock }: ComparisonParts, tookMs: number, signal: AbortSignal): Promise<void> {
  if (tookMs > 0) await clock.sleep(Math.min(tookMs, REST_MS_MAX), signal);
  const giveUpAtMs = clock.nowMs() + UNFOLLOWED_MS_MAX;
  while (!signal.aborted) {
    const status = (await database.listNetworks()).find((one) => one.network === network.key);
    if (status && isFollowed(status, clock.nowMs())) return;
    if (clock.nowMs() >= giveUpAtMs) {
      throw new Fault('transient', 'network_not_followed', `${network.key} was not followed for hours`);
    }
    await clock.sleep(FOLLOWED_POLL_MS, signal);
  }
}
