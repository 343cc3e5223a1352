/**
 * Metrics for Prometheus. Facts of the database are read at each scrape. Only requests and writes are measured as they
 * happen.
 */
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { networkOfEachPool, readPool } from '../addresses/pool-level.ts';
import type { Answered } from '../api/endpoint.ts';
import type { Config } from '../config/config.ts';
import type { Database } from '../database/database.ts';
import type { WriteMeasure } from '../database/engine/write-queue.ts';
import type { NetworkState } from '../database/networks.ts';
import type { Clock } from '../lib/clock.ts';
import type { Rates } from '../rates/rates.ts';
import { readBackupReport } from './backup/report.ts';
import { readRoom } from './watches/disk.ts';

/** Limits of the buckets of request times, in seconds. */
const requestBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const writeBuckets = [0.001, 0.0025, ...requestBuckets];
const states: readonly NetworkState[] = ['starting', 'following', 'behind', 'fault', 'halted'];

type MetricsOptions = Readonly<{
  database: Database;
  config: Pick<Config, 'networks' | 'dataDir'>;
  rates: Pick<Rates, 'status' | 'pegs'>;
  clock: Clock;
}>;

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics({ database, config, rates, clock }: MetricsOptions) {
  const registry = new Registry();
  // Memory, garbage collection, open handles and the event loop's lag.
  collectDefaultMetrics({ register: registry });
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Gauge({ name: `quayside_${name}`, help, labelNames, registers: [registry] });

  const histogram = (name: string, help: string, buckets: number[], labelNames: readonly string[] = []) =>
    new Histogram({ name: `quayside_${name}`, help, labelNames, buckets, registers: [registry] });

  const labels = ['route', 'method', 'status'];
  const requests = histogram('request_duration_seconds', 'Requests to the API.', requestBuckets, labels);
  const write = {
    wait: histogram('write_wait_seconds', 'Wait of the server’s writes for other writes.', writeBuckets),
    held: histogram('write_seconds', 'Time that the server’s write transactions had the lock.', writeBuckets),
  };
  const network = {
    state: gauge('network_state', '1 for the state that the network is in.', ['network', 'state']),
    lag: gauge('network_lag_blocks', 'Blocks between head and cursor.', ['network']),
    connected: gauge('network_node_connected', '1 while the push connection to the node is up.', ['network']),
    heardAge: gauge('network_node_heard_age_seconds', 'Time since the node last sent anything.', ['network']),
    reportAge: gauge('network_report_age_seconds', 'Time since the indexer last reported.', ['network']),
  };
  const pool = {
    free: gauge('pool_free_addresses', 'Addresses that new sessions can take.', ['family', 'mode']),
    taken: gauge('pool_taken_addresses', 'Addresses that sessions have taken.', ['family', 'mode']),
  };
  const rate = {
    age: gauge('rate_age_seconds', 'Age of the newest rate of a source.', ['source']),
    fresh: gauge('rate_fresh', '1 while a source’s rates are fresh enough to use.', ['source']),
  };
  const coinPrice = gauge('coin_price_dollars', 'Value of a stablecoin in dollars, by the sources of rates.', [
    'currency',
  ]);
  const diskFree = gauge('disk_free_bytes', 'Free bytes on the disk of the database.');
  const databaseSize = gauge('database_bytes', 'Size of the database and its journal.');
  const backupMade = gauge('backup_made_timestamp_seconds', 'Time of the newest proved backup; 0 when there is none.');
  const openAlarms = gauge('alarm_open', '1 while a lasting alarm is open.', ['code', 'key']);
  const sessions = gauge('sessions', 'Sessions by status, counted up to 10,000 each.', ['status']);
  const paidOfDay = gauge('sessions_paid_day', 'Paid sessions of the last 24 hours, up to 10,000.');
  const retention = gauge('retention_timestamp_seconds', 'Time of the last removal of old data; 0 if never.');
  const waiting = gauge('deliveries_waiting', 'Webhook deliveries that are not delivered yet.');
  const oldestWaiting = gauge('delivery_oldest_wait_seconds', 'Wait of the oldest delivery that is not delivered yet.');
  const heldOpen = gauge('held_money_open', 'Amounts of held money that wait for an operator’s decision.');
  const frozen = gauge('payouts_frozen', '1 while money out is frozen; network "" stands for every network.', [
    'network',
  ]);
  const lastAlarm = gauge('last_alarm_timestamp_seconds', 'Time of the newest alarm; 0 when there is none.');

  async function readNetworks(nowMs: number): Promise<void> {
    const reports = new Map((await database.networks.list()).map((report) => [report.key, report]));
    for (const part of Object.values(network)) part.reset();
    for (const { key } of config.networks) {
      const report = reports.get(key);
      for (const state of states) network.state.set({ network: key, state }, report?.state === state ? 1 : 0);
      if (!report) continue;
      const { headNumber, tipNumber, nodeConnected, nodeHeardAtMs, updatedAtMs } = report;
      const labels = { network: key };
      network.connected.set(labels, nodeConnected ? 1 : 0);
      network.reportAge.set(labels, (nowMs - updatedAtMs) / 1000);
      if (nodeHeardAtMs > 0) network.heardAge.set(labels, (nowMs - nodeHeardAtMs) / 1000);
      if (headNumber !== null && tipNumber !== null) network.lag.set(labels, Math.max(0, headNumber - tipNumber));
    }
  }

  async function readPools(): Promise<void> {
    for (const network of networkOfEachPool(config.networks)) {
      const { family, mode, free, taken } = await readPool(database.addresses, network);
      pool.free.set({ family, mode }, free);
      pool.taken.set({ family, mode }, taken);
    }
  }

  async function readWork(nowMs: number): Promise<void> {
    const stats = await database.stats(nowMs);
    for (const [status, count] of Object.entries(stats.sessions)) sessions.set({ status }, count);
    paidOfDay.set(stats.paidOfDay);
    waiting.set(stats.deliveriesWaiting);
    oldestWaiting.set(stats.oldestWaitingMs / 1000);
    heldOpen.set(stats.heldOpen);
    retention.set((stats.retentionAtMs ?? 0) / 1000);
    frozen.reset();
    for (const { network: of } of await database.holds.list()) frozen.set({ network: of ?? '' }, 1);
    const [alarm] = await database.alarms.list(1);
    lastAlarm.set((alarm?.atMs ?? 0) / 1000);
    openAlarms.reset();
    for (const { code, key } of await database.alarms.listOpen()) openAlarms.set({ code, key: key ?? '' }, 1);
  }

  async function readDisk(): Promise<void> {
    const { freeBytes, usedBytes } = await readRoom(config.dataDir);
    diskFree.set(freeBytes);
    databaseSize.set(usedBytes);
    backupMade.set((readBackupReport(config.dataDir).newest?.made_at_ms ?? 0) / 1000);
  }

  return {
    observe({ route, method, status, ms }: Answered): void {
      requests.observe({ route: route ?? 'none', method, status }, ms / 1000);
    },
    observeWrite({ waitedMs, heldMs }: WriteMeasure): void {
      write.wait.observe(waitedMs / 1000);
      write.held.observe(heldMs / 1000);
    },
    /**
     * Reads everything from the database.
     * @returns the text in Prometheus' exposition format
     * @throws Fault `storage_unavailable`
     */
    async read() {
      const nowMs = clock.nowMs();
      sessions.reset();
      await Promise.all([readNetworks(nowMs), readPools(), readWork(nowMs), readDisk()]);
      for (const { source, ageS, fresh } of rates.status()) {
        if (ageS !== null) rate.age.set({ source }, ageS);
        rate.fresh.set({ source }, fresh ? 1 : 0);
      }
      coinPrice.reset();
      for (const { currency, price } of rates.pegs()) if (price !== null) coinPrice.set({ currency }, Number(price));
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}
