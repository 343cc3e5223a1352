/**
 * What a server's requests wait for while other processes write to the database: new sessions, reads, and the event
 * loop.
 * @module
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Database } from '../../src/database/database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { ingestedChain } from '../../test/support/ingested-chain.ts';
import { startLockHolder } from '../../test/support/lock.ts';
import { merchantStore, newSession } from '../../test/support/new-session.ts';
import { openTempDatabase } from '../../test/support/temp-database.ts';
import { testNetwork } from '../../test/support/test-network.ts';
import { judgeP99, progress, quantile, type Row, round, show } from './report.ts';

const SESSIONS = 1_000;
const BETWEEN_SESSIONS_MS = 10;
const ADDRESSES = 10_000;
/** How long, and how often, the write lock is held. */
const HELD_MS = 2_000;
const FREE_MS = 2_000;

const followers = ['two', 'three', 'four'] as const;
const network = testNetwork({ name: 'one' });

/** Measures `createSession`, `findSession` and the event loop's delay, idle and beside other processes. */
export async function benchWrites(): Promise<Row[]> {
  const place = openTempDatabase();
  const { database, file } = place;
  const store = merchantStore();
  await database.createStore(store);
  const keys = Array.from({ length: ADDRESSES }, (_, n) => n.toString(16).padStart(40, '0'));
  await database.addAddresses({ family: network.family, mode: 'test', source: 'bench', firstIndex: 0, keys });
  const chain = ingestedChain(() => database, systemClock, network);
  await chain.mine();
  await chain.report('following');
  const paid = await take(database, store.id, 'paid');

  const bar = progress('writes', followers.length + 2);
  const rows: Row[] = [{ beside: 'nothing', ...(await serve(database, store.id, 'idle')) }];
  bar.step(1);
  const children: ChildProcess[] = [];
  for (const name of followers) {
    children.push(await startFollower(file, name, paid.address));
    rows.push({ beside: `${children.length} back to back`, ...(await serve(database, store.id, name)) });
    bar.step(children.length + 1);
  }
  for (const child of children) child.disconnect();
  rows.push({ beside: `lock held ${HELD_MS} of ${HELD_MS + FREE_MS} ms`, ...(await serveBesideLock(place, store.id)) });
  bar.end();
  place.close();
  const idleMs = Number(rows[0]?.p99);
  const judged = rows.map((row) => ({ ...row, 'p99 limit': judgeP99(idleMs, Number(row.p99)) }));
  show('A server’s calls beside other processes, in ms', judged);
  return judged;
}

async function startFollower(file: string, name: string, address: string): Promise<ChildProcess> {
  const child = fork(new URL('./writes-follower.ts', import.meta.url), [file, name, address], {
    execArgv: ['--import', import.meta.resolve('tsx')],
  });
  await once(child, 'message');
  return child;
}

async function serveBesideLock({ database, file }: { database: Database; file: string }, storeId: string) {
  const holder = await startLockHolder(file);
  const stopping = new AbortController();
  const holding = (async () => {
    while (!stopping.signal.aborted) {
      await holder.tell('hold');
      await systemClock.sleep(HELD_MS);
      await holder.tell('release');
      await systemClock.sleep(FREE_MS, stopping.signal);
    }
  })();
  const row = await serve(database, storeId, 'locked');
  stopping.abort();
  await holding;
  await holder.kill();
  return row;
}

async function take(database: Database, storeId: string, name: string): Promise<{ id: string; address: string }> {
  const nowMs = systemClock.nowMs();
  const outcome = await database.createSession(
    newSession({ storeId, name, networks: [network], amountMinor: 1000, nowMs }),
  );
  if (outcome.kind !== 'created') throw new Error(`no session: ${outcome.kind}`);
  return { id: outcome.session.id, address: outcome.session.addresses[network.family] ?? '' };
}

/** Creates and reads sessions at a steady rate, whether or not the earlier ones are done, as a server must. */
async function serve(database: Database, storeId: string, name: string): Promise<Row> {
  const created: number[] = [];
  const read: number[] = [];
  let failed = 0;
  const { id } = await take(database, storeId, `${name}-read`);
  const timed = async (times: number[], work: () => Promise<unknown>) => {
    const startedAtMs = performance.now();
    await work().catch(() => failed++);
    times.push(performance.now() - startedAtMs);
  };
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const running: Promise<void>[] = [];
  for (let n = 0; n < SESSIONS; n++) {
    running.push(timed(created, () => take(database, storeId, `${name}-${n}`)));
    running.push(timed(read, () => database.findSession(id)));
    await systemClock.sleep(BETWEEN_SESSIONS_MS);
  }
  delay.disable();
  await Promise.all(running);
  const at = (times: number[], share: number) => round(quantile(times, share), 2);
  return {
    failed,
    'create p50': at(created, 0.5),
    p99: at(created, 0.99),
    max: at(created, 1),
    'read p50': at(read, 0.5),
    'read p99': at(read, 0.99),
    'loop p99': round(delay.percentile(99) / 1e6, 1),
    'loop max': round(delay.max / 1e6, 1),
  };
}
