/**
 * Compares one network's final blocks with the database. They are those that no night has compared, and are read again
 * from the node. A difference is an alarm until a person acknowledges it.
 */
import type { Chain } from '../src/chains/chain.ts';
import type { NetworkConfig } from '../src/config/network.ts';
import { Fault, transient } from '../src/core/fault.ts';
import { formatUnits } from '../src/core/money.ts';
import { isIncoming } from '../src/core/transfer.ts';
import type { BlockComparison } from '../src/database/blocks.ts';
import type { Database } from '../src/database/database.ts';
import { isFollowed, type NetworkRow } from '../src/database/networks.ts';
import type { RereadDifference } from '../src/database/recovery.ts';
import { type Clock, DAY_MS } from '../src/lib/clock.ts';
import type { Log } from '../src/lib/log.ts';
import { rereadBlocks } from './reread.ts';

/** The night ends after the node has failed for this long. */
const PATIENCE_MS = 600_000;
/** The process rests as long as it works, so that half of the node's time is left for the follower. */
const REST_MS_MAX = 5_000;

type ComparisonParts = Readonly<{
  network: NetworkConfig;
  chain: Chain;
  database: Database;
  clock: Clock;
  log: Log;
  patienceMs?: number;
}>;

type Night = ComparisonParts & Readonly<{ signal: AbortSignal }>;

/** Compares all blocks that are due. A fault of the node is logged, and the rest is left for the next night. */
export async function compareNetwork(parts: ComparisonParts, signal: AbortSignal): Promise<void> {
  const { network, database, log } = parts;
  try {
    const { tipNumber, floor } = await followedStatus(parts);
    if (tipNumber === null || floor <= 0) return;
    const before = (await database.blocks.listComparisons()).find((one) => one.network === network.key) ?? null;
    await compareNew({ ...parts, signal }, Math.min(floor, tipNumber), before);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    if (!signal.aborted) log.warn({ network: network.key, code: error.code }, `blocks not compared: ${error.message}`);
  }
}

/**
 * Returns the network's status, if it is followed. If it is not, its node has more urgent requests to answer.
 * @throws Fault transient `network_not_followed`
 */
async function followedStatus({ network: { key }, database, clock }: ComparisonParts): Promise<NetworkRow> {
  const status = await database.networks.find(key);
  if (status && isFollowed(status, clock.nowMs())) return status;
  throw transient('network_not_followed', `${key} is not followed`);
}

/**
 * Compares the blocks since the last night, or the last day's. Saves its progress after each part.
 * @param final the highest block number that was read and is final
 */
async function compareNew(night: Night, final: number, before: BlockComparison | null): Promise<void> {
  const { network, database, clock, log } = night;
  const { key } = network;
  const dayAgo = Math.max(0, final - Math.ceil(DAY_MS / network.blockTimeMs));
  const first = before ? before.through + 1 : (await database.blocks.rereadAnchor(key, dayAgo))?.number;
  const from = first ?? final + 1;
  if (from > final) return;
  let state = { network: key, from, through: from, comparedAtMs: 0, blocks: 0, transfers: 0, differences: 0 };
  await readAgain(night, { from, to: final }, async ({ throughNumber: through, blocks: read, differences }) => {
    const received = read.reduce((sum, block) => sum + block.transfers.filter(isIncoming).length, 0);
    if (differences.length > 0 && state.differences === 0) await raise(night, differences, final);
    state = {
      ...state,
      through,
      comparedAtMs: clock.nowMs(),
      blocks: state.blocks + read.length,
      transfers: state.transfers + received,
      differences: state.differences + differences.length,
    };
    await database.blocks.recordComparison(state);
  });
  const { through, blocks, transfers, differences } = state;
  log.info({ network: key, from, through, blocks, transfers, differences }, 'final blocks compared');
}

/** Compares a range part by part, with a rest after each. */
async function readAgain(
  night: Night,
  { from, to }: Readonly<{ from: number; to: number }>,
  onPart: Parameters<typeof rereadBlocks>[0]['onPart'],
): Promise<void> {
  const { clock, signal } = night;
  let sinceMs = clock.nowMs();
  const act = { atMs: sinceMs, operator: 'quayside', command: 'nightly comparison', reason: null };
  await rereadBlocks({
    patienceMs: PATIENCE_MS,
    ...night,
    from,
    to,
    isCheck: true,
    act,
    async onPart(part) {
      await onPart(part);
      await clock.sleep(Math.min(clock.nowMs() - sinceMs, REST_MS_MAX), signal);
      await followedStatus(night);
      sinceMs = clock.nowMs();
    },
  });
}

function textOf({ network, chain }: Night, { kind, number, transfer }: RereadDifference): string {
  if (!transfer) return `the database has another block ${number}`;
  const { tx, index, currency, units, to } = transfer;
  const decimals = network.tokens.find(({ symbol }) => symbol === currency)?.decimals ?? 0;
  const amount = `${formatUnits(units, decimals)} ${currency} to ${chain.address.format(to)}`;
  const what = `${amount} in block ${number}, transaction ${tx}, index ${index}`;
  return kind === 'unknown' ? `the node does not have ${what}` : `the database does not have ${what}`;
}

/** Raises the alarm of a night with the first part that differs. */
async function raise(night: Night, differences: readonly RereadDifference[], final: number): Promise<void> {
  const { database, clock } = night;
  const [first] = differences.toSorted((one, other) => one.number - other.number);
  if (!first) return;
  const { key: network } = night.network;
  const message =
    `blocks of ${network} from ${first.number} on differ between the chain and the database: ${textOf(night, first)}. ` +
    `\`quayside network reread ${network} --from ${first.number} --to ${final}\` shows each difference and adds missed ` +
    'transfers; acknowledge this alarm then';
  const code = 'comparison_differs';
  await database.alarms.raise({ atMs: clock.nowMs(), code, message, network, sessionId: null });
}
