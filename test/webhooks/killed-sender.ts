/**
 * The program that sends webhooks, killed again and again while events keep coming, and what a shop received from it.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { AWAIT_START } from '../../src/lib/start-signal.ts';
import { built } from '../support/built.ts';
import { secretKey } from '../support/temp-database.ts';
import { until } from '../support/until.ts';
import { type WebhookShop, webhookConfig } from '../support/webhook-shop.ts';

/** Events of each session: it is detected, paid in part, and completed. */
const EVENTS_EACH = 3;
const BATCH = 8;
/** More than usual: each start of the program takes a good part of its life. */
const PER_ENDPOINT_MAX = 32;
const LIFE_MS_MIN = 200;
const LIFE_MS_MAX = 2_000;
const KILLS_MIN = 2;

export type Wish = Readonly<{
  ms: number;
  eventsPerS: number;
  /** A number from 0 to 1. */
  random: () => number;
}>;

export type KilledRun = Readonly<{ kills: number; events: readonly Readonly<{ id: string; body: string }>[] }>;

/** Starts the program as the supervisor does. */
export function startSender(file: string): ChildProcess {
  const dataDir = dirname(file);
  writeFileSync(join(dataDir, 'secret.key'), Buffer.from(secretKey).toString('hex'), { mode: 0o600 });
  const child = fork(built('src/webhooks/main.ts'), {
    env: { ...process.env, [AWAIT_START]: '1' },
    serialization: 'advanced',
  });
  const webhooks = { ...webhookConfig, perEndpointMax: PER_ENDPOINT_MAX };
  const config = { dataDir, logLevel: 'error', limits: { storageBytesMax: null }, webhooks };
  child.send({ start: true, with: config });
  return child;
}

/** Creates sessions and pays them in two parts, until `ms` have passed. */
async function keepPaying({ chain, database, order }: WebhookShop, { ms, eventsPerS }: Wish): Promise<void> {
  const batchMs = (BATCH * EVENTS_EACH * 1000) / eventsPerS;
  const rounds = Math.ceil(ms / batchMs);
  const keys = Array.from({ length: rounds * BATCH }, (_, n) => n.toString(16).padStart(40, 'a'));
  for (let at = 0; at < keys.length; at += 500) {
    const some = keys.slice(at, at + 500);
    await database.addresses.add({ family: 'evm', mode: 'test', source: 'test', firstIndex: 500 + at, keys: some });
  }
  const beganAtMs = performance.now();
  for (let round = 0; round < rounds; round++) {
    const sessions = [];
    for (let n = 0; n < BATCH; n++) sessions.push(await order());
    for (const units of [4_000_000n, 6_000_000n]) {
      const coins = sessions.map(({ addresses }) => ({ to: addresses.evm ?? '', currency: 'USDT' as const, units }));
      await chain.confirm(await chain.mine(coins));
    }
    await wait(Math.max(0, beganAtMs + (round + 1) * batchMs - performance.now()));
  }
}

/** Sends to the shop's endpoints while the program is killed at random, then until nothing waits. */
export async function runKilled(shop: WebhookShop, wish: Wish): Promise<KilledRun> {
  let isPaying = true;
  const paying = keepPaying(shop, wish).finally(() => {
    isPaying = false;
  });
  let kills = 0;
  // On a busy machine a start may take as long as everything is paid.
  while (isPaying || kills < KILLS_MIN) {
    const child = startSender(shop.file);
    // Its first sign of life; it may be killed before it is ready.
    await once(child, 'message');
    await wait(LIFE_MS_MIN + wish.random() * (LIFE_MS_MAX - LIFE_MS_MIN));
    child.kill('SIGKILL');
    await once(child, 'exit');
    kills++;
  }
  await paying;
  const last = startSender(shop.file);
  // Before that, a SIGTERM ends it like any program.
  await once(last, 'message');
  const { reports } = shop.database;
  const waitingNow = async () => (await reports.stats(shop.clock.nowMs())).deliveriesWaiting;
  // After a long run on a busy machine many wait; it fails when none of them is sent any more.
  for (let before = await waitingNow(); before > 0; before = await waitingNow()) {
    await until('fewer events wait', async () => (await waitingNow()) < before);
  }
  last.kill('SIGTERM');
  const [code] = await once(last, 'exit');
  if (code !== 0) throw new Error(`the program ended with ${code} after SIGTERM`);
  const client = new Sqlite(shop.file, { readonly: true });
  const events = client.prepare('SELECT id, body FROM events ORDER BY id').all() as KilledRun['events'];
  client.close();
  return { kills, events };
}
