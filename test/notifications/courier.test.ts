/** Notices on a real database and over real HTTP: who gets what, when, and what a crash or a dead service changes. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { NewNoticeTarget } from '../../src/database/alarms.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createUrlGuard } from '../../src/lib/guard.ts';
import { openLog } from '../../src/lib/log.ts';
import { createCourier } from '../../src/notifications/courier.ts';
import { createSend, type Send } from '../../src/notifications/post.ts';
import { closing } from '../support/closing.ts';
import { column } from '../support/fields.ts';
import { handClock } from '../support/hand-clock.ts';
import { merchantServer } from '../support/merchant-server.ts';
import { openTempDatabase } from '../support/temp-database.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const act = (atMs: number) => ({ atMs, operator: 'ann', command: 'notify add', reason: null });
const realSend = createSend(createUrlGuard(['127.0.0.0/8']), systemClock);
const never = new AbortController().signal;
const log = openLog('test', 'silent');

const plainTarget: NewNoticeTarget = {
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
async function openBench({ targets = [{}], status = () => 200, send = realSend, startMs }: Options = {}) {
  const { database } = closing(openTempDatabase());
  const clock = handClock(startMs);
  const server = await merchantServer((response) => response.writeHead(status()).end('said'));
  const { alarms } = database;
  /** Adds a target, which is not proved. */
  const add = (id: string, more: Partial<NewNoticeTarget> = {}) => {
    const target = { ...plainTarget, id, address: JSON.stringify({ url: `${server.origin}/${id}` }), ...more };
    return alarms.addTarget(target, act(clock.nowMs()));
  };
  const prove = (id: string, code = '123456') => alarms.proveTarget(id, code, act(clock.nowMs()));
  for (const [at, more] of targets.entries()) {
    await add(`nt_${at}`, { name: `target ${at}`, ...more });
    assert.is(await prove(`nt_${at}`), 'proved');
  }
  const courier = createCourier({ database, ways: { send, mail: null }, clock, log, sender: 'x', signal: never });
  const texts = (id = 'nt_0') => server.on(`/${id}`).map(({ body }) => String(JSON.parse(body).text).split('\n')[0]);
  return {
    database,
    clock,
    server,
    texts,
    add,
    prove,
    /** Lets so much time pass, and looks. */
    async after(ms: number) {
      clock.advance(ms);
      await courier.look();
    },
    open: (key: string, code: string) =>
      database.alarms.keep({ key, code, atMs: clock.nowMs(), message: 'why', network: 'live:bsc', sessionId: null }),
    end: (key: string) => database.alarms.end(key, clock.nowMs()),
  };
}

const event = { message: 'why', network: null, sessionId: null };

test('an alarm is sent at once, again each day until somebody acknowledges it, and its end is sent too', async () => {
  const { database, clock, open, end, after, texts } = await openBench();
  await open('frozen:live:bsc', 'payouts_frozen');
  await after(0);
  assert.equal(texts(), ['x: payouts frozen on live:bsc (A-1)']);
  await after(DAY_MS - 1);
  assert.is(texts().length, 1);
  for (let day = 0; day < 2; day++) await after(DAY_MS);
  const again = 'x: Not acknowledged: payouts frozen on live:bsc (A-1)';
  assert.equal(texts().slice(1), [again, again]);
  assert.is((await database.alarms.acknowledge(1, act(clock.nowMs())))?.outcome, 'acknowledged');
  assert.is((await database.alarms.acknowledge(1, act(clock.nowMs())))?.outcome, 'already');
  assert.is(await database.alarms.acknowledge(99, act(clock.nowMs())), null);
  await after(3 * DAY_MS);
  assert.is(texts().length, 3);
  await end('frozen:live:bsc');
  assert.is((await database.alarms.acknowledge(1, act(clock.nowMs())))?.outcome, 'over');
  await after(MINUTE_MS);
  assert.equal(texts().slice(3), ['x: Over: payouts frozen on live:bsc (A-1)']);
  await after(3 * DAY_MS);
  assert.is(texts().length, 4);
  const acts = (await database.audit.list(9)).filter(({ target }) => target === 'A-1');
  assert.equal(column(acts, 'operator'), ['ann']);
});

