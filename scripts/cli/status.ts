/** Shows the state of the installation: stores, networks, pools, rates, deliveries, payouts and open alarms. */

import { alarmJson } from '../../src/acts/alarms.ts';
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
import { freezeText } from './payouts.ts';
import { followedFindings, networkFacts, readPlaces, secondsSince } from './show-network.ts';
import { recordLines } from './table.ts';

const ALARMS_SHOWN = 10;
const RATES_TIMEOUT_MS = 2000;

/** The members of rows that people see, of lists that have more. */
const shown = {
  stores: ['id', 'status', 'created_at', 'name'],
  networks: ['network', 'state', 'head', 'cursor', 'lag', 'reported_s_ago'],
  comparison: ['network', 'through', 'compared_at', 'differences'],
};

/** One part of the state: its members for programs, and sentences about what needs somebody. */
type Part = Readonly<{ state: object; wrong: readonly string[] }>;

export const status: Command = {
  name: 'status',
  summary: 'Show the state of everything: stores, networks, pools, rates, webhooks, held money, payouts and alarms.',
  notes: ['`quayside doctor` says what is wrong with any of it.'],
  async run(_input, installation) {
    const parts = [receiving, payingOut, care].map((part) => part(installation));
    const [incoming, payouts, kept] = await Promise.all(parts);
    const { alarms } = installation.database;
    const open_alarms = (await alarms.listOpen()).map(alarmJson);
    const newest = (await alarms.list(ALARMS_SHOWN)).map(alarmJson);
    const wrong = [incoming, payouts, kept].flatMap((part) => part?.wrong ?? []);
    return {
      json: { ...incoming?.state, payouts: payouts?.state, ...kept?.state, open_alarms, alarms: newest },
      lines: [
        ...(wrong.length > 0 ? [...wrong, ''] : []),
        ...recordLines({ ...incoming?.state, ...payouts?.state, ...kept?.state }, shown),
        '',
        open_alarms.length > 0 ? 'open alarms:' : 'no open alarms',
        ...open_alarms.map(({ id, code, at, message }) => `${id} ${code}, ${at}: ${message}`),
      ],
    };
  },
};

/** Returns stores, networks and the rest that brings payments in. All networks of a family and mode share a pool. */
async function receiving({ config, database, clock }: Installation): Promise<Part> {
  const nowMs = clock.nowMs();
  const running = readServerFile(config.dataDir);
  const places = [...(await readPlaces(database, config.networks)).values()];
  const pools = await Promise.all(networkOfEachPool(config.networks).map((one) => readPool(database.addresses, one)));
  const { sessions, deliveriesWaiting, oldestWaitingMs, heldOpen } = await database.stats(nowMs);
  return {
    state: {
      server: running && { base_url: running.base_url, pid: running.pid, metrics_url: running.metrics_url },
      sessions,
      deliveries: { waiting: deliveriesWaiting, oldest_waiting_s: Math.floor(oldestWaitingMs / 1000) },
      held_money: heldOpen,
      stores: (await database.stores.list()).map(storeJson),
      networks: places.map((place) => networkFacts(place, nowMs)),
      pools: pools.map(({ family, mode, free, taken, isLow, nextIndex }) => {
        const next = isLow ? `derive and import addresses from ${nextIndex} on with \`quayside address-pool\`` : '';
        return { family, mode, free, taken, next };
      }),
      rates: ((running && (await readRates(running.metrics_url))) ?? []).map(
        ({ source, pairs, ageS: age_s, fresh, fault }) => ({ source, pairs, age_s, fresh, fault }),
      ),
    },
    wrong: [
      ...(running
        ? []
        : ['the server is not running; start it with `systemctl start quayside`, or `npm start` in a clone']),
      ...places.flatMap((place) => followedFindings(place, nowMs)).flatMap(linesOf),
      ...(heldOpen > 0 ? [`held money: ${heldOpen} waiting for your decision: \`quayside held list\``] : []),
    ],
  };
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

/** Returns waiting payouts with their reasons, wallet balances, and freezes. */
async function payingOut({ database, config, clock }: Installation): Promise<Part> {
  const nowMs = clock.nowMs();
  const engines = (await database.engines.list()).map(({ network, reason }) => ({ network, reason }));
  const freezes = await database.holds.list();
  return {
    state: {
      has_signer: config.signer !== null,
      engines,
      waiting: (await database.payouts.countOpen(nowMs)).map(({ network, code, count, oldestAtMs }) => {
        return { network, reason: code, payouts: count, oldest_s: secondsSince(oldestAtMs, nowMs) };
      }),
      wallets: (await database.wallets.balances()).map(({ network, role, key, units, low, readAtMs }) => {
        const assets = Object.entries(units).filter(([, value]) => value !== 0n);
        const holds = assets.map(([asset, value]) => coinText(config.networks, network, asset as Asset, value));
        const address = createAddressFormat(config)(network, key);
        return { network, wallet: role, address, holds, low, unread_minutes: unreadMinutes(readAtMs, nowMs) };
      }),
      frozen: freezes.map(({ frozenBy, sinceMs, ...freeze }) => {
        return { ...freeze, frozen_by: frozenBy, since: moment(sinceMs) };
      }),
    },
    wrong: [
      ...freezes.map((one) => `money out is FROZEN: ${freezeText(one)}`),
      ...engines.flatMap(({ network, reason }) =>
        reason ? [`payouts on ${network} are stopped: ${reason.code}: ${reason.message}`] : [],
      ),
    ],
  };
}

/**
 * Returns the last comparison and backup and, where several machines may do them, the holder of each job that one
 * process does at a time.
 */
async function care({ config, database }: Installation): Promise<Part> {
  const { newest, failure } = readBackupReport(config.dataDir);
  const leases = config.databaseUrl === null ? [] : await database.leases.list();
  const isHeard = (await database.alarms.listTargets()).some(isInformed);
  return {
    state: {
      comparison: (await database.blocks.listComparisons()).map(({ comparedAtMs, ...found }) => {
        return { ...found, compared_at: momentOrNull(comparedAtMs) };
      }),
      backup: {
        nightly: config.backup.nightly,
        newest: newest && {
          file: newest.file,
          made_at: moment(newest.made_at_ms),
          proved_at: moment(newest.proved_at_ms),
          sent_at: momentOrNull(newest.sent_at_ms),
        },
        failure: failure?.message ?? null,
      },
      leases: leases.map(({ name, holder, fence, isHeld, ageMs }) => {
        return {
          job: name,
          fence,
          for_s: Math.floor(ageMs / 1000),
          holder: isHeld ? holder : null,
          last_holder: holder,
        };
      }),
    },
    wrong: [
      ...(isHeard ? [] : ['alarms reach nobody: add a recipient in the dashboard, under Alarms']),
      ...(failure ? [`backup FAILED at ${moment(failure.at_ms)}: ${failure.message}`] : []),
      ...safetyWarnings(config).map(({ code, message }) => `warning: ${code}: ${message}`),
    ],
  };
}
