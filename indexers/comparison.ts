/**
 * Compares the final blocks of one network, which are read again from its node, with the database: blocks that no
 * night has compared yet, and those that differed. A difference is an alarm until a night finds these blocks the same.
 */
import type { Chain } from '../src/chains/chain.ts';
import type { NetworkConfig } from '../src/config/network.ts';
import { Fault, transient } from '../src/core/fault.ts';
import { formatUnits } from '../src/core/money.ts';
import { isIncoming } from '../src/core/transfer.ts';
import { alarmKey } from '../src/database/alarms.ts';
import type { BlockComparison, NumberRange } from '../src/database/blocks.ts';
import type { Database } from '../src/database/database.ts';
import { isFollowed, type NetworkStatus } from '../src/database/networks.ts';
import type { RereadDifference } from '../src/database/recovery.ts';
import { type Clock, DAY_MS } from '../src/lib/clock.ts';
import type { Log } from '../src/lib/log.ts';
import { rereadBlocks } from './reread.ts';

/** How long a node may fail before the night ends. */
const PATIENCE_MS = 600_000;
/** The process rests as long as it works, so that the node and the follower have half of the time for themselves. */
const REST_MS_MAX = 5_000;
/** Faults of a node that no longer has the blocks. */
const GONE: readonly string[] = ['node_history_pruned', 'node_block_missing'];

type ComparisonParts = Readonly<{
  network: NetworkConfig;
  chain: Chain;
  database: Database;
  clock: Clock;
  log: Log;
  patienceMs?: number;
}>;

type Night = ComparisonParts & Readonly<{ signal: AbortSignal }>;
type Found = Pick<BlockComparison, 'differs' | 'differences' | 'message'>;
const nothing: Found = { differs: null, differences: 0, message: null };

/** Compares everything that is due. Faults of the node are logged, and the rest is left for the next night. */
export async function compareNetwork(parts: ComparisonParts, signal: AbortSignal): Promise<void> {
  const { network, database, log } = parts;
  try {
    const { cursor, floor } = await followedStatus(parts);
    if (!cursor || floor <= 0) return;
    const night = { ...parts, signal };
    const before = (await database.blocks.listComparisons()).find((one) => one.network === network.key) ?? null;
    const open = before ? await compareAgain(night, before) : nothing;
    await compareNew(night, Math.min(floor, cursor.number), before, open);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    if (!signal.aborted) log.warn({ network: network.key, code: error.code }, `blocks not compared: ${error.message}`);
  }
}

/**
 * Returns the status of a network that is followed. The node of another has more urgent things to answer.
 * @throws Fault transient `network_not_followed`
 */
async function followedStatus({ network: { key }, database, clock }: ComparisonParts): Promise<NetworkStatus> {
  const status = (await database.networks.list()).find((one) => one.network === key);
  if (status && isFollowed(status, clock.nowMs())) return status;
  throw transient('network_not_followed', `${key} is not followed`);
}

/** Compares the blocks that differed. What the node no longer has stays as it was. @returns what differs still */
async function compareAgain(night: Night, before: BlockComparison): Promise<Found> {
  if (!before.differs) return nothing;
  let found = nothing;
  try {
    await readAgain(night, before.differs, ({ differences }) => {
      found = added(night, found, differences);
    });
  } catch (error) {
    if (error instanceof Fault && GONE.includes(error.code)) return before;
    throw error;
  }
  if (night.signal.aborted) return before;
  await keep(night, { ...before, ...found });
  return found;
}

/**
 * Compares the blocks since the last night, or since a day ago; keeps how far it came after each part of them.
 * @param final the highest number that was read and is final
 */
async function compareNew(night: Night, final: number, before: BlockComparison | null, open: Found): Promise<void> {
  const { network, database, clock, log } = night;
  const dayAgo = Math.max(0, final - Math.ceil(DAY_MS / network.blockTimeMs));
  const first = before ? before.through + 1 : (await database.blocks.rereadAnchor(network.key, dayAgo))?.number;
  const from = first ?? final + 1;
  if (from > final) return;
  let state = { ...open, network: network.key, from, through: from, comparedAtMs: 0, blocks: 0, transfers: 0 };
  await readAgain(night, { from, to: final }, async ({ throughNumber: through, blocks: read, differences }) => {
    state = { ...state, ...added(night, state, differences), through, comparedAtMs: clock.nowMs() };
    const received = read.reduce((sum, block) => sum + block.transfers.filter(isIncoming).length, 0);
    state = { ...state, blocks: state.blocks + read.length, transfers: state.transfers + received };
    await keep(night, state);
  });
  const { through, blocks, transfers, differences } = state;
  log.info({ network: network.key, from, through, blocks, transfers, differences }, 'final blocks compared');
}

/** Compares a range part by part, and rests after each. */
async function readAgain(
  night: Night,
  { from, to }: NumberRange,
  onPart: Parameters<typeof rereadBlocks>[0]['onPart'],
): Promise<void> {
  const { clock, signal } = night;
  let sinceMs = clock.nowMs();
  const act = { atMs: sinceMs, operator: 'quayside', command: 'nightly comparison', reason: null };
  await rereadBlocks({
    ...{ patienceMs: PATIENCE_MS, ...night, from, to, isCheck: true, act },
    async onPart(part) {
      await onPart(part);
      await clock.sleep(Math.min(clock.nowMs() - sinceMs, REST_MS_MAX), signal);
      await followedStatus(night);
      sinceMs = clock.nowMs();
    },
  });
}

function added(night: Night, { differs, differences, message }: Found, more: readonly RereadDifference[]): Found {
  const [first] = more;
  if (!first) return { differs, differences, message };
  const numbers = [...more.map(({ number }) => number), ...(differs ? [differs.from, differs.to] : [])];
  return {
    differs: { from: Math.min(...numbers), to: Math.max(...numbers) },
    differences: differences + more.length,
    message: message ?? textOf(night, first),
  };
}

function textOf({ network, chain }: Night, { kind, number, transfer }: RereadDifference): string {
  if (!transfer) return `the database holds another block ${number}`;
  const { tx, index, currency, units, to } = transfer;
  const decimals = network.tokens.find(({ symbol }) => symbol === currency)?.decimals ?? 0;
  const amount = `${formatUnits(units, decimals)} ${currency} to ${chain.address.format(to)}`;
  const what = `${amount} in block ${number}, transaction ${tx}, index ${index}`;
  return kind === 'unknown' ? `the node does not have ${what}` : `the database does not have ${what}`;
}

/** Saves how far it came, and raises or ends the alarm. */
async function keep({ database, clock }: ComparisonParts, comparison: BlockComparison): Promise<void> {
  const { network, differs, differences, message } = comparison;
  await database.blocks.recordComparison(comparison);
  const [key, atMs] = [alarmKey('comparison', network), clock.nowMs()];
  if (!differs) return void (await database.alarms.end(key, atMs));
  const reread = `quayside network reread ${network} --from ${differs.from} --to ${differs.to}`;
  await database.alarms.keep({
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
