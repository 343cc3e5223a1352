/**
 * Shows the state of the installation: networks, pools, rates, deliveries, payouts and alarms.
 */

import { WHILE_EMPTY } from '../../src/addresses/pool-keeper.ts';
import { networkOfEachPool, type PoolReport, readPool } from '../../src/addresses/pool-level.ts';
import { safetyWarnings } from '../../src/app/safety-warnings.ts';
import { readServerFile } from '../../src/app/server-file.ts';
import { isSenderSilent, type SenderReport } from '../../src/database/sender-report.ts';
import type { SourceStatus } from '../../src/rates/rates.ts';
import { alarmLines, alarmShown } from './alarms.ts';
import { backupStatus } from './backup-status.ts';
import type { Command, Installation } from './command.ts';
import { comparisonStatus } from './comparison-status.ts';
import { noticeStatus } from './notice-status.ts';
import { payoutStatus } from './payout-status.ts';
import { networkFacts, readPlaces, secondsSince } from './show-network.ts';
import { table } from './table.ts';

type NetworkFacts = ReturnType<typeof networkFacts>;

const ALARMS_SHOWN = 10;
const RATES_TIMEOUT_MS = 2000;

export const status: Command = {
  name: 'status',
  args: [],
  summary: 'Show networks, address pools, rates, waiting webhooks, held money, payouts and alarms.',
  options: {},
  needsSandbox: true,
  async run(_input, installation) {
    const { database, config, clock } = installation;
    const nowMs = clock.nowMs();
    const running = readServerFile(config.dataDir);
    const places = [...(await readPlaces(database, config.networks)).values()];
    const networks = places.map((place) => networkFacts(place, nowMs));
    const pools = await readPools(installation);
    const rates = running && (await readRates(running.metrics_url));
    const { sessions, deliveriesWaiting, oldestWaitingMs, heldOpen } = await database.reports.stats(nowMs);
    const sender = senderLine(await database.sending.lastReport(), nowMs);
    const payouts = await payoutStatus(installation);
    const comparison = await comparisonStatus(installation);
    const backups = backupStatus(installation);
    const unfinished = await readUnfinished(database);
    const notices = noticeStatus(await database.notices.listTargets());
    const alarms = await database.alarms.list(ALARMS_SHOWN);
    const open = await database.alarms.listOpen();
    const others = alarms.filter((alarm) => !open.some(({ id }) => id === alarm.id));
    return {
      json: {
        server: running && { pid: running.pid, base_url: running.base_url, metrics_url: running.metrics_url },
        networks,
        pools: pools.map(({ family, mode, free, taken, isLow }) => ({ family, mode, free, taken, low: isLow })),
        rates,
        sessions,
        deliveries: { waiting: deliveriesWaiting, oldest_waiting_s: Math.floor(oldestWaitingMs / 1000) },
        webhook_sender: sender.json,
        held_money: heldOpen,
        ...unfinished.json,
        payouts: payouts.json,
        comparison: comparison.json,
        notices: notices.json,
        backup: backups.json,
        open_alarms: open.map(alarmShown),
        alarms: alarms.map(alarmShown),
        warnings: safetyWarnings(config),
      },
      lines: [
        running
          ? `server ${running.base_url} (pid ${running.pid})`
          : 'the server is not running; start it with `npm start`',
        '',
        ...networkTable(networks),
        ...networks.flatMap(networkNotes),
        '',
        ...table([
          ['POOL', 'FREE', 'TAKEN', ''],
          ...pools.map((pool) => [
            `${pool.mode} ${pool.family}`,
            String(pool.free),
            String(pool.taken),
            poolAdvice(pool),
          ]),
        ]),
        '',
        ...(rates ?? []).map(rateLine),
        `sessions: ${countsText(sessions)}`,
        `webhooks waiting: ${deliveriesWaiting}${deliveriesWaiting ? `, the oldest for ${Math.floor(oldestWaitingMs / 1000)} s` : ''}`,
        sender.line,
        ...(heldOpen ? [`held money: ${heldOpen} waiting for your decision: \`quayside held list\``] : []),
        ...unfinished.lines,
        ...payouts.lines,
        ...comparison.lines,
        notices.line,
        ...backups.lines,
        ...safetyWarnings(config).map(({ code, message }) => `warning: ${code}: ${message}`),
        ...(open.length ? ['', 'open alarms:', ...open.flatMap(alarmLines)] : ['no open alarms']),
        ...(others.length ? ['', 'newest other alarms:', ...others.flatMap(alarmLines)] : []),
      ],
    };
  },
};

