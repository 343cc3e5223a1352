/**
 * Two servers on one PostgreSQL database take 25 orders a second, while either is killed and connections end. Run by
 * `npm test -- --postgres`; without a server, all is skipped.
 *
 *   SERVERS_S=300 npm test -- --postgres servers.slow      five minutes of it
 */
import { randomInt } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Pool } from 'pg';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openPool } from '../../src/database/engine/postgres-server.ts';
import { keyOf } from '../e2e/simulated-network.ts';
import type { Json } from '../support/instance.ts';
import { type Machine, openMachines, serverOf, startMachine } from '../support/machines.ts';
import { copyTemplate } from '../support/postgres.ts';
import { signedClient } from '../support/signed-client.ts';
import { until } from '../support/until.ts';

const folder = process.env.TEST_POSTGRES ?? '';
const test = suite('servers');
const onServer = folder === '' ? test.skip : test;

const SECONDS = Number(process.env.SERVERS_S ?? 12);
const EACH_SECOND = 25;
const KILL_MS = 5_000;
const CUT_MS = 700;
/** Orders that wait for their answer; on a machine that is slower than they come, they come slower. */
const WAITING_MAX = 100;
const TRY_AGAIN_MS = 200;
/** Every so many sessions are paid. */
const PAID_EACH = 10;
const UNITS = 10_000_000n;

/** Makes load: an order at a time of each lane, tried at both machines until it is answered. */
function createShop(bench: Awaited<ReturnType<typeof openMachines>>, machines: readonly Machine[]) {
  const idsOf = new Map<string, Set<string>>();
  const refused = new Map<string, number>();
  const tookMs: number[] = [];
  let tries = 0;

  /** @returns the session; null if the client may call again */
  async function create(machine: Machine, orderId: string): Promise<Json | null> {
    tries++;
    const order = { amount: 1000, currency: 'USD', order_id: orderId, expires_in: 3600 };
    // A server that was started again has another port.
    const { base_url: baseUrl } = serverOf(machine);
    const answer = await signedClient(bench.credentials({ ...machine, baseUrl }))
      .send('POST', '/api/v1/checkout/sessions/create', order)
      .catch((error: Error & { code?: string }) => error);
    if (!(answer instanceof Error) && answer.status === 200) return answer.json;
    const why = answer instanceof Error ? (answer.code ?? answer.message) : String((answer.json as Json)?.error?.code);
    refused.set(why, (refused.get(why) ?? 0) + 1);
    if (!(answer instanceof Error)) assert.is(answer.status, 503, answer.text);
    return null;
  }

  async function order(number: number): Promise<void> {
    const [orderId, askedAtMs] = [`order-${number}`, performance.now()];
    const ids = new Set<string>();
    idsOf.set(orderId, ids);
    for (let at = number; ; at++) {
      const session = await create(machines[at % machines.length] as Machine, orderId);
      if (!session) {
        await wait(TRY_AGAIN_MS);
        continue;
      }
      if (ids.size === 0) tookMs.push(performance.now() - askedAtMs);
      ids.add(session.id);
      // An answer may be lost on its way to the client, who then calls again.
      if (randomInt(10) === 0 && ids.size === 1) continue;
      if (number % PAID_EACH === 0) bench.node.pay(keyOf(bench.node, 'ethereum', session), UNITS);
      return;
    }
  }

  const at = (share: number): number =>
    Math.round(tookMs.toSorted((a, b) => a - b)[Math.floor(share * (tookMs.length - 1))] ?? 0);
  return {
    ...{ order, idsOf },
    figures: () => ({
      orders: idsOf.size,
      tries,
      refused: [...refused],
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      maxMs: at(1),
    }),
  };
}

onServer('no session is lost or made twice, and no error is one that a client may not answer by a retry', async () => {
  const copied = copyTemplate(folder);
  const pool = openPool(copied.url, { max: 1 });
  const bench = await openMachines({ url: copied.url, blockMs: 1_000, settings: { limits: { pool_target: 1_000 } } });
  try {
    const first = await startMachine(bench.folder);
    const machines = [first, await startMachine(bench.addFolder())];
    const shop = createShop(bench, machines);
    const waiting = new Set<Promise<void>>();
    let [failure, kills, cuts]: [unknown, number, number] = [null, 0, 0];
    const beganMs = performance.now();
    let [killedAtMs, cutAtMs] = [beganMs, beganMs];
    for (let number = 0; performance.now() < beganMs + SECONDS * 1000 && !failure; number++) {
      const ordering = shop.order(number).catch((error: unknown) => {
        failure = error;
      });
      waiting.add(ordering);
      void ordering.then(() => waiting.delete(ordering));
      if (waiting.size >= WAITING_MAX) await Promise.race(waiting);
      await wait(Math.max(0, beganMs + (1000 * number) / EACH_SECOND - performance.now()));
      if (performance.now() > cutAtMs + CUT_MS) {
        cutAtMs = performance.now();
        cuts += await cut(pool);
      }
      if (performance.now() > killedAtMs + KILL_MS) {
        killedAtMs = performance.now();
        kills += kill(machines[kills % machines.length] as Machine);
      }
    }
    await Promise.all(waiting);
    if (failure) throw failure;
    const seconds = (performance.now() - beganMs) / 1000;
    await compare(pool, shop.idsOf);
    process.stderr.write(`${JSON.stringify({ seconds, kills, cuts, ...shop.figures() })}\n`);
    assert.ok(kills > 0 && cuts > 0, 'processes and connections were ended');
  } finally {
    await pool.end();
    await bench.close();
    copied.remove();
  }
});

/** Ends one of the connections of the programs. @returns how many */
async function cut(pool: Pool): Promise<number> {
  const ended = await pool.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'quayside' AND pid <> pg_backend_pid()
     ORDER BY random() LIMIT 1`,
  );
  return ended.rows.length;
}

/** Kills a server, which its supervisor starts again. @returns how many */
function kill(machine: Machine): number {
  try {
    process.kill(serverOf(machine).pid, 'SIGKILL');
    return 1;
  } catch {
    // It is just being started.
    return 0;
  }
}

/** Asserts that each order has the one session that was answered, and that each that was paid shows it. */
async function compare(pool: Pool, idsOf: ReadonlyMap<string, ReadonlySet<string>>): Promise<void> {
  const { rows } = await pool.query('SELECT order_id, id FROM sessions ORDER BY order_id');
  const stored = rows as readonly { order_id: string; id: string }[];
  assert.equal(
    stored.map(({ order_id, id }) => [order_id, id]),
    [...idsOf].map(([orderId, ids]) => [orderId, [...ids].join()]).sort(([a = ''], [b = '']) => (a < b ? -1 : 1)),
  );
  const paid = [...idsOf.keys()].filter((_, number) => number % PAID_EACH === 0).length;
  await until('all that were paid are', async () => {
    const counted = await pool.query("SELECT count(*) AS paid FROM sessions WHERE status = 'paid'");
    return counted.rows[0].paid === paid;
  });
}

test.run();
