/** Nodes: checks one before an installation relies on it; shows how far all are, until they are ready. */
import { parseSpan } from '../../src/acts/times.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { DAY_MS, systemClock } from '../../src/lib/clock.ts';
import { exitCodeOf, type Finding, findingLines } from '../nodes/finding.ts';
import type { RepeatedCheck, RepeatedFinding } from '../nodes/repeated-check.ts';
import { leftText, roughly } from '../nodes/sync-estimate.ts';
import type { SyncRow } from '../nodes/sync-watch.ts';
import { type Answer, type Input, moment, type OfflineCommand, textOption, usage } from './command.ts';
import { untilStopped } from './output.ts';
import { listLines } from './table.ts';

const BLOCKS_WAITED = 3;
const HEAD_WAIT_MS_MIN = 5_000;
const HEAD_WAIT_MS_MAX = 60_000;
/** The longest outage after which everything must still be there, where no recipe says it. */
const OUTAGE_DAYS = 3;
const CHECKED_MS_MAX = 7 * DAY_MS;

export const nodeCheck: OfflineCommand = {
  name: 'network check',
  args: '<network>',
  summary: 'Prove that a node serves everything an indexer asks for.',
  options: {
    url: { value: 'URL', help: 'the node to check (default: the configured one)' },
    for: { value: 'TIME', help: 'repeat the check for this long, such as 30m; Ctrl-C ends it earlier (default: once)' },
  },
  notes: [
    'Checks chain and tokens, first block, version and coming forks, peers, newest block, transfers in two readings, ' +
      'history, final blocks and balances in them, batches, and announcements of new blocks. With --for, one check begins ' +
      'each 30 seconds, and the answer says how often each finding was seen. It needs no installation.',
    'Exit codes: 0 nothing is wrong, 1 warnings, 2 errors.',
  ],
  async runOffline(input) {
    const { readNetwork } = await import('../nodes/network.ts');
    const url = textOption(input, 'url');
    const network = readNetwork(input, String(input.args[0]), url === undefined ? undefined : nodeUrl(url));
    const { repeatCheck, progressText } = await import('../nodes/repeated-check.ts');
    const isOnce = input.options.for === undefined;
    const forMs = isOnce ? 0 : readSpan(input, 'for', CHECKED_MS_MAX);
    const headWaitMs = Math.min(Math.max(BLOCKS_WAITED * network.blockTimeMs, HEAD_WAIT_MS_MIN), HEAD_WAIT_MS_MAX);
    const onRound = (soFar: RepeatedCheck) =>
      isOnce ? undefined : input.progress.show(`${network.key}: ${progressText(soFar, forMs)}`);
    const checked = await untilStopped((stop) =>
      repeatCheck({ check: () => checkOnce(network, headWaitMs), forMs, clock: systemClock, stop, onRound }),
    );
    return answerOf(network, checked);
  },
};

function answerOf({ key, url }: NetworkConfig, { rounds, elapsedMs, findings }: RepeatedCheck): Answer {
  const worded = ({ text, times, lastMs, ...finding }: RepeatedFinding): Finding =>
    rounds === 1 || (times === rounds && finding.severity === 'ok')
      ? { ...finding, text }
      : { ...finding, text: `${text} (in ${times} of ${rounds} checks, last at ${moment(lastMs)})` };
  const checks = findings.map(({ area, lastMs, ...rest }) => {
    return { check: area, ...rest, last_at: new Date(lastMs).toISOString() };
  });
  return {
    json: { network: key, node: new URL(url).host, rounds, seconds: Math.round(elapsedMs / 1000), checks },
    lines: findingLines(findings.map(worded)),
    code: exitCodeOf(findings),
  };
}

/**
 * Checks the node at the network's `url`. Loads the clients of nodes, which few commands need.
 * @param headWaitMs how long to wait for a new block
 * @param oldestOf finds the oldest block that is needed; by default, after the outage that the network's recipe names
 */
export async function checkOnce(
  network: NetworkConfig,
  headWaitMs: number,
  oldestOf?: (head: Readonly<{ number: number }>) => number,
): Promise<Finding[]> {
  const [{ checkNode }, { readRecipes, recipeOf }] = await Promise.all([
    import('../nodes/check.ts'),
    import('../nodes/recipe.ts'),
  ]);
  const recipe = recipeOf(readRecipes(), network);
  const outageBlocks = Math.ceil(((recipe?.outage_days ?? OUTAGE_DAYS) * DAY_MS) / network.blockTimeMs);
  const afterOutage = ({ number }: Readonly<{ number: number }>) => Math.max(0, number - outageBlocks);
  return checkNode({ network, recipe, headWaitMs, oldestOf: oldestOf ?? afterOutage, clock: systemClock });
}

