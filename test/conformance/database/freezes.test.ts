import * as assert from 'uvu/assert';
import type { Database } from '../../../src/database/database.ts';
import type { Freeze } from '../../../src/database/payouts/holds.ts';
import { column, has } from '../../support/fields.ts';
import { thawAll } from '../../support/thaw.ts';
import { allot, network, plan, refund } from './payout-scene.ts';
import { type Feed, inWorlds, T0_MS } from './place.ts';

const act = { atMs: T0_MS, operator: 'anna', command: 'payout freeze', reason: 'found' };
const freeze = (of: Freeze['network'], reason = 'a key was lost'): Freeze => ({
  network: of,
  code: 'payouts_frozen',
  reason,
  frozenBy: 'anna',
  sinceMs: T0_MS,
});
const seen = (...freezes: Freeze[]) => ({ freezes, transfers: [] });
const allotFirst = (database: Database) => allot(database, 'r1', { payer: 'a', nonce: null });

const test = inWorlds('freezes');

test('a freeze holds until it is thawed by its own name', async ({ database }) => {
  assert.is(await database.holds.find(network), null);
  assert.is(await database.holds.freeze(freeze(network), act), true);
  assert.is(await database.holds.freeze(freeze(network, 'another reason'), act), false);
  assert.equal(await database.holds.find(network), freeze(network));
  assert.is(await database.holds.find('test:two'), null);
  assert.is(await database.holds.freeze(freeze(null), null), true);
  assert.equal(await database.holds.find('test:two'), freeze(null));
  assert.equal(await database.holds.list(), [freeze(null), freeze(network)]);
  assert.equal(await thawAll(database, null, act), [freeze(null)]);
  assert.equal(await thawAll(database, null, act), []);
  assert.equal(await database.holds.find(network), freeze(network));
  assert.equal(await thawAll(database, network, act), [freeze(network)]);
  assert.equal(await database.holds.list(), []);
  const audit = await database.audit.list(10);
  assert.equal(
    audit.map(({ target, before, after }) => [target, before?.reason ?? null, after?.reason ?? null]),
    [
      [network, 'a key was lost', null],
      ['every network', 'a key was lost', null],
      [network, null, 'a key was lost'],
    ],
    'what froze it by itself is no act of an operator',
  );
});

test('what froze it for another cause continues beside it, and only what was shown is ended', async ({ database }) => {
  const stolen = { ...freeze(network, 'money left'), code: 'wallet_outflow_foreign', frozenBy: 'quayside' };
  const short = { ...stolen, code: 'wallet_balance_short', sinceMs: T0_MS + 1 };
  for (const one of [freeze(network), stolen, short, freeze(null)])
    assert.is(await database.holds.freeze(one, null), true);
  assert.is(await database.holds.freeze({ ...stolen, reason: 'more' }, null), false);
  assert.equal(await database.holds.list(), [freeze(null), freeze(network), stolen, short]);
  assert.equal(await database.holds.thaw(seen(freeze(network)), act), [freeze(network)]);
  assert.equal(await database.holds.thaw(seen({ ...stolen, sinceMs: 1 }), act), [], 'it is another one');
  assert.equal(await database.holds.thaw(seen(freeze(null), stolen), act), [freeze(null), stolen]);
  assert.equal(await database.holds.find(network), short);
  assert.equal(await thawAll(database, network, act), [short]);
  assert.is(await database.holds.find(network), null);
  const audit = await database.audit.list(10);
  assert.equal(
    audit.map(({ target, before }) => [target, before?.code]),
    [
      [network, 'wallet_balance_short'],
      [network, 'wallet_outflow_foreign'],
      ['every network', 'payouts_frozen'],
      [network, 'payouts_frozen'],
    ],
  );
});

test('no attempt is allotted where money out is frozen', async ({ database, place }) => {
  const other = place.connect();
  await plan(database, refund('r1'));
  for (const scope of [network, null] as const) {
    await other.holds.freeze(freeze(scope), act);
    assert.equal(await allotFirst(database), { kind: 'moved' });
    await thawAll(other, scope, act);
  }
  await other.holds.freeze(freeze('test:two'), act);
  assert.is((await allotFirst(database)).kind, 'allotted');
  other.close();
});

const skip = (database: Database, from: number, to = from) =>
  database.networks.skip({ network, from, to, isDryRun: false, act: { ...act, command: 'network reread' } });
