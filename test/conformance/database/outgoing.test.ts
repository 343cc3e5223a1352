import * as assert from 'uvu/assert';
import type { RefundIntent } from '../../../src/core/intent.ts';
import type { ChainTransfer } from '../../../src/core/transfer.ts';
import type { Database } from '../../../src/database/database.ts';
import { column, has, have } from '../../support/fields.ts';
import { thawAll } from '../../support/thaw.ts';
import { allot, network, refund as plainRefund, plan, signatureOf } from './payout-scene.ts';
import { act, booksAgree, type Feed, inWorlds, keyOf, T0_MS } from './place.ts';

const [wallet, gas, treasury, payee] = ['a1', 'a2', 'a3', 'b1'].map((part) => part.repeat(20)) as [
  string,
  string,
  string,
  string,
  string,
];

const refund = (id: string, units = 500n): RefundIntent => plainRefund(id, { to: payee, units });

const leaves = (tx: string, more: Partial<ChainTransfer> = {}): ChainTransfer => ({
  tx,
  index: 0,
  currency: 'USDT',
  from: wallet,
  to: payee,
  units: 500n,
  isOutgoing: true,
  ...more,
});

async function watch(database: Database): Promise<number> {
  await database.wallets.recordOwn(network, { refund: wallet, gas, treasury });
  return (await database.wallets.listOwn(network)).at(-1)?.seq ?? 0;
}

/** Adds a final block. */
async function mineFinal(feed: Feed, ...transfers: ChainTransfer[]): Promise<void> {
  const { number: floor } = await feed.mine(transfers);
  assert.is(await feed.step({ floor }), 'done');
}

/** The transfers that may have paid the refund r1: each equals it. */
const statesOf = async (database: Database) => (await database.payouts.equalTo('r1')).map(({ state }) => state);
const own = { payer: wallet, nonce: null };

/** Allots and signs the first attempt, which is this transaction. */
async function sign(database: Database, intent: RefundIntent, tx: string): Promise<void> {
  await allot(database, intent.id, own);
  await database.payouts.recordSigned(network, [{ ...signatureOf(intent, 1, own), tx }]);
}

const test = inWorlds('outgoing');

test('a final transfer that nothing explains freezes money out', async ({ database, one }) => {
  await watch(database);
  const block = await one.mine([leaves('t1')]);
  await database.wallets.judge(network, T0_MS);
  assert.is(await database.holds.find(network), null, 'it may be reorganised away');
  await one.step({ floor: block.number });
  for (let times = 0; times < 2; times++) await database.wallets.judge(network, T0_MS);
  assert.is((await database.holds.find(network))?.code, 'wallet_outflow_foreign');
  assert.is(await database.holds.find('test:two'), null);
  assert.match((await database.holds.find(network))?.reason ?? '', /^transaction t1 /);
  has((await database.audit.list(1))[0], { operator: 'quayside', command: 'payout freeze', target: network });
  await plan(database, refund('r1'));
  await database.wallets.judge(network, T0_MS);
  assert.is((await database.payouts.find('r1'))?.state, 'waiting', 'a person decides what it was');
  assert.is((await thawAll(database, network, act('payout reconcile'))).length, 1);
  await database.wallets.judge(network, T0_MS);
  assert.is(await database.holds.find(network), null, 'an operator has looked');
  assert.equal(await statesOf(database), ['known']);
  const adjusted = async () =>
    (await database.ledger.verify()).balances.flatMap(({ account, units }) => (account === 'adjusted' ? units : []));
  assert.equal(await adjusted(), [500n]);
  const book = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, storeId: null } as const;
  const exported = await database.ledger.bookPage(book, network, 0);
  const adjustments = exported.filter(({ kind }) => kind === 'adjustment');
  have(adjustments, [{ asset: 'USDT', units: 500n, reason: 'a test' }]);
  await booksAgree(database);
  const seen = { state: 'waiting', generation: 0, attemptCount: 0 } as const;
  const learned = { payer: wallet, payerRole: 'refund' } as const;
  const conclusion = { kind: 'paid', tx: 't1', feeUnits: 7n, generation: null, learned } as const;
  const resolve = act('payout resolve');
  assert.ok(await database.payouts.conclude({ id: 'r1', seen, conclusion, act: resolve }));
  assert.equal(await adjusted(), [], 'it paid a refund after all');
});

