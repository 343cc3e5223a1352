import * as assert from 'uvu/assert';
import { LOOKUP_AGE_MS_MAX, type ReportedTransfer, type TransactionReport } from '../../../src/core/lookup.ts';
import type { Database } from '../../../src/database/database.ts';
import { addressOf, inWorlds, keyOf, newSession, pays, sessionOf, show, T0_MS } from './place.ts';

const NETWORK = 'test:one';

/** Requests a lookup on one network. */
const ask = (
  database: Database,
  tx: string,
  more: { sessionId?: string; network?: 'test:one' | 'live:one'; nowMs?: number } = {},
) =>
  database.lookups.request({
    sessionId: more.sessionId ?? 'cs_o1',
    asks: [{ network: more.network ?? NETWORK, family: 'evm', tx }],
    nowMs: more.nowMs ?? T0_MS,
  });

/** Returns the result of a lookup when the node reports these transfers in this block. */
async function findingOf(
  database: Database,
  tx: string,
  transfers: readonly ReportedTransfer[],
  number = 1,
  network: 'test:one' | 'live:one' = NETWORK,
) {
  await ask(database, tx, { network });
  const due = await database.lookups.claim(network, T0_MS, 100);
  const own = due.find((one) => one.tx === tx);
  assert.ok(own, 'it is due');
  await database.lookups.answer({
    ...own,
    report: { kind: 'mined', number, succeeded: true, transfers },
    nowMs: T0_MS,
  });
  return (await database.lookups.list('cs_o1')).find((one) => one.tx === tx && one.network === network)?.finding;
}

const lookupOf = (tx: string) => ({ sessionId: 'cs_o1', network: NETWORK, tx }) as const;

const test = inWorlds('lookups');

test('a lookup is due, answered, and asked again while it may change', async ({ database }) => {
  await database.sessions.create(newSession('o1'));
  await ask(database, '0xa');
  assert.equal(await database.lookups.list('cs_o1'), [
    { network: NETWORK, tx: '0xa', askedAtMs: T0_MS, finding: null, isOpen: true },
  ]);
  assert.equal(await database.lookups.claim('test:two', T0_MS, 10), []);
  const [due] = await database.lookups.claim(NETWORK, T0_MS, 10);
  assert.is(due?.tx, '0xa');
  await database.lookups.answer({ ...lookupOf('0xa'), report: { kind: 'unknown' }, nowMs: T0_MS + 100 });
  assert.equal(await database.lookups.claim(NETWORK, T0_MS + 100, 10), [], 'not at once');
  assert.equal((await database.lookups.claim(NETWORK, T0_MS + 5000, 10)).length, 1);
  const failed = { kind: 'mined', number: 1, succeeded: false, transfers: [] } as const;
  await database.lookups.answer({ ...lookupOf('0xa'), report: failed, nowMs: T0_MS + 5000 });
  assert.equal(await database.lookups.list('cs_o1'), [
    { network: NETWORK, tx: '0xa', askedAtMs: T0_MS, finding: 'failed', isOpen: false },
  ]);
  assert.equal(await database.lookups.claim(NETWORK, T0_MS + 60_000, 10), [], 'this result is final');
  await ask(database, '0xa', { nowMs: T0_MS + 70_000 });
  assert.equal((await database.lookups.claim(NETWORK, T0_MS + 70_000, 10)).length, 1, 'until somebody asks again');
});

test('a node that could not tell is asked again later, and an earlier result stays', async ({ database }) => {
  await database.sessions.create(newSession('o1'));
  await ask(database, '0xa');
  await database.lookups.claim(NETWORK, T0_MS, 10);
  const answer = (report: TransactionReport | null, nowMs: number) =>
    database.lookups.answer({ ...lookupOf('0xa'), report, nowMs });
  const finding = async () => (await database.lookups.list('cs_o1')).map((one) => [one.finding, one.isOpen]);
  await answer(null, T0_MS);
  assert.equal(await finding(), [[null, true]]);
  assert.equal(await database.lookups.claim(NETWORK, T0_MS, 10), [], 'not at once');
  await answer({ kind: 'waiting' }, T0_MS + 3000);
  await answer(null, T0_MS + 6000);
  assert.equal(await finding(), [['waiting', true]]);
  await ask(database, '0xb');
  assert.is((await database.lookups.claim(NETWORK, T0_MS, 10))[0]?.tx, '0xb');
  await database.lookups.answer({ ...lookupOf('0xb'), report: null, nowMs: T0_MS + LOOKUP_AGE_MS_MAX - 1 });
  assert.equal((await finding())[1], [null, true]);
});

