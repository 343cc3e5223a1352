/**
 * A courier on a real database, with proved targets whose messages come to a server over real HTTP.
 */
import * as assert from 'uvu/assert';
import type { NewNoticeTarget } from '../../src/database/alarms.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createUrlGuard } from '../../src/lib/guard.ts';
import { openLog } from '../../src/lib/log.ts';
import { createCourier } from '../../src/notifications/courier.ts';
import { createSend, type Send } from '../../src/notifications/post.ts';
import { handClock } from './hand-clock.ts';
import { startMerchantServer } from './merchant-server.ts';
import { openTempDatabase } from './temp-database.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const act = (atMs: number) => ({ atMs, operator: 'ann', command: 'notify add', reason: null });
export const realSend = createSend(createUrlGuard(['127.0.0.0/8']), systemClock);
export const never = new AbortController().signal;
export const log = openLog('test', 'silent');

export const plainTarget: NewNoticeTarget = {
  id: 'nt_0',
  kind: 'slack',
  name: 'target',
  address: '',
  severity: 'know',
  code: '123456',
  createdAtMs: 0,
};

type Options = Readonly<{
  targets?: readonly Partial<NewNoticeTarget>[];
  status?: () => number;
  send?: Send;
  startMs?: number;
}>;

/** A database with proved targets, whose messages come to a server of the test's. */
export async function openBench({ targets = [{}], status = () => 200, send = realSend, startMs }: Options = {}) {
  const place = openTempDatabase();
  const clock = handClock(startMs);
  const server = await startMerchantServer((response) => response.writeHead(status()).end('said'));
  for (const [at, more] of targets.entries()) {
    const id = `nt_${at}`;
    await place.database.alarms.addTarget(
      { ...plainTarget, id, name: `target ${at}`, address: JSON.stringify({ url: `${server.origin}/${id}` }), ...more },
      act(clock.nowMs()),
    );
    assert.is(await place.database.alarms.proveTarget(id, '123456', act(clock.nowMs())), 'proved');
  }
  const { database, file } = place;
  const courier = createCourier({ database, ways: { send, mail: null }, clock, log, sender: 'x', signal: never });
  const texts = (id = 'nt_0') => server.on(`/${id}`).map(({ body }) => String(JSON.parse(body).text).split('\n')[0]);
  return {
    database,
    file,
    clock,
    server,
    texts,
    /** Lets so much time pass, and looks. */
    async after(ms: number) {
      clock.advance(ms);
      await courier.look();
    },
    open: (key: string, code: string) =>
      database.alarms.keep({ key, code, atMs: clock.nowMs(), message: 'why', network: 'live:bsc', sessionId: null }),
    end: (key: string) => database.alarms.end(key, clock.nowMs()),
    async close() {
      await server.close();
      place.close();
    },
  };
}

type Bench = Awaited<ReturnType<typeof openBench>>;

export const onBench = (options: Options, run: (bench: Bench) => Promise<void>) => async () => {
  const bench = await openBench(options);
  try {
    await run(bench);
  } finally {
    await bench.close();
  }
};