test('what an attempt explains is forgotten', async ({ database, one }) => {
  await watch(database);
  await plan(database, refund('r1'));
  await sign(database, refund('r1'), 't1');
  await mineFinal(one, leaves('t1'));
  await database.wallets.judge(network, T0_MS);
  assert.equal({ states: await statesOf(database), holds: await database.holds.list() }, { states: [], holds: [] });
});

test('a refund that an unexplained transfer may have paid is not allotted', async ({ database, one }) => {
  await watch(database);
  await plan(database, refund('r1'), refund('r2', 400n));
  await one.mine([leaves('t1')]);
  assert.equal(await allot(database, 'r1', own), { kind: 'moved' });
  assert.is((await database.payouts.find('r1'))?.wait?.code, 'refund_maybe_paid');
  assert.is(await database.payouts.cancel('r1', T0_MS), false);
  assert.is((await allot(database, 'r2', own)).kind, 'allotted');
  await one.reorg(1, [[]]);
  assert.equal(await statesOf(database), [], 'the block left the chain');
  assert.is(await database.payouts.cancel('r1', T0_MS), true);
});

test('the treasury spends what it likes', async ({ database, one }) => {
  await watch(database);
  await plan(database, refund('r1'));
  await mineFinal(one, leaves('t1', { from: treasury }));
  await database.wallets.judge(network, T0_MS);
  assert.equal({ states: await statesOf(database), holds: await database.holds.list() }, { states: [], holds: [] });
});

test('native coin that stays below the books freezes money out', async ({ database }) => {
  let nowMs = T0_MS;
  const compare = (heldUnits: bigint) => {
    nowMs += 200_000;
    return database.wallets.compareBooks({ network, heldUnits, nowMs });
  };
  await compare(100n);
  await plan(database, refund('r1'));
  await sign(database, refund('r1'), 't1');
  for (let times = 0; times < 2; times++) await compare(93n);
  const ended = { tx: 't1', feeUnits: 7n };
  await database.payouts.settle({ id: 'r1', generation: 0, outcome: { kind: 'succeeded', ended }, nowMs });
  for (let times = 0; times < 2; times++) await compare(93n);
  await compare(88n);
  assert.equal(await database.holds.list(), [], 'the node may be behind');
  for (let times = 0; times < 3; times++) await compare(88n);
  const short = await database.holds.find(network);
  const reason =
    'the refund and gas wallets of test:one hold 88 base units of the native coin, 5 base units of the native coin less than the books say';
  assert.equal({ code: short?.code, reason: short?.reason }, { code: 'wallet_balance_short', reason });
  await thawAll(database, network, act('payout thaw'));
  for (let times = 0; times < 3; times++) await compare(88n);
  assert.is(await database.holds.find(network), null, 'an operator has explained it');
  const { balances } = await database.ledger.verify();
  const adjusted = balances.filter(({ account }) => account === 'adjusted');
  have(adjusted, [{ asset: 'native', units: 5n }]);
});

test('a follower that does not know the newest wallet reads again', async ({ database, one }) => {
  const id = await watch(database);
  await plan(database, refund('r1'));
  const block = one.child();
  const connect = [{ block, transfers: [leaves('t1', { from: keyOf(33) })] }];
  assert.is(await one.step({ connect, ownWallet: 0 }), 'stale_watch');
  assert.is(await one.step({ connect, ownWallet: id - 1 }), 'stale_watch');
  assert.is(await one.step({ ownWallet: 0 }), 'done', 'where no block is read, none is read again');
  assert.is(await one.step({ connect, ownWallet: id }), 'done');
  assert.equal(await statesOf(database), []);
  await watch(database);
  assert.is((await database.wallets.listOwn(network)).length, 3);
});