test('an event is repeated until a person acknowledges it, of which there is a notice; there is none of an event that was over before', async () => {
  const { database, clock, open, end, after, texts } = await openBench();
  await open('rates', 'rates_stale');
  await end('rates');
  await database.alarms.raise({ ...event, atMs: clock.nowMs(), code: 'payment_reversed' });
  await after(0);
  await after(DAY_MS);
  assert.equal(texts(), ['x: payment reversed (A-2)', 'x: Not acknowledged: payment reversed (A-2)']);
  assert.ok((await database.alarms.acknowledge(2, act(clock.nowMs())))?.alarm.endedAtMs);
  await after(MINUTE_MS);
  await after(2 * DAY_MS);
  assert.equal(texts().slice(2), ['x: Over: payment reversed (A-2)']);
});

test('a target hears of its severity and worse only, also after many alarms that are not for it', async () => {
  const { database, clock, after, texts } = await openBench({ targets: [{ severity: 'page' }] });
  const early = { ...event, atMs: clock.nowMs(), code: 'payment_before_session' };
  for (let raised = 0; raised < 1_100; raised++) await database.alarms.raise(early);
  await database.alarms.raise({ ...event, atMs: clock.nowMs(), code: 'payment_reversed' });
  await after(0);
  await after(5_000);
  assert.equal(texts(), ['x: payment reversed (A-1101)']);
  await after(MINUTE_MS);
  assert.is(texts().length, 1);
});

test('a flood becomes one message a minute, which lists all of it, the most severe first', async () => {
  const { open, after, texts, server } = await openBench();
  for (let n = 0; n < 30; n++) {
    await open(`wallet:${n}`, 'wallet_low');
    await after(1_000);
  }
  await open('frozen:live:bsc', 'payouts_frozen');
  assert.equal(texts(), ['x: wallet low on live:bsc (A-1)']);
  await after(31_000);
  assert.equal(texts().slice(1), ['x: 30 notices']);
  const { body } = server.on('/nt_0').at(-1) ?? {};
  assert.match(JSON.parse(body ?? '').text, '30 notices\n\npayouts frozen on live:bsc (A-31)\n');
  await after(DAY_MS);
  assert.equal(texts().slice(2), ['x: 31 notices'], 'and the repeats are one message');
});

test('of many events that nobody acknowledges the newest are repeated, and what lasts always is', async () => {
  const { database, clock, open, after, texts } = await openBench();
  await open('wallet:a', 'wallet_low');
  const early = { ...event, atMs: clock.nowMs(), code: 'payment_before_session' };
  for (let raised = 0; raised < 1_500; raised++) await database.alarms.raise(early);
  await after(0);
  await after(MINUTE_MS);
  assert.equal(texts(), ['x: 1000 notices', 'x: 501 notices'], 'all were told once');
  await after(DAY_MS);
  assert.equal(texts().slice(2), ['x: 1001 notices']);
});

test('a target that is proved later hears of what needs somebody then', async () => {
  const { database, clock, add, prove, open, end, after, texts } = await openBench({ targets: [] });
  await open('wallet:a', 'wallet_low');
  await open('wallet:b', 'wallet_low');
  await open('wallet:c', 'wallet_low');
  await end('wallet:a');
  await database.alarms.acknowledge(2, act(clock.nowMs()));
  await add('nt_0');
  await after(MINUTE_MS);
  assert.equal(texts(), []);
  await prove('nt_0');
  await after(0);
  assert.equal(texts(), ['x: wallet low on live:bsc (A-3)']);
});

test('an alarm that becomes worse is sent as a new one, with the end of the lesser', async () => {
  const { open, after, texts } = await openBench();
  await open('network:live:bsc', 'network_fault');
  await after(MINUTE_MS);
  await open('network:live:bsc', 'chain_id_mismatch');
  await after(MINUTE_MS);
  assert.equal(texts(), ['x: network fault on live:bsc (A-1)', 'x: 2 notices']);
  await after(10 * MINUTE_MS);
  assert.is(texts().length, 2);
});

