/**
 * Somebody who can write to the database file and has no key: the roles of our own wallets, what has left them, and
 * suspensions of stores. What they alter is not used, and an alarm names it.
 */
import Sqlite from 'better-sqlite3';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { RefundIntent } from '../../../src/core/intent.ts';
import type { ChainTransfer } from '../../../src/core/transfer.ts';
import type { Database } from '../../../src/database/database.ts';
import { act, type Feed, inWorld, keyOf, pool, T0_MS, type World } from '../../conformance/database/place.ts';
import { thawAll } from '../../support/thaw.ts';
import { until } from '../../support/until.ts';

const network = 'test:one';
const [wallet, treasury, payee] = ['a1', 'a3', 'b1'].map((part) => part.repeat(20)) as [string, string, string];
const wallets = [
  { role: 'refund', key: wallet },
  { role: 'treasury', key: treasury },
] as const;
const leaves = (tx: string): ChainTransfer => ({
  tx,
  index: 0,
  currency: 'USDT',
  from: wallet,
  to: payee,
  units: 500n,
  isOutgoing: true,
});
const intent: RefundIntent = {
  kind: 'refund',
  session: { id: 'cs_1', amount: '5.00' },
  id: 'rf_1',
  network,
  currency: 'USDT',
  to: payee,
  units: 500n,
  mac: 'c',
};

type Scene = World & Readonly<{ alter(sql: string): void; count(sql: string): number }>;

const test = suite('MACs of money out');

/** Adds a test with a database, its wallets, and a way to write to its file as another program does. */
function scene(name: string, work: (scene: Scene) => Promise<void>): void {
  let file = '';
  function alter(sql: string): void {
    const raw = new Sqlite(file);
    assert.is(raw.prepare(sql).run().changes, 1, sql);
    raw.close();
  }
  const count = (sql: string) => {
    const raw = new Sqlite(file, { readonly: true });
    const found = raw.prepare(sql).pluck().get() as number;
    raw.close();
    return found;
  };
  test(
    name,
    inWorld(async (world) => {
      file = world.place.file;
      await world.database.recordOwnWallets(network, wallets);
      await work({ ...world, alter, count });
    }),
  );
}

async function mine(feed: Feed, isFinal: boolean, ...transfers: ChainTransfer[]): Promise<void> {
  const block = feed.child();
  assert.is(await feed.step({ connect: [{ block, transfers }] }), 'done');
  feed.chain.push(block);
  if (isFinal) assert.is(await feed.step({ floor: block.number }), 'done');
}

const alarmed = (database: Database, text: string) =>
  until(`an alarm names ${text}`, async () =>
    (await database.alarms.list(20)).some(({ code, message }) => code === 'row_altered' && message.includes(text)),
  );
const statesOf = async (database: Database) => (await database.listOutgoing(network, 10)).map(({ state }) => state);

for (const change of [`role = 'treasury'`, `network = 'test:two'`, `key = '${'8'.repeat(40)}'`, 'mac = NULL']) {
  scene(`a wallet whose row was altered (${change}) has no role until it is recorded again`, async (world) => {
    const { database, one, alter } = world;
    alter(`UPDATE own_wallets SET ${change} WHERE role = 'refund' AND network = '${network}'`);
    const known = async () => (await database.listOwnWallets(network)).map(({ role, key }) => ({ role, key }));
    assert.equal(await known(), [wallets[1]]);
    assert.equal(await database.listOwnWallets('test:two'), []);
    if (!change.startsWith('network')) await alarmed(database, 'own_wallets');
    await mine(one, true, leaves('t1'));
    assert.equal(await statesOf(database), [], 'it is nobody’s transfer');
    const before = Math.max(...(await database.listOwnWallets(network)).map(({ id }) => id));
    await database.recordOwnWallets(network, wallets);
    assert.equal(await known(), [wallets[1], wallets[0]]);
    assert.is(
      world.count(`SELECT count(*) FROM own_wallets WHERE network = '${network}'`),
      2,
      'the altered row is gone',
    );
    const [, again] = await database.listOwnWallets(network);
    assert.ok((again?.id ?? 0) > before, 'followers learn it from its new id');
    await mine(one, true, leaves('t2'));
    await database.judgeOutgoing(network, T0_MS);
    assert.is((await database.findFreeze(network))?.code, 'wallet_outflow_foreign');
  });
}

for (const change of [`key = '${payee}'`, 'derivation_index = 77']) {
  scene(`a deposit address whose row was altered (${change}) is none of ours`, async ({ database, alter }) => {
    assert.is(await database.addresses.depositIndex(pool, keyOf(5)), 4);
    alter(`UPDATE addresses SET ${change} WHERE key = '${keyOf(5)}'`);
    assert.is(await database.addresses.depositIndex(pool, change.startsWith('key') ? payee : keyOf(5)), null);
    await alarmed(database, 'addresses');
  });
}