/** Makes the node show blocks that are not read. */
const showHead = (one: Feed, number: number) => one.readThrough(T0_MS / 1000, 'following', number);

test('skipped blocks that may hide a payment freeze money out', async ({ database, one }) => {
  await showHead(one, 300);
  await database.wallets.recordOwn(network, { refund: 'a', gas: 'b', treasury: 'd' });
  await plan(database, refund('r1'), refund('r2'));
  const cancel = () => database.payouts.cancel('r2', T0_MS);
  const seenNow = { state: 'waiting', generation: 0, attemptCount: 0 } as const;
  const conclusion = { kind: 'never', proof: null, ended: null, isRenewed: false, others: [] } as const;
  const never = () => database.payouts.conclude({ id: 'r2', seen: seenNow, conclusion, act });
  const doubt = async () => (await database.payouts.doubt('r2'))?.code ?? null;
  assert.is(await doubt(), null);
  await skip(database, 110, 119);
  await skip(database, 150);
  const frozen = await database.holds.find(network);
  assert.ok(frozen);
  has(frozen, { network, code: 'blocks_unsearched', sinceMs: T0_MS });
  assert.match(
    frozen.reason,
    /^blocks 110 to 119 .*`quayside network reread test:one --from 110 --to 119`.*block 150 /,
  );
  assert.equal(await database.holds.list(), [frozen]);
  assert.equal(await allotFirst(database), { kind: 'moved' });
  assert.equal(await database.holds.freeze(freeze(network), act), true, 'besides, an operator freezes it');
  assert.equal(column(await database.holds.list(), 'code'), ['blocks_unsearched', 'payouts_frozen']);
  assert.equal(await database.holds.thaw(seen(freeze(network)), act), [freeze(network)]);
  assert.equal(await allotFirst(database), { kind: 'moved' }, 'the gap is another reason');
  assert.equal(
    { canceled: await cancel(), never: await never(), doubt: await doubt() },
    { canceled: false, never: false, doubt: 'blocks_unsearched' },
  );
  const closed = await database.networks.closeGaps(network, { from: 110, to: 119, doubtful: [] }, act);
  assert.equal(column(closed, 'holdsPayouts'), [true]);
  assert.is((await database.holds.find(network))?.code, 'blocks_unsearched', 'only a person ends it');
  assert.equal([await cancel(), await never()], [false, false], 'it may have been paid in the other one');
  const before = { ...frozen, reason: '', sinceMs: T0_MS - 1 };
  assert.equal(await database.holds.thaw(seen({ ...frozen, ...before }), act), [], 'it was not shown');
  const reworded = { ...frozen, reason: 'the same in other words' };
  assert.equal(await database.holds.thaw(seen(reworded), act), [reworded]);
  assert.is(await database.holds.find(network), null);
  assert.equal(await thawAll(database, network, act), []);
  const [entry] = await database.audit.list(1);
  assert.equal({ code: entry?.before?.code, after: entry?.after }, { code: 'blocks_unsearched', after: null });
  assert.is((await allotFirst(database)).kind, 'allotted');
  assert.is(await doubt(), null, 'a person looked before the thaw');
  assert.is(await cancel(), true);
});

test('while payments may have been missed, nothing is canceled or ended', async ({ database }) => {
  await plan(database, refund('r1'));
  for (const code of ['wallets_unknown', 'row_altered']) {
    await database.holds.freeze({ ...freeze(network), code, frozenBy: 'quayside' }, null);
    assert.is(await database.payouts.cancel('r1', T0_MS), false, code);
    assert.equal(await database.payouts.doubt('r1'), { code, message: 'a key was lost' });
    await thawAll(database, network, act);
  }
  await database.holds.freeze(freeze(network), null);
  assert.is(await database.payouts.cancel('r1', T0_MS), true, 'an operator’s own freeze hides nothing');
});

test('skipped blocks freeze nothing without wallets', async ({ database, one }) => {
  await showHead(one, 300);
  await skip(database, 110);
  assert.is(await database.holds.find(network), null);
  await database.wallets.recordOwn(network, { refund: 'a', gas: 'b', treasury: 'd' });
  await skip(database, 120);
  assert.is((await database.holds.find(network))?.code, 'blocks_unsearched');
});

test.run();
