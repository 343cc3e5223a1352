/** Shows the state of the installation: stores, networks, pools, rates, deliveries, payouts and open alarms. */

import { alarmJson, alarmShown } from '../../src/acts/alarms.ts';
import { storeJson } from '../../src/acts/store-decisions.ts';
import { networkOfEachPool, readPool } from '../../src/addresses/pool-level.ts';
import { readBackupReport } from '../../src/app/backup/report.ts';
import { readServerFile } from '../../src/app/server-file.ts';
import { safetyWarnings } from '../../src/app/startup-banner.ts';
import { coinText } from '../../src/chains/coin-text.ts';
import type { Asset } from '../../src/core/ledger.ts';
import { unreadMinutes } from '../../src/core/wallet-books.ts';
import { isInformed } from '../../src/database/alarms.ts';
import { createAddressFormat } from '../../src/payments/destination.ts';
import type { SourceStatus } from '../../src/rates/rates.ts';
import { linesOf } from '../nodes/finding.ts';
import { type Command, type Installation, moment, momentOrNull } from './command.ts';
import { freezeText } from './payout-freeze.ts';
import { gapFindings, networkFacts, networkFinding, secondsSince } from './show-network.ts';
import { readPlaces } from './show-scene.ts';
import { listLines } from './table.ts';

const ALARMS_SHOWN = 10;
const RATES_TIMEOUT_MS = 2000;

/** One part of the state: its members of the answer for programs, and its lines for people. */
type Part = Readonly<{ json: object; lines: readonly string[] }>;

/** Returns a part that is a list; nothing of it is shown where it is empty. */
const listed = <T extends object>(name: string, rows: readonly T[], shown?: readonly (keyof T & string)[]): Part => ({
  json: { [name]: rows },
  lines: rows.length === 0 ? [] : [...listLines(rows, shown), ''],
});

export const status: Command = {
  name: 'status',
  summary: 'Show the state of everything: stores, networks, pools, rates, webhooks, held money, payouts and alarms.',
  notes: ['`quayside doctor` says what is wrong with any of it.'],
  needsSandbox: true,
  async run(_input, installation) {
    const read = [serverPart, storesPart, networksPart, poolsPart, ratesPart, paymentsPart, payoutsPart, leasesPart];
    const parts = await Promise.all([...read, carePart, alarmsPart].map((part) => part(installation)));
    return {
      json: Object.assign({}, ...parts.map(({ json }) => json)),
      lines: parts.flatMap(({ lines }) => lines),
    };
  },
};

async function serverPart({ config }: Installation): Promise<Part> {
  const running = readServerFile(config.dataDir);
  if (!running) return { json: { server: null }, lines: ['the server is not running; start it with `npm start`', ''] };
  const { pid, base_url, metrics_url } = running;
  return { json: { server: { pid, base_url, metrics_url } }, lines: [`server ${base_url} (pid ${pid})`, ''] };
}

const storesPart = async ({ database }: Installation): Promise<Part> =>
  listed('stores', (await database.stores.list()).map(storeJson), ['id', 'status', 'created_at', 'name']);

async function networksPart({ config, database, clock }: Installation): Promise<Part> {
  const nowMs = clock.nowMs();
  const places = [...(await readPlaces(database, config.networks)).values()];
  const findings = places.flatMap((place) => [networkFinding(place, nowMs), ...gapFindings(place, -1)]);
  const wrong = findings.filter(({ severity }) => severity !== 'ok');
  const networks = places.map((place) => networkFacts(place, nowMs));
  const { json, lines } = listed('networks', networks, ['network', 'state', 'head', 'cursor', 'lag', 'reported_s_ago']);
  return { json, lines: [...lines, ...wrong.flatMap(linesOf)] };
}

/** All networks of a family and mode share a pool. */
async function poolsPart({ config, database }: Installation): Promise<Part> {
  const reports = networkOfEachPool(config.networks).map((network) => readPool(database.addresses, network));
  const pools = (await Promise.all(reports)).map(({ family, mode, free, taken, isLow, nextIndex }) => {
    const next = isLow ? `derive and import addresses from ${nextIndex} on with \`quayside address-pool\`` : '';
    return { family, mode, free, taken, next };
  });
  return listed('pools', pools);
}

async function ratesPart({ config }: Installation): Promise<Part> {
  const running = readServerFile(config.dataDir);
  const rates = (running && (await readRates(running.metrics_url))) ?? [];
  return listed('rates', rates, ['source', 'pairs', 'ageS', 'fresh', 'fault']);
}

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