test('what left the wallets in blocks that are read later is added and judged', async ({ database, one }) => {
  await watch(database);
  await mineFinal(one);
  const held = one.chain.at(-1);
  const skipped = one.child();
  const head = { ...one.child(), hash: 'head', parent: skipped.hash, number: skipped.number + 1 };
  await one.readThrough(T0_MS / 1000, 'following', head.number);
  const { number } = skipped;
  await database.networks.skip({ network, from: number, to: number, isDryRun: false, act: act('network reread') });
  assert.is(await one.step({ connect: [{ block: head, transfers: [] }], floor: head.number }), 'done');
  one.chain.push(head);
  await plan(database, refund('r1'), refund('known', 300n));
  await thawAll(database, network, act('payout thaw'));
  await sign(database, refund('known', 300n), 't0');
  const ours = leaves('t0', { units: 300n });
  const others = [leaves('t2', { from: treasury }), leaves('t3', { from: 'ee'.repeat(20) })];
  const blocks = [
    { block: held as typeof skipped, transfers: [leaves('t1', { units: 200n })] },
    { block: skipped, transfers: [ours, ...others, leaves('t4')] },
  ];
  const kinds = async (isCheck: boolean) => {
    const outcome = await database.blocks.saveReread({
      network,
      family: 'evm',
      decimals: { USDT: 6 },
      dustFloorPar: 1n,
      watchedThrough: 1_000_000,
      from: number - 1,
      to: number,
      blocks,
      anchor: head.hash,
      isCheck,
      act: act('network reread'),
    });
    assert.ok(outcome.kind === 'done');
    return outcome.differences.map(({ kind, transfer }) => [kind, transfer?.tx]);
  };
  const found = [
    ['outgoing', 't1'],
    ['outgoing', 't4'],
  ];
  assert.equal(await kinds(true), found);
  assert.equal(await statesOf(database), [], 'a check adds nothing');
  assert.equal(await kinds(false), found);
  assert.equal(await kinds(false), []);
  assert.is((await database.blocks.rereadAnchor(network, number))?.hash, skipped.hash, 'its block is held now');
  await database.wallets.judge(network, T0_MS);
  assert.equal(column(await database.wallets.listForeign(network, 9), 'tx'), ['t1', 't4']);
  assert.is((await database.holds.find(network))?.code, 'wallet_outflow_foreign');
});

test('a person answers for each transfer that equals a refund, in whatever order they were acknowledged', async (world) => {
  const { database, one } = world;
  await watch(database);
  await mineFinal(one, leaves('t1'), leaves('t2'));
  await database.wallets.judge(network, T0_MS);
  await plan(database, refund('r1'));
  const [first, second] = await database.payouts.equalTo('r1');
  assert.ok(first && second);
  const answer = async (...others: number[]) => {
    const seen = { state: 'waiting', generation: 0, attemptCount: 0 } as const;
    const conclusion = { kind: 'never', proof: null, ended: null, isRenewed: true, others } as const;
    return database.payouts.conclude({ id: 'r1', seen, conclusion, act: act('payout resolve') });
  };
  assert.is(await answer(first.id, second.id), false, 'nobody has acknowledged them');
  await thawAll(database, network, act('payout reconcile'));
  assert.is(await answer(second.id), false, 'the other one was not answered for');
  assert.is(await answer(first.id, second.id), true);
  assert.is((await allot(database, 'r1', own)).kind, 'allotted');
  await plan(database, refund('r2'));
  assert.is((await allot(database, 'r2', own)).kind, 'moved', 'an answer is for one refund');
  await mineFinal(one, leaves('t3'));
  await database.wallets.judge(network, T0_MS);
  await thawAll(database, network, act('payout reconcile'));
  assert.equal(column(await database.payouts.equalTo('r1'), 'tx'), ['t3']);
});

test.run();