/** Stores, and a rotation of the secret key, that need somebody. */
async function readUnfinished(database: Installation['database']) {
  const suspended = await database.stores.listSuspended();
  const waiting = (await database.stores.list())
    .filter(({ status, refusal }) => status === 'pending' && !refusal)
    .map(({ id }) => id);
  return {
    json: {
      suspended_stores: suspended,
      waiting_stores: waiting,
    },
    lines: [
      ...waiting.map((id) => `store ${id} waits for you: \`quayside store set ${id} --decide approve\`, or refuse it`),
      ...suspended.map((id) => `store ${id} is suspended: \`quayside store set ${id} --decide resume\` ends it`),
    ],
  };
}

/** What was skipped on a network, and what to do if it does not go on. */
const networkNotes = ({ network, gaps, next }: NetworkFacts): string[] => [
  ...gaps.map(({ from, to }) => `${network}: blocks ${from} to ${to} were skipped; payments in them are not seen`),
  ...(next === null ? [] : [`${network}: ${next}`]),
];

const networkTable = (networks: readonly NetworkFacts[]): string[] =>
  table([
    ['NETWORK', 'STATE', 'HEAD', 'CURSOR', 'LAG', 'NODE', 'REPORTED', 'REASON'],
    ...networks.map((one) => [
      one.network,
      one.state,
      String(one.head ?? '-'),
      String(one.cursor ?? '-'),
      String(one.lag ?? '-'),
      one.node_connected ? 'connected' : 'not connected',
      one.reported_s_ago === null ? 'never' : `${one.reported_s_ago} s ago`,
      one.reason ? `${one.reason.code}: ${one.reason.message}` : '',
    ]),
  ]);

const countsText = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ') || 'none';

function senderLine(report: SenderReport | null, nowMs: number) {
  const json = report && {
    pid: report.pid,
    under_way: report.underWay,
    attempts: report.attempts,
    reported_s_ago: secondsSince(report.atMs, nowMs),
  };
  const silent = 'webhooks are not being sent; start Quayside with `npm start`, or look for `webhooks` in its log';
  if (json === null || isSenderSilent(report, nowMs)) return { json, line: silent };
  const { delivered, retry, failed } = json.attempts;
  const since = `since its start ${delivered} delivered, ${retry} to retry, ${failed} refused`;
  return { json, line: `webhook sender (pid ${json.pid}): ${json.under_way} under way; ${since}` };
}

/** Reads the pool of each family and mode, which all networks of that family and mode share. */
const readPools = ({ database, config }: Installation): Promise<PoolReport[]> =>
  Promise.all(networkOfEachPool(config.networks).map((network) => readPool(database, network)));

/** Returns how a person fills a pool that is not derived here. */
export const importMore = (nextIndex: number): string =>
  `derive and import addresses from ${nextIndex} on with \`quayside address-pool\``;

/** Returns what a pool's level means and what to do about it; empty if nothing. */
const poolAdvice = ({ free, isLow, nextIndex }: PoolReport): string =>
  [...(free === 0 ? [`EMPTY: ${WHILE_EMPTY}`] : []), ...(isLow ? [importMore(nextIndex)] : [])].join('; ');

/** Fetches the rates, which are in the server's memory, from its metrics listener. Null if it does not answer. */
export async function readRates(metricsUrl: string): Promise<readonly SourceStatus[] | null> {
  try {
    const answer = await fetch(`${metricsUrl}/rates`, { signal: AbortSignal.timeout(RATES_TIMEOUT_MS) });
    return answer.ok ? ((await answer.json()) as SourceStatus[]) : null;
  } catch {
    // A status without rates is still useful.
    return null;
  }
}

export function rateLine({ source, ageS, fresh, pairs, fault }: SourceStatus): string {
  const age =
    ageS === null ? 'no answer yet' : `${pairs} rates, the newest ${ageS} s old${fresh ? '' : ' (too old to use)'}`;
  return `rates ${source}: ${age}${fault ? `; ${fault}` : ''}`;
}