/** @throws Fault permanent `usage` */
export function nodeUrl(text: string): string {
  if (URL.canParse(text) && /^(ws|http)s?:$/.test(new URL(text).protocol)) return text;
  throw usage('the node’s address is not a ws://, wss://, http:// or https:// URL');
}

/**
 * Returns an option's time span in milliseconds, such as `90s`, `30m`, `2h` or `3d`.
 * @throws Fault permanent `usage`
 */
function readSpan(input: Input, name: string, msMax: number): number {
  const text = textOption(input, name) ?? '';
  const ms = parseSpan(text);
  if (ms > 0 && ms <= msMax) return ms;
  throw usage(`--${name} is "${text}", expected a time such as 90s, 30m or 2h, at most ${msMax / 3_600_000}h`);
}

const EVERY_MS = 15_000;
const WATCHED_MS_MAX = 90 * DAY_MS;

export const nodeSync: OfflineCommand = {
  name: 'network sync',
  args: '[network]',
  summary: 'Show how far the nodes are, and how fast, until all are ready.',
  options: {
    url: { value: 'URL', help: 'the node of the network (default: the configured one)' },
    for: { value: 'TIME', help: 'end after this long, ready or not, such as 10m (default: never)' },
  },
  notes: [
    'A node is ready when its newest block has been young for two minutes, or for as long as it was looked at. Times left ' +
      'are a range, from the fastest and the slowest part of the last ten minutes; there is none where nobody can know.',
    'Exit codes: 0 every node is ready; 1 otherwise, also after Ctrl-C; 2 wrong usage or settings.',
  ],
  async runOffline(input) {
    const { readNetwork, configuredNames } = await import('../nodes/network.ts');
    const [wanted] = input.args;
    const url = textOption(input, 'url');
    if (url !== undefined && wanted === undefined) throw usage('--url needs a network before it');
    const names = wanted === undefined ? configuredNames(input) : [wanted];
    const own = url === undefined ? undefined : nodeUrl(url);
    const networks = names.map((name) => readNetwork(input, name, own));
    return untilStopped((stop) => watch(input, networks, stop));
  },
};

async function watch(input: Input, networks: readonly NetworkConfig[], stop: AbortSignal): Promise<Answer> {
  const { isReady, openSyncWatch } = await import('../nodes/sync-watch.ts');
  const endMs = systemClock.nowMs() + (input.options.for ? readSpan(input, 'for', WATCHED_MS_MAX) : WATCHED_MS_MAX);
  const watches = await Promise.all(networks.map((network) => openSyncWatch(network, systemClock)));
  try {
    for (;;) {
      const rows = await Promise.all(watches.map((one) => one.look()));
      const isDone = rows.every(isReady);
      const isLast = isDone || stop.aborted || systemClock.nowMs() >= endMs;
      const lines = syncLines(rows);
      if (isLast) return { json: { ready: isDone, networks: rows.map(syncJson) }, lines, code: isDone ? 0 : 1 };
      input.progress.show(...lines);
      await systemClock.sleep(Math.min(EVERY_MS, Math.max(0, endMs - systemClock.nowMs())), stop);
    }
  } finally {
    await Promise.all(watches.map((one) => one.close()));
  }
}

const stateOf = ({ estimate, fault }: SyncRow): string =>
  fault !== null ? 'no answer' : (estimate?.state ?? 'measuring');

const syncLines = (rows: readonly SyncRow[]): string[] => [
  ...listLines(rows.map(syncJson), ['network', 'state', 'head', 'behind', 'blocks_per_s', 'left', 'peers']),
  ...rows.flatMap(({ network, sample, fault }) => {
    const note = fault ?? sample?.phase;
    return note ? [`${network.key}: ${note}`] : [];
  }),
];

const syncJson = (row: SyncRow) => ({
  network: row.network.key,
  state: stateOf(row),
  head: row.sample?.number ?? null,
  behind: row.estimate ? roughly(row.estimate.behindS * 1000) : null,
  behind_s: row.estimate?.behindS ?? null,
  chain_s_per_s: row.estimate?.rate ?? null,
  blocks_per_s: row.estimate?.blocksPerS == null ? null : Number(row.estimate.blocksPerS.toFixed(1)),
  left: row.fault === null && row.estimate ? leftText(row.estimate) : null,
  left_ms_min: row.estimate?.left?.minMs ?? null,
  left_ms_max: row.estimate?.left?.maxMs ?? null,
  peers: row.sample?.peers ?? null,
  phase: row.sample?.phase ?? null,
  fault: row.fault,
});