test('lookups end after a while, and a session keeps a limited number of them', async ({ database }) => {
  await database.sessions.create(newSession('o1'));
  await ask(database, '0xold');
  assert.equal(await database.lookups.claim(NETWORK, T0_MS + LOOKUP_AGE_MS_MAX, 10), []);
  for (let n = 0; n < 100; n++) await ask(database, `0x${n}`, { nowMs: T0_MS + n });
  const kept = (await database.lookups.list('cs_o1')).map(({ tx }) => tx);
  assert.is(kept.length, 60);
  assert.ok(kept.includes('0x99') && !kept.includes('0xold'), 'the oldest was deleted');
  assert.is((await database.lookups.claim(NETWORK, T0_MS + 200, 7)).length, 7);
  await database.sessions.create(newSession('o2'));
  for (let n = 0; n < 5; n++) await ask(database, '0xnext', { sessionId: 'cs_o2', nowMs: T0_MS + 2 * 86_400_000 });
  assert.equal(await database.lookups.list('cs_o1'), [], 'they are deleted after a day');
});

test('the result depends on whose address it is, on the token, and on what was read', async ({ database, one }) => {
  const own = addressOf(sessionOf(await database.sessions.create(newSession('o1', { accepts: ['USDT'] }))));
  const other = addressOf(sessionOf(await database.sessions.create(newSession('o2'))));
  const stranger = 'ee'.repeat(20);
  const nobodys = keyOf(30);
  const to = (key: string, currency: ReportedTransfer['currency'] = 'USDT'): ReportedTransfer => ({
    to: key,
    currency,
  });
  assert.is(await findingOf(database, '0x01', [to(stranger)]), 'elsewhere');
  assert.is(await findingOf(database, '0x02', [to(nobodys)]), 'elsewhere', 'an address that no session took');
  assert.is(await findingOf(database, '0x03', [to(stranger), to(other)]), 'other_order');
  assert.is(await findingOf(database, '0x04', [to(other), to(own, 'USDC')]), 'wrong_token');
  assert.is(await findingOf(database, '0x05', [to(own, null)]), 'wrong_token');
  assert.is(await findingOf(database, '0x06', [to(own)], 1, 'live:one'), 'wrong_network');
  assert.is(await findingOf(database, '0x07', [to(own)], 10_000), 'unread');
  await one.mine([pays(own, 400n, { tx: '0x08' })]);
  assert.is(await findingOf(database, '0x08', [to(own)]), 'kept');
  await one.reorg(1, [[]]);
  assert.is(await findingOf(database, '0x08', [to(own)], 10_000), 'unread', 'its block has left the chain');
});

test('missed money is reported, raises one alarm, and is not credited', async ({ database, one }) => {
  const own = addressOf(sessionOf(await database.sessions.create(newSession('o1'))));
  const block = await one.mine();
  await one.step({ floor: block.number });
  const transfers = [{ to: own, currency: 'USDT' as const }];
  const before = await show(database, 'cs_o1');
  assert.is(await findingOf(database, '0x09', transfers, block.number), 'missed');
  assert.is(await findingOf(database, '0x09', transfers, block.number), 'missed');
  assert.equal(await show(database, 'cs_o1'), before);
  const alarms = await database.alarms.list(10);
  assert.equal(
    alarms.map(({ code, network, sessionId }) => [code, network, sessionId]),
    [['transfer_missed', NETWORK, 'cs_o1']],
  );
  assert.match(alarms[0]?.message ?? '', '0x09');
});

test('the answer to a deleted lookup is ignored', async ({ database }) => {
  await database.lookups.answer({ ...lookupOf('0xa'), report: { kind: 'unknown' }, nowMs: T0_MS });
  assert.equal(await database.alarms.list(10), []);
});

test.run();