test('after the clock was set back a target still hears of alarms', async () => {
  const { open, after, texts } = await openBench();
  await open('wallet:a', 'wallet_low');
  await after(0);
  await open('wallet:b', 'wallet_low');
  await after(-30 * DAY_MS);
  assert.is(texts().length, 2);
});

let answered = 503;
test('a service that fails is tried again for a day, the other targets hear of it, and of its return', async () => {
  const { database, clock, server, add, prove, open, after, texts } = await openBench({
    targets: [{}, { kind: 'webhook' }],
    status: () => answered,
  });
  await database.alarms.removeTarget('nt_1', act(clock.nowMs()));
  const address = JSON.stringify({ url: `${server.origin}/ntfy/secret_topic`, token: 'tk_secret' });
  await add('nt_2', { kind: 'ntfy', address, severity: 'act' });
  await prove('nt_2');
  await open('wallet:a', 'wallet_low');
  await after(0);
  assert.is(texts().length, 1);
  const [first] = await database.alarms.listTargets();
  assert.is(first?.failingSinceMs, clock.nowMs());
  assert.match(first?.lastError ?? '', /^503: said/);
  for (const minutes of [1, 2, 4, 8, 16, 32]) await after(minutes * MINUTE_MS);
  assert.is(texts().length, 7);
  for (let hour = 0; hour < 24; hour++) await after(HOUR_MS);
  const [open1] = (await database.alarms.listOpen()).filter(({ code }) => code === 'notice_target_failing');
  assert.match(open1?.message ?? '', /nt_\d.*503/);
  assert.not.match(open1?.message ?? '', /secret/);
  answered = 200;
  await open('wallet:b', 'wallet_low');
  await after(2 * HOUR_MS);
  assert.is((await database.alarms.listTargets())[0]?.failingSinceMs, null);
  const left = (await database.alarms.listOpen()).filter(({ code }) => code === 'notice_target_failing');
  assert.equal(left, []);
  const [last] = server.on('/ntfy/').slice(-1);
  assert.is(last?.headers.authorization, 'Bearer tk_secret');
});

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
  assert.is(seen.length, 2);
  assert.is(seen[0], seen[1]);
});

test('a target that is not proved gets nothing, and after five wrong codes none proves it', async () => {
  const { add, prove, open, after, texts } = await openBench();
  await add('nt_9', { code: '654321' });
  await open('frozen:live:bsc', 'payouts_frozen');
  await after(0);
  assert.is(texts('nt_0').length, 1);
  assert.equal(texts('nt_9'), []);
  for (let n = 0; n < 5; n++) assert.is(await prove('nt_9', '000000'), 'wrong');
  assert.is(await prove('nt_9', '654321'), 'too_many');
  assert.is(await prove('nt_8', '654321'), null);
  await after(48 * HOUR_MS);
  assert.equal(texts('nt_9'), []);
});

test('a dead-man URL is called each minute, not while a page is open, and soon after it failed', async () => {
  const { database, open, end, after, server } = await openBench({
    targets: [{ kind: 'dead-man' }],
    status: () => answered,
  });
  const calls = () => server.on('/nt_0').length;
  await after(0);
  await open('rates', 'rates_stale');
  await after(30_000);
  assert.is(calls(), 1);
  await after(30_000);
  assert.is(calls(), 2);
  await open('frozen:live:bsc', 'payouts_frozen');
  await after(2 * MINUTE_MS);
  assert.is(calls(), 2);
  await end('frozen:live:bsc');
  await after(MINUTE_MS);
  assert.is(calls(), 3);
  answered = 503;
  for (let minute = 0; minute < 60; minute++) await after(MINUTE_MS);
  assert.is(calls(), 63, 'each minute, however long it fails');
  assert.ok((await database.alarms.listTargets())[0]?.failingSinceMs);
  answered = 200;
  await after(MINUTE_MS);
  assert.is((await database.alarms.listTargets())[0]?.failingSinceMs, null);
});

test.run();
