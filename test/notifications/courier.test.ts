/** Notices on a real database and over real HTTP: who gets what, when, and what a crash or a dead service changes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { invariant } from '../../src/core/fault.ts';
import { createCourier } from '../../src/notifications/courier.ts';
import type { Send } from '../../src/notifications/post.ts';
import { handClock } from '../support/hand-clock.ts';
import { ingestedChain } from '../support/ingested-chain.ts';
import { startMerchantServer } from '../support/merchant-server.ts';
import { merchantStore, newSession } from '../support/new-session.ts';
import {
  act,
  HOUR_MS,
  log,
  MINUTE_MS,
  never,
  onBench,
  openBench,
  plainTarget,
  realSend,
} from '../support/notice-bench.ts';
import { loaderOptions, ownProgram } from '../support/own-program.ts';
import { openTempDatabase } from '../support/temp-database.ts';
import { testNetwork } from '../support/test-network.ts';

const network = testNetwork({ name: 'one' });

test(
  'a page is told at once, again after 15 minutes and an hour, and no more once it is over, which is told too',
  onBench({}, async ({ open, end, after, texts }) => {
    await open('frozen:live:bsc', 'payouts_frozen');
    await after(0);
    assert.equal(texts(), ['x: payouts frozen on live:bsc (A-1)']);
    await after(14 * MINUTE_MS);
    assert.is(texts().length, 1);
    await after(MINUTE_MS);
    await after(44 * MINUTE_MS);
    assert.equal(texts().slice(1), ['x: payouts frozen on live:bsc (A-1, told again)']);
    await after(MINUTE_MS);
    assert.is(texts().length, 3);
    await end('frozen:live:bsc');
    await after(MINUTE_MS);
    assert.is(texts().length, 3);
    await after(MINUTE_MS);
    assert.equal(texts().slice(3), ['x: Over: payouts frozen on live:bsc (A-1)']);
    await after(48 * HOUR_MS);
    assert.is(texts().length, 4);
  }),
);

test(
  'what was over before it was told is not told, nor its end; what comes back at once has never ended',
  onBench({}, async ({ open, end, after, texts }) => {
    await open('rates', 'rates_stale');
    await end('rates');
    await after(HOUR_MS);
    assert.equal(texts(), []);
    await open('wallet:a', 'wallet_low');
    await after(0);
    await end('wallet:a');
    await after(MINUTE_MS);
    await open('wallet:a', 'wallet_low');
    await after(HOUR_MS);
    assert.equal(texts(), ['x: wallet low on live:bsc (A-2)']);
    // It is told again a day later, and its end when it comes.
    await after(23 * HOUR_MS + MINUTE_MS);
    assert.equal(texts().slice(1), ['x: wallet low on live:bsc (A-3, told again)']);
    await end('wallet:a');
    await after(2 * MINUTE_MS);
    assert.equal(texts().slice(2), ['x: Over: wallet low on live:bsc (A-3)']);
  }),
);

test(
  'what happened once is told once, a page three times, and a target hears of its severities only',
  onBench({ targets: [{}, { severities: ['page'] }] }, async ({ database, clock, after, texts }) => {
    const event = { message: 'why', network: null, sessionId: null };
    await database.raiseAlarm({ ...event, atMs: clock.nowMs(), code: 'transfer_missed' });
    await database.raiseAlarm({ ...event, atMs: clock.nowMs(), code: 'payment_reversed' });
    await after(0);
    assert.equal(texts('nt_0'), ['x: 2 notices']);
    assert.equal(texts('nt_1'), ['x: payment reversed (A-2)']);
    for (let hour = 0; hour < 72; hour++) await after(HOUR_MS);
    assert.is(texts('nt_0').length, 3);
    assert.is(texts('nt_1').length, 3);
  }),
);

test(
  'in quiet hours only pages are sent; the rest comes at their end',
  onBench(
    // 23:00 in Berlin, in winter.
    { targets: [{ quiet: { from: 22 * 60, to: 7 * 60 }, zone: 'Europe/Berlin' }], startMs: Date.UTC(2027, 0, 10, 22) },
    async ({ open, after, texts }) => {
      await open('wallet:a', 'wallet_low');
      await open('frozen:live:bsc', 'payouts_frozen');
      await after(0);
      assert.equal(texts(), ['x: payouts frozen on live:bsc (A-2)']);
      await after(8 * HOUR_MS - MINUTE_MS);
      assert.is(texts().filter((text) => text?.includes('wallet')).length, 0);
      await after(MINUTE_MS);
      assert.is(texts().filter((text) => text?.includes('wallet low')).length, 1);
    },
  ),
);

test(
  'an alarm that nobody acknowledges goes to the next target, and one that is acknowledged or over does not',
  onBench({ targets: [{}, { afterMinutes: 60 }] }, async ({ open, end, after, texts, database, clock }) => {
    await open('frozen:live:bsc', 'payouts_frozen');
    await open('frozen:live:tron', 'payouts_frozen');
    await open('wallet:a', 'wallet_low');
    await after(MINUTE_MS);
    const seen = (await database.listOpenAlarms()).find(({ key }) => key === 'frozen:live:tron');
    await database.acknowledgeAlarm(seen?.id ?? 0, act(clock.nowMs()));
    await end('wallet:a');
    await after(58 * MINUTE_MS);
    assert.equal(texts('nt_1'), [], 'not yet');
    await after(MINUTE_MS);
    assert.equal(texts('nt_1'), ['x: payouts frozen on live:bsc (A-1)']);
    await after(15 * MINUTE_MS);
    assert.equal(texts('nt_1').slice(1), ['x: payouts frozen on live:bsc (A-1, told again)'], 'and repeats there');
    await end('frozen:live:bsc');
    await after(2 * MINUTE_MS);
    assert.equal(texts('nt_1').slice(2), ['x: Over: payouts frozen on live:bsc (A-1)']);
  }),
);

test(
  'a storm becomes one message',
  onBench({}, async ({ open, after, texts }) => {
    for (let n = 0; n < 40; n++) {
      await open(`wallet:${n}`, 'wallet_low');
      await after(1_000);
    }
    assert.is(texts().length, 10);
    await after(5 * MINUTE_MS);
    assert.equal(texts().slice(10), ['x: 30 notices']);
  }),
);

test(
  'in a storm of lesser alarms a page waits a minute at most, and pages are one message a minute',
  onBench({ startMs: Date.UTC(2027, 0, 1) }, async ({ open, after, texts }) => {
    for (let n = 0; n < 60; n++) {
      await open(`wallet:${n}`, 'wallet_low');
      await after(1_000);
    }
    assert.is(texts().length, 10);
    await open('frozen:live:bsc', 'payouts_frozen');
    await after(MINUTE_MS);
    assert.equal(texts().slice(10), ['x: payouts frozen on live:bsc (A-61)']);
    for (let n = 0; n < 60; n++) {
      await open(`frozen:live:${n}`, 'payouts_frozen');
      await after(1_000);
    }
    await after(MINUTE_MS);
    const pages = texts().slice(11);
    assert.ok(pages.length <= 3, pages.join());
    const told = pages.map((text) => Number(/(\d+) notices/.exec(text ?? '')?.[1] ?? 1));
    assert.ok(told.reduce((sum, count) => sum + count, 0) >= 60);
  }),
);

test(
  'an acknowledged page is not repeated; whoever was told hears that, and of its end',
  onBench(
    { targets: [{}, { severities: ['act'] }, { quiet: { from: 0, to: 60 } }], startMs: Date.UTC(2027, 0, 1) },
    async ({ database, clock, open, end, after, texts }) => {
      await open('frozen:live:bsc', 'payouts_frozen');
      await open('wallet:a', 'wallet_low');
      await after(0);
      assert.equal(texts('nt_2'), ['x: payouts frozen on live:bsc (A-1)']);
      const { outcome } = (await database.acknowledgeAlarm(1, act(clock.nowMs()))) ?? {};
      assert.is(outcome, 'acknowledged');
      assert.is((await database.acknowledgeAlarm(1, act(clock.nowMs())))?.outcome, 'already');
      assert.is(await database.acknowledgeAlarm(99, act(clock.nowMs())), null);
      await database.acknowledgeAlarm(2, act(clock.nowMs()));
      await after(0);
      for (let hour = 0; hour < 72; hour++) await after(HOUR_MS);
      const [page, over] = ['payouts frozen on live:bsc (A-1)', 'wallet low on live:bsc (A-2)'];
      const seen = texts();
      assert.equal([seen[0], seen[1]], ['x: 2 notices', `x: Acknowledged: ${page}`]);
      assert.equal(seen.slice(2), [`x: Acknowledged: ${over}`]);
      assert.equal(texts('nt_1'), [`x: ${over}`, `x: Acknowledged: ${over}`]);
      // Quiet hours kept the lesser one: it is told once, when they end, although it is acknowledged.
      assert.equal(texts('nt_2').slice(1).sort(), [`x: Acknowledged: ${page}`, `x: ${over}`].sort());
      await end('frozen:live:bsc');
      assert.is((await database.acknowledgeAlarm(1, act(clock.nowMs())))?.outcome, 'over');
      await after(2 * MINUTE_MS);
      assert.equal(texts().slice(3), [`x: Over: ${page}`]);
      const acts = (await database.listAudit(9)).filter(({ target }) => target === 'A-1');
      assert.equal(
        acts.map(({ operator }) => operator),
        ['ann'],
      );
    },
  ),
);

test(
  'an alarm that is put off is told again then, if it is open, and its end is told meanwhile',
  onBench({ targets: [{}, { afterMinutes: 60 }] }, async ({ database, clock, open, end, after, texts }) => {
    await open('frozen:live:bsc', 'payouts_frozen');
    await open('wallet:a', 'wallet_low');
    await open('rates', 'rates_stale');
    await after(0);
    const untilMs = clock.nowMs() + 4 * HOUR_MS;
    const done = await database.snoozeAlarm(1, untilMs, act(clock.nowMs()));
    assert.equal([done?.outcome, done?.alarm.snoozedUntilMs, done?.alarm.snoozedBy], ['snoozed', untilMs, 'ann']);
    await database.snoozeAlarm(2, untilMs, act(clock.nowMs()));
    await database.snoozeAlarm(3, clock.nowMs() + HOUR_MS, act(clock.nowMs()));
    for (let minute = 0; minute < 59; minute++) await after(MINUTE_MS);
    assert.equal([texts().length, texts('nt_1')], [1, []], 'nothing was told again');
    await after(MINUTE_MS);
    assert.equal(texts().slice(1), ['x: rates stale on live:bsc (A-3)'], 'what nobody had heard of is told once then');
    await end('wallet:a');
    await after(2 * MINUTE_MS);
    assert.equal(texts().slice(2), ['x: Over: wallet low on live:bsc (A-2)']);
    await after(3 * HOUR_MS - 3 * MINUTE_MS);
    assert.is(texts().length, 3);
    await after(MINUTE_MS);
    assert.equal(texts().slice(3), ['x: payouts frozen on live:bsc (A-1, told again)']);
    assert.equal(texts('nt_1').slice(-1), ['x: payouts frozen on live:bsc (A-1)'], 'the next target, too');
    await after(45 * MINUTE_MS);
    assert.is(texts().length, 5, 'and repeats as before');

    assert.is((await database.snoozeAlarm(2, untilMs, act(clock.nowMs())))?.outcome, 'over');
    await database.acknowledgeAlarm(1, act(clock.nowMs()));
    assert.is((await database.snoozeAlarm(1, untilMs, act(clock.nowMs())))?.outcome, 'acknowledged');
    assert.is(await database.snoozeAlarm(99, untilMs, act(clock.nowMs())), null);
    const put = (await database.listAudit(9)).filter(({ target, after }) => target === 'A-1' && after?.snoozedUntil);
    assert.equal(
      put.map(({ after }) => after?.snoozedUntil),
      [new Date(untilMs).toISOString()],
    );
  }),
);

test(
  'what takes the place of an alarm that is put off is put off too, unless it is worse',
  onBench({}, async ({ database, clock, open, after, texts }) => {
    const key = 'network:live:bsc';
    await open(key, 'network_fault');
    await after(0);
    const untilMs = clock.nowMs() + 4 * HOUR_MS;
    await database.snoozeAlarm(1, untilMs, act(clock.nowMs()));
    await after(HOUR_MS);
    await open(key, 'network_behind');
    const [behind] = await database.listOpenAlarms();
    assert.equal([behind?.code, behind?.snoozedUntilMs, behind?.snoozedBy], ['network_behind', untilMs, 'ann']);
    await after(HOUR_MS);
    assert.is(texts().length, 1);
    await open(key, 'chain_id_mismatch');
    await after(0);
    assert.equal(texts().slice(1), ['x: chain id mismatch on live:bsc (A-3)']);
    assert.is((await database.listOpenAlarms())[0]?.snoozedUntilMs, null);
  }),
);

test(
  'an alarm that becomes worse is told at once, as a new one',
  onBench({}, async ({ open, after, texts }) => {
    await open('network:live:bsc', 'network_fault');
    await after(MINUTE_MS);
    await open('network:live:bsc', 'chain_id_mismatch');
    await after(0);
    assert.equal(texts().slice(1), ['x: chain id mismatch on live:bsc (A-2)']);
    await after(10 * MINUTE_MS);
    assert.is(texts().length, 2, 'and the end of the lesser one is not told');
  }),
);

for (const ok of [true, false]) {
  test(`what is put off while it is being ${ok ? 'sent' : 'refused'} stays put off`, async () => {
    let whileSending = async () => {};
    const send: Send = async () => {
      await whileSending();
      return { ok, status: ok ? 200 : 503, text: '', retryAfterMs: null };
    };
    const bench = await openBench({ send });
    try {
      const { database, clock, open, after } = bench;
      await open('frozen:live:bsc', 'payouts_frozen');
      const untilMs = clock.nowMs() + 4 * HOUR_MS;
      whileSending = async () => void (await database.snoozeAlarm(1, untilMs, act(clock.nowMs())));
      await after(0);
      assert.equal(await database.dueNotices('nt_0', untilMs - 1, 9), []);
      assert.is((await database.dueNotices('nt_0', untilMs, 9)).length, 1);
    } finally {
      await bench.close();
    }
  });
}

test('a sender that is killed after its message arrived has another one send it again, once, under its number', async () => {
  const place = openTempDatabase();
  const server = await startMerchantServer((response) => response.end('ok'));
  const secret = `whsec_${btoa('s'.repeat(24))}`;
  const address = JSON.stringify({ url: `${server.origin}/hook`, secret });
  const nowMs = Date.now();
  const { database } = place;
  await database.addNoticeTarget({ ...plainTarget, kind: 'webhook', address }, act(nowMs));
  await database.proveNoticeTarget('nt_0', '123456', act(nowMs));
  for (const key of ['wallet:a', 'wallet:b']) {
    await database.keepAlarm({ key, code: 'wallet_low', atMs: nowMs, message: '', network: null, sessionId: null });
  }
  const program = ownProgram(new URL('../support/dying-courier.ts', import.meta.url));
  const dying = spawn(process.execPath, [...loaderOptions, program, place.file], { stdio: 'inherit' });
  const [code, signal] = await once(dying, 'exit');
  assert.equal([code, signal], [null, 'SIGKILL']);
  const clock = handClock(nowMs + 1_000);
  const courier = createCourier({ database, send: realSend, clock, log, sender: 'x', signal: never });
  for (let n = 0; n < 3; n++) await courier.look();
  const ids = server.on('/hook').map(({ headers }) => headers['x-service-event-id']);
  await server.close();
  place.close();
  assert.equal(ids, ['A-1-1-0', 'A-1-1-0']);
});

let answered = 503;
test(
  'a service that fails is tried again for a day, the other targets hear of it, and of its return',
  onBench(
    { targets: [{}, { kind: 'webhook' }], status: () => answered },
    async ({ database, clock, server, open, after, texts }) => {
      await database.removeNoticeTarget('nt_1', act(clock.nowMs()));
      await database.addNoticeTarget(
        {
          ...plainTarget,
          id: 'nt_2',
          kind: 'ntfy',
          address: JSON.stringify({ server: `${server.origin}/ntfy`, topic: 'secret_topic', token: 'tk_secret' }),
          severities: ['page', 'act'],
          showsDetails: true,
        },
        act(clock.nowMs()),
      );
      await database.proveNoticeTarget('nt_2', '123456', act(clock.nowMs()));
      await open('wallet:a', 'wallet_low');
      await after(0);
      const firstIds = texts().length;
      assert.is(firstIds, 1);
      const [first] = await database.listNoticeTargets();
      assert.is(first?.failingSinceMs, clock.nowMs());
      assert.match(first?.lastError ?? '', /^503: said/);
      for (const minutes of [1, 2, 4, 8, 16, 32]) await after(minutes * MINUTE_MS);
      assert.is(texts().length, 7);
      for (let hour = 0; hour < 24; hour++) await after(HOUR_MS);
      const [open1] = (await database.listOpenAlarms()).filter(({ code }) => code === 'notice_target_failing');
      assert.match(open1?.message ?? '', /nt_\d.*503/);
      assert.not.match(open1?.message ?? '', /secret/);
      answered = 200;
      await open('wallet:b', 'wallet_low');
      await after(2 * HOUR_MS);
      assert.is((await database.listNoticeTargets())[0]?.failingSinceMs, null);
      const left = (await database.listOpenAlarms()).filter(({ code }) => code === 'notice_target_failing');
      assert.equal(left, []);
      const [last] = server.on('/ntfy').slice(-1);
      assert.is(last?.headers.authorization, 'Bearer tk_secret');
    },
  ),
);

test('a message that was sent and not recorded is sent again under the same id', async () => {
  const seen: string[] = [];
  let isDead = true;
  const send: Send = async (request) => {
    seen.push(String(request.headers?.['X-Service-Event-ID']));
    if (isDead) throw new Error('killed');
    return { ok: true, status: 200, text: '', retryAfterMs: null };
  };
  const bench = await openBench({
    targets: [
      {
        kind: 'webhook',
        address: JSON.stringify({ url: 'https://x.example', secret: `whsec_${btoa('s'.repeat(24))}` }),
      },
    ],
    send,
  });
  await bench.open('wallet:a', 'wallet_low');
  await bench.after(0).catch(() => {});
  isDead = false;
  await bench.after(1_000);
  await bench.after(1_000);
  assert.equal(seen, ['A-1-1-0', 'A-1-1-0']);
  await bench.close();
});

test(
  'a target that is not proved gets nothing, and after five wrong codes none proves it',
  onBench({}, async ({ database, clock, server, open, after, texts }) => {
    const address = JSON.stringify({ url: `${server.origin}/nt_9` });
    const target = { ...plainTarget, id: 'nt_9', address, digestMinute: 0, code: '654321' };
    await database.addNoticeTarget(target, act(clock.nowMs()));
    await open('frozen:live:bsc', 'payouts_frozen');
    await after(0);
    assert.is(texts('nt_0').length, 1);
    assert.equal(texts('nt_9'), []);
    for (let n = 0; n < 5; n++) assert.is(await database.proveNoticeTarget('nt_9', '000000', act(0)), 'wrong');
    assert.is(await database.proveNoticeTarget('nt_9', '654321', act(0)), 'too_many');
    assert.is(await database.proveNoticeTarget('nt_8', '654321', act(0)), null);
    await after(48 * HOUR_MS);
    assert.equal(texts('nt_9'), []);
  }),
);

test(
  'a digest is sent each day at its time in its zone; a dead-man URL is called each minute while all is well',
  onBench(
    {
      targets: [{ digestMinute: 8 * 60, zone: 'Asia/Tokyo' }, { kind: 'dead-man' }],
      startMs: Date.UTC(2027, 5, 1, 22),
    },
    async ({ open, end, after, texts, server }) => {
      await after(0);
      assert.equal(texts(), []);
      await after(HOUR_MS);
      assert.equal(texts(), ['x: all quiet']);
      await open('rates', 'rates_stale');
      await after(10 * MINUTE_MS);
      await after(23 * HOUR_MS + 50 * MINUTE_MS);
      assert.equal(texts().slice(2), ['x: 1 open alarms']);
      const calls = () => server.on('/nt_1').length;
      const before = calls();
      await after(30_000);
      assert.is(calls(), before);
      await after(30_000);
      assert.is(calls(), before + 1);
      await open('frozen:live:bsc', 'payouts_frozen');
      await after(2 * MINUTE_MS);
      assert.is(calls(), before + 1);
      await end('frozen:live:bsc');
      await after(MINUTE_MS);
      assert.is(calls(), before + 2);
    },
  ),
);

test(
  'a target of one store hears of its payments only',
  onBench({}, async ({ database, clock, after, texts }) => {
    const [own, other] = [merchantStore(), merchantStore()];
    const keys = ['01', '02'].map((byte) => byte.repeat(20));
    await database.addAddresses({ family: network.family, mode: 'test', source: 'x', firstIndex: 0, keys });
    const chain = ingestedChain(() => database, clock, network);
    await chain.mine();
    await chain.report('following');
    const target = { ...plainTarget, id: 'nt_5', storeId: own.id, address: '{"url":"http://127.0.0.1:9/"}' };
    for (const store of [own, other]) await database.createStore(store);
    await database.addNoticeTarget(target, act(0));
    await database.proveNoticeTarget('nt_5', '123456', act(0));
    const waiting = async () => (await database.listNoticeTargets()).find(({ id }) => id === 'nt_5')?.waiting;
    const alarm = { atMs: clock.nowMs(), code: 'transfer_missed', message: '', network: null };
    await database.raiseAlarm({ ...alarm, sessionId: null });
    for (const [name, { id: storeId }] of Object.entries({ a: other, b: own })) {
      const wish = { storeId, name, networks: [network], amountMinor: 1000, nowMs: clock.nowMs() };
      assert.is(await waiting(), 0);
      const outcome = await database.createSession(newSession(wish));
      invariant(outcome.kind === 'created', `not ${outcome.kind}`);
      await database.raiseAlarm({ ...alarm, sessionId: outcome.session.id });
    }
    assert.is(await waiting(), 1);
    await after(0);
    assert.equal(texts(), ['x: 3 notices']);
  }),
);

test.run();
