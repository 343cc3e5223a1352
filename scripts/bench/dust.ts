/**
 * What very many transfers to one address cost: one more block for it, and other shops' new sessions meanwhile.
 * @module
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { systemClock } from '../../src/lib/clock.ts';
import { newSession } from '../../test/support/new-session.ts';
import { connectTo } from '../../test/support/temp-database.ts';
import { testNetwork } from '../../test/support/test-network.ts';
import type { Ready, Step } from './dust-chain.ts';
import { judgeP99, progress, quantile, type Row, round, show } from './report.ts';

const COUNTS = [1, 10_000, 100_000, 1_000_000];
/** Steps of each database, taken in turn, so that a busy moment of the machine hits all alike. */
const ROUNDS = 200;
const SESSIONS = 1_000;
const BETWEEN_SESSIONS_MS = 10;

type Held = Readonly<{ transfers: number; child: ChildProcess; ready: Ready }>;

/** Measures one more block by the number of transfers before it, then `createSession` beside a follower. */
export async function benchDust(): Promise<Row[]> {
  const bar = progress('dust', COUNTS.length + 3);
  const places: Held[] = [];
  try {
    for (const transfers of COUNTS) {
      const child = fork(new URL('./dust-chain.ts', import.meta.url), [String(transfers)], {
        execArgv: ['--import', import.meta.resolve('tsx')],
      });
      const [ready] = (await once(child, 'message')) as [Ready];
      places.push({ transfers, child, ready });
      bar.step(places.length);
    }
    const steps = await measureSteps(places);
    bar.step(COUNTS.length + 1);
    const largest = places.at(-1);
    if (!largest) return [];
    const idle = await createSessions(largest.ready, 'idle');
    bar.step(COUNTS.length + 2);
    largest.child.send('run');
    const beside = await createSessions(largest.ready, 'busy');
    largest.child.send('rest');
    bar.end();
    show('One more block for an address, in ms (medians)', steps);
    const sessions = [
      { follower: 'idle', ...idle },
      { follower: 'a block every 40 ms', ...beside },
    ].map((row) => ({ ...row, 'p99 limit': judgeP99(idle.p99, row.p99) }));
    show(`createSession of another shop beside ${largest.transfers} transfers, in ms`, sessions);
    return [...steps, ...sessions];
  } finally {
    for (const { child } of places) child.disconnect();
  }
}

async function measureSteps(places: readonly Held[]): Promise<Row[]> {
  const found = places.map((): Step[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [at, { child }] of places.entries()) {
      child.send('step');
      const [step] = (await once(child, 'message')) as [Step];
      found[at]?.push(step);
    }
  }
  const median = (steps: readonly Step[], of: 'connectMs' | 'confirmMs' | 'readMs') =>
    quantile(
      steps.map((step) => step[of]),
      0.5,
    );
  const first = found[0] ?? [];
  return places.map(({ transfers }, at) => {
    const steps = found[at] ?? [];
    return {
      transfers,
      connect: round(median(steps, 'connectMs'), 3),
      confirm: round(median(steps, 'confirmMs'), 3),
      'read session': round(median(steps, 'readMs'), 3),
      'connect, ratio': round(median(steps, 'connectMs') / median(first, 'connectMs')),
      'confirm, ratio': round(median(steps, 'confirmMs') / median(first, 'confirmMs')),
    };
  });
}

async function createSessions({ file, storeId }: Ready, name: string): Promise<Row & { p99: number }> {
  const database = connectTo(file);
  const networks = [testNetwork({ name: 'one' })];
  const times: number[] = [];
  let failed = 0;
  for (let n = 0; n < SESSIONS; n++) {
    const session = newSession({
      storeId,
      name: `${name}${n}`,
      networks,
      amountMinor: 1000,
      nowMs: systemClock.nowMs(),
    });
    const startedAtMs = performance.now();
    await database.createSession(session).catch(() => failed++);
    times.push(performance.now() - startedAtMs);
    await systemClock.sleep(BETWEEN_SESSIONS_MS);
  }
  await database.close();
  const at = (share: number) => round(quantile(times, share), 2);
  return { sessions: SESSIONS, failed, p50: at(0.5), p99: at(0.99), max: at(1) };
}