async function paymentsPart({ database, clock }: Installation): Promise<Part> {
  const nowMs = clock.nowMs();
  const { sessions, deliveriesWaiting: waiting, oldestWaitingMs, heldOpen } = await database.reports.stats(nowMs);
  const counts = Object.entries(sessions).flatMap(([name, count]) => (count === 0 ? [] : [`${count} ${name}`]));
  const oldestS = Math.floor(oldestWaitingMs / 1000);
  return {
    json: {
      sessions,
      deliveries: { waiting, oldest_waiting_s: oldestS },
      held_money: heldOpen,
    },
    lines: [
      `sessions: ${counts.join(', ') || 'none'}`,
      `webhooks waiting: ${waiting}${waiting ? `, the oldest for ${oldestS} s` : ''}`,
      ...(heldOpen ? [`held money: ${heldOpen} waiting for your decision: \`quayside held list\``] : []),
      '',
    ],
  };
}

/** Waiting payouts with their reasons, wallet balances, and freezes. */
async function payoutsPart({ database, config, clock }: Installation): Promise<Part> {
  const nowMs = clock.nowMs();
  const [engines, counted, balances, freezes] = await Promise.all([
    database.engines.list(),
    database.payouts.countOpen(nowMs),
    database.wallets.balances(),
    database.holds.list(),
  ]);
  const waiting = counted.map(({ network, code, count, oldestAtMs }) => {
    return { network, reason: code, payouts: count, oldest_s: secondsSince(oldestAtMs, nowMs) };
  });
  const wallets = balances.map(({ network, role, key, units, low, readAtMs }) => {
    const assets = Object.entries(units).filter(([, value]) => value !== 0n);
    const holds = assets.map(([asset, value]) => coinText(config.networks, network, asset as Asset, value));
    const address = createAddressFormat(config)(network, key);
    return { network, wallet: role, address, holds, low, unread_minutes: unreadMinutes(readAtMs, nowMs) };
  });
  const frozen = freezes.map(({ frozenBy, sinceMs, ...freeze }) => {
    return { ...freeze, frozen_by: frozenBy, since: moment(sinceMs) };
  });
  const shown = engines.map(({ network, reason }) => ({ network, reason }));
  return {
    json: { payouts: { has_signer: config.signer !== null, engines: shown, waiting, wallets, frozen } },
    lines: [
      ...freezes.map((one) => `money out is FROZEN: ${freezeText(one)}`),
      ...listed('waiting', waiting).lines,
      ...shown.flatMap(({ network, reason }) =>
        reason ? [`payouts on ${network} are stopped: ${reason.code}: ${reason.message}`] : [],
      ),
      ...listed('wallets', wallets).lines,
    ],
  };
}

/** The holder of each job that one process does at a time; shown where several machines may do it. */
async function leasesPart({ config, database }: Installation): Promise<Part> {
  const leases = (await database.leases.list()).map(({ name, holder, fence, isHeld, ageMs }) => {
    return { job: name, fence, for_s: Math.floor(ageMs / 1000), holder: isHeld ? holder : null, last_holder: holder };
  });
  const { json, lines } = listed('leases', leases);
  return { json, lines: config.databaseUrl === null ? [] : lines };
}

/** The last comparison and backup, whether somebody hears of alarms, and unsafe settings. */
async function carePart({ config, database }: Installation): Promise<Part> {
  const comparison = (await database.blocks.listComparisons()).map(({ comparedAtMs, ...found }) => {
    const result = found.differences > 0 ? `DIFFERENCES: ${found.differences}` : 'no difference';
    return { ...found, compared_at: momentOrNull(comparedAtMs), result };
  });
  const isHeard = (await database.alarms.listTargets()).some(isInformed);
  const { newest, failure } = readBackupReport(config.dataDir);
  const made = newest && {
    file: newest.file,
    made_at: moment(newest.made_at_ms),
    proved_at: moment(newest.proved_at_ms),
    sent_at: momentOrNull(newest.sent_at_ms),
  };
  return {
    json: {
      comparison,
      backup: { nightly: config.backup.nightly, newest: made, failure: failure?.message ?? null },
    },
    lines: [
      ...listed('comparison', comparison, ['network', 'through', 'compared_at', 'result']).lines,
      ...(isHeard ? [] : ['alarms reach nobody: add a recipient in the dashboard, under Alarms']),
      ...(made ? [`backup: newest of ${made.made_at}, proved at ${made.proved_at}`] : []),
      ...(failure ? [`backup FAILED at ${moment(failure.at_ms)}: ${failure.message}`] : []),
      ...safetyWarnings(config).map(({ code, message }) => `warning: ${code}: ${message}`),
    ],
  };
}

async function alarmsPart({ database }: Installation): Promise<Part> {
  const [open, newest] = await Promise.all([database.alarms.listOpen(), database.alarms.list(ALARMS_SHOWN)]);
  return {
    json: { open_alarms: open.map(alarmJson), alarms: newest.map(alarmJson) },
    lines: open.length > 0 ? ['', 'open alarms:', ...listLines(open.map(alarmJson), alarmShown)] : ['no open alarms'],
  };
}
