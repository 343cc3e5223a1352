/**
 * Shows how far the nodes of all networks are, until they are ready.
 */
import { resolve } from 'node:path';
import type { NetworkConfig } from '../../src/config/network.ts';
import { DAY_MS, systemClock } from '../../src/lib/clock.ts';
import { type Forecast, forecast, type Room, readRoom } from '../nodes/disk-forecast.ts';
import { leftText, roughly } from '../nodes/sync-estimate.ts';
import type { SyncRow } from '../nodes/sync-watch.ts';
import { type Input, moment, type OfflineCommand, textOption, usage } from './command.ts';
import { nodeUrl } from './node-check.ts';
import { openProgressTable } from './progress.ts';
import { readSpan } from './since.ts';
import { table } from './table.ts';

const EVERY = '15s';
const EVERY_MS_MAX = 3_600_000;
const FOR_MS_MAX = 90 * DAY_MS;
const GIB = 1 << 30;

export const nodeSync: OfflineCommand = {
  name: 'network sync',
  args: [],
  optionalArgs: ['network'],
  summary: 'Show how far the nodes are, how fast, and how long it takes, until all are ready.',
  options: {
    url: { value: 'URL', help: 'the node of the network (default: the configured one)' },
    for: { value: 'TIME', help: 'end after this long, ready or not, such as 10m (default: never)' },
    every: { value: 'TIME', help: `how often to look (${EVERY})` },
    once: { help: 'look once; without a rate and a time left' },
    disk: { value: 'DIR', help: 'the folder of the nodes’ data, if it is on this machine: when its disk is full' },
  },
  notes: [
    'A node is ready when its newest block has been young for two minutes, or for as long as it was looked at. Times left',
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
    return watch(
      input,
      names.map((name) => readNetwork(input, name, own)),
    );
  },
};

async function watch(input: Input, networks: readonly NetworkConfig[]) {
  const { isReady, openSyncWatch } = await import('../nodes/sync-watch.ts');
  const everyMs = readSpan(input, 'every', EVERY_MS_MAX, EVERY);
  const endMs = systemClock.nowMs() + (input.options.for ? readSpan(input, 'for', FOR_MS_MAX, '') : FOR_MS_MAX);
  const folder = textOption(input, 'disk');
  const disk = folder === undefined ? null : resolve(input.cwd, folder);
  const readDisk = async () => (disk === null ? null : { disk, room: await readRoom(disk, systemClock.nowMs()) });
  const first = await readDisk();
  const watches = await Promise.all(networks.map((network) => openSyncWatch(network, systemClock)));
  const progress = openProgressTable(process.stderr);
  const stopped = new AbortController();
  const stop = () => stopped.abort();
  process.on('SIGINT', stop);
  try {
    for (;;) {
      const rows = await Promise.all(watches.map((one) => one.look()));
      const last = await readDisk();
      const room = first && last && { disk: first.disk, room: last.room, ...forecast(first.room, last.room) };
      const isDone = rows.every(isReady);
      const isLast = isDone || input.options.once === true || stopped.signal.aborted || systemClock.nowMs() >= endMs;
      const lines = syncLines(rows, room);
      if (isLast) return { json: syncJson(rows, room, isDone), lines, code: isDone ? (0 as const) : (1 as const) };
      progress.show(lines);
      await systemClock.sleep(Math.min(everyMs, Math.max(0, endMs - systemClock.nowMs())), stopped.signal);
    }
  } finally {
    process.off('SIGINT', stop);
    progress.end();
    await Promise.all(watches.map((one) => one.close()));
  }
}

type Disk = (Forecast & Readonly<{ disk: string; room: Room }>) | null;

const stateOf = ({ estimate, fault }: SyncRow): string =>
  fault !== null ? 'no answer' : (estimate?.state ?? 'measuring');

function syncLines(rows: readonly SyncRow[], disk: Disk): string[] {
  const cells = rows.map((row) => {
    const { network, sample, estimate } = row;
    return [
      network.key,
      stateOf(row),
      sample ? String(sample.number) : '-',
      estimate ? roughly(estimate.behindS * 1000) : '-',
      estimate?.blocksPerS == null ? '-' : `${estimate.blocksPerS.toFixed(1)}/s`,
      row.fault === null && estimate ? leftText(estimate) : '-',
      sample?.peers == null ? '-' : String(sample.peers),
    ];
  });
  return [
    ...table([['NETWORK', 'STATE', 'HEAD', 'BEHIND', 'BLOCKS', 'TIME LEFT', 'PEERS'], ...cells]),
    ...rows.flatMap(({ network, sample, fault }) => {
      const note = fault ?? sample?.phase;
      return note ? [`${network.key}: ${note}`] : [];
    }),
    ...(disk ? [diskLine(disk)] : []),
  ];
}

function diskLine({ disk, room, bytesPerDay, fullAtMs }: NonNullable<Disk>): string {
  const gib = (bytes: number): string => `${(bytes / GIB).toFixed(1)} GiB`;
  const free = `${disk}: ${gib(room.freeBytes)} of ${gib(room.totalBytes)} free`;
  if (bytesPerDay === null) return free;
  const rate = `${free}, ${bytesPerDay < 0 ? '+' : '−'}${gib(Math.abs(bytesPerDay))} a day while this ran`;
  return fullAtMs === null ? rate : `${rate}: full on ${moment(fullAtMs).slice(0, 10)}`;
}

const syncJson = (rows: readonly SyncRow[], disk: Disk, isReady: boolean) => ({
  ready: isReady,
  networks: rows.map((row) => ({
    network: row.network.key,
    state: stateOf(row),
    head: row.sample?.number ?? null,
    behind_s: row.estimate?.behindS ?? null,
    chain_s_per_s: row.estimate?.rate ?? null,
    blocks_per_s: row.estimate?.blocksPerS ?? null,
    left_ms_min: row.estimate?.left?.minMs ?? null,
    left_ms_max: row.estimate?.left?.maxMs ?? null,
    peers: row.sample?.peers ?? null,
    phase: row.sample?.phase ?? null,
    fault: row.fault,
  })),
  disk: disk && {
    folder: disk.disk,
    free_bytes: disk.room.freeBytes,
    bytes_per_day: disk.bytesPerDay,
    full_at: disk.fullAtMs === null ? null : moment(disk.fullAtMs),
  },
});
