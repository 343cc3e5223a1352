/** Shows how far the nodes of all networks are, until they are ready. */
import type { NetworkConfig } from '../../src/config/network.ts';
import { DAY_MS, systemClock } from '../../src/lib/clock.ts';
import { leftText, roughly } from '../nodes/sync-estimate.ts';
import type { SyncRow } from '../nodes/sync-watch.ts';
import { type Answer, type Input, type OfflineCommand, textOption, usage } from './command.ts';
import { nodeUrl, readSpan } from './node-check.ts';
import { untilStopped } from './output.ts';
import { listLines } from './table.ts';

const EVERY_MS = 15_000;
const FOR_MS_MAX = 90 * DAY_MS;

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
  const endMs = systemClock.nowMs() + (input.options.for ? readSpan(input, 'for', FOR_MS_MAX, '') : FOR_MS_MAX);
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
