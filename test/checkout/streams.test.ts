/** The cost of live updates: nothing while nothing is written, and a bounded number of reads in each look. */
import type { AddressInfo } from 'node:net';
import express from 'express';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createStreams } from '../../src/checkout/streams.ts';
import type { Database } from '../../src/database/database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openLog } from '../../src/lib/log.ts';
import { type ApiServer, withApi } from '../support/api-server.ts';
import { until } from '../support/until.ts';

const WATCHED = 250;
const PER_LOOK = 200;

/** Opens one stream for each of so many sessions. @param read called for each session that is read */
async function watch(api: ApiServer, read: () => void, signal: AbortSignal): Promise<void> {
  const own = api.database();
  const database: Database = {
    ...own,
    sessions: {
      ...own.sessions,
      find: (id) => {
        read();
        return own.sessions.find(id);
      },
    },
  };
  // Time stands still: what changes with it is not looked for.
  const clock = { ...systemClock, nowMs: () => 1_800_000_000_000 };
  const streams = createStreams({ database, clock, log: openLog('test', 'silent'), signal });
  const app = express();
  app.get('/:id', ({ params: { id } }, response) =>
    streams.open({ sessionId: id, address: id, response, known: 'old' }),
  );
  const server = app.listen(0, '127.0.0.1');
  signal.addEventListener('abort', () => server.close());
  await new Promise((done) => server.once('listening', done));
  const { port } = server.address() as AddressInfo;
  const ids = Array.from({ length: WATCHED }, (_, nth) => `cs_${String(nth).padStart(26, '0')}`);
  await Promise.all(ids.map((id) => fetch(`http://127.0.0.1:${port}/${id}`)));
}

test('a look reads a bounded number of sessions, and none while nothing is written', () =>
  withApi({ pages: true }, async (api) => {
    const abort = new AbortController();
    try {
      const readAt: number[] = [];
      const writes = api.database().changeCount();
      await watch(api, () => readAt.push(Date.now()), abort.signal);
      await until('each session was read', () => readAt.length >= WATCHED);
      // A look that ends in one second leaves the rest of it quiet.
      const looks = readAt.filter((atMs, at) => at === 0 || atMs - (readAt[at - 1] ?? 0) > 500).length;
      assert.ok(looks > 1, `${WATCHED} sessions are more than the ${PER_LOOK} of one look`);
      await new Promise((done) => setTimeout(done, 2_500));
      assert.is(api.database().changeCount(), writes);
      assert.is(readAt.length, WATCHED, 'nothing was written: no session is read again');
      const [network] = await api.database().networks.list();
      await api.chain('ethereum').report('following');
      assert.ok(network && api.database().changeCount() !== writes);
      await until('what was written is looked for', () => readAt.length > WATCHED);
    } finally {
      abort.abort();
    }
  }));

test.run();