scene('an altered row of the newest wallet does not stop its follower', async ({ database, one, alter }) => {
  alter(`UPDATE own_wallets SET mac = NULL WHERE role = 'treasury'`);
  const [known] = await database.listOwnWallets(network);
  const step = { connect: [{ block: one.child(), transfers: [] }], ownWalletId: known?.id ?? 0 };
  assert.is(await one.step(step), 'done');
});

scene('a wallet with another role written beside its own keeps its own', async ({ database, one, alter }) => {
  alter(`DELETE FROM own_wallets WHERE role = 'refund'`);
  alter(`INSERT INTO own_wallets (network, role, key) VALUES ('${network}', 'treasury', '${wallet}')`);
  await database.recordOwnWallets(network, wallets);
  await mine(one, true, leaves('t1'));
  await database.judgeOutgoing(network, T0_MS);
  assert.is((await database.findFreeze(network))?.code, 'wallet_outflow_foreign');
});

const outgoingChanges = [
  `role = 'treasury'`,
  `units = '499'`,
  `to_key = '${'8'.repeat(40)}'`,
  `currency = 'USDC'`,
  `tx = 't9'`,
  `from_key = '${treasury}'`,
  `block_number = 1`,
  'mac = NULL',
];
for (const change of outgoingChanges) {
  scene(
    `an outgoing transfer that was altered (${change}) freezes money out, explains nothing, and can be ended`,
    async (world) => {
      const { database, one, alter } = world;
      await mine(one, false, leaves('t1'));
      alter(`UPDATE outgoing_transfers SET ${change}`);
      await mine(one, true);
      await database.planPayouts([{ intent, sessionId: null, servesId: null, notBeforeMs: T0_MS, nowMs: T0_MS }]);
      await database.judgeOutgoing(network, T0_MS);
      assert.is((await database.findFreeze(network))?.code, 'row_altered');
      await alarmed(database, 'out of our wallet');
      assert.equal(await statesOf(database), [], 'it is not shown');
      await thawAll(database, network, act('payout thaw'));
      await database.judgeOutgoing(network, T0_MS);
      assert.is(await database.findFreeze(network), null);
    },
  );
}

scene('a transfer that an operator has seen does not settle a refund when its state is put back', async (world) => {
  const { database, one, alter } = world;
  await mine(one, true, leaves('t1'));
  await database.judgeOutgoing(network, T0_MS);
  await thawAll(database, network, act('payout thaw'));
  assert.equal(await statesOf(database), ['known']);
  alter(`UPDATE outgoing_transfers SET state = 'open'`);
  await database.planPayouts([{ intent, sessionId: null, servesId: null, notBeforeMs: T0_MS, nowMs: T0_MS }]);
  await database.judgeOutgoing(network, T0_MS);
  assert.is((await database.findFreeze(network))?.code, 'row_altered');
});

scene('a refund is not allotted while an altered transfer may have paid it', async ({ database, one, alter }) => {
  await mine(one, false, leaves('t1'));
  alter(`UPDATE outgoing_transfers SET units = '1'`);
  await database.planPayouts([{ intent, sessionId: null, servesId: null, notBeforeMs: T0_MS, nowMs: T0_MS }]);
  const attempt = {
    id: intent.id,
    generation: 0,
    attempt: 0,
    payer: wallet,
    payerRole: 'refund',
    nonce: null,
  } as const;
  const terms = { intent, terms: {}, feeUnitsMax: 9n, nowMs: T0_MS };
  assert.equal(await database.allotAttempt({ ...attempt, ...terms }), { kind: 'moved' });
});

for (const change of [
  'suspended_at_ms = NULL, suspended_because = NULL',
  `suspended_because = 'nothing'`,
  'suspended_at_ms = 5',
  'mac = NULL',
]) {
  scene(`a store whose suspension was altered (${change}) stays suspended`, async ({ database, alter }) => {
    await database.stores.suspend('m1', 'suspended', act('store suspend'), false);
    assert.equal(await database.stores.listSuspended(), ['m1']);
    alter(`UPDATE stores SET ${change} WHERE id = 'm1'`);
    assert.equal(await database.stores.listSuspended(), ['m1']);
    assert.match((await database.stores.find('m1'))?.suspension?.because ?? '', /altered/);
    await alarmed(database, 'store m1');
    const again = await database.stores.suspend('m1', 'suspended', act('store suspend'), false);
    assert.equal([again?.hasChanged, again?.store.suspension?.because], [true, 'a test']);
    await database.stores.suspend('m1', 'resumed', act('store resume'), false);
    assert.equal(
      [await database.stores.listSuspended(), (await database.stores.find('m1'))?.suspension],
      [[], undefined],
    );
  });
}

test.run();
