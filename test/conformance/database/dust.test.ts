/** Transfers that anyone can send to an address that they have seen: dust, and very many of them. */
import * as assert from 'uvu/assert';
import { PAYMENTS_MAX } from '../../../src/database/session.ts';
import { has } from '../../support/fields.ts';
import { allExtended, cancelSession, endpoint, eventTypes, fails, inWorlds, pays, show, start } from './place.ts';

/** 0.01 of a stablecoin. */
const FLOOR_PAR = 10n ** 16n;

const test = inWorlds('dust');

test('a transfer below the dust floor is kept as a fact and touches nothing else', async ({ database, one }) => {
  await database.endpoints.add(endpoint('e1', { extendedEvents: allExtended }));
  const to = await start(database, 'o1');
  const before = await show(database, 'o1');
  const dust = { ...pays(to, 0n), units: 9_999n };
  const block = one.child();
  const connect = [{ block, transfers: [dust] }];
  assert.is(await one.step({ connect, dustFloorPar: FLOOR_PAR }), 'done');
  one.chain.push(block);
  await one.confirm(block);
  await one.step({ floor: block.number });
  assert.equal(await show(database, 'o1'), before);
  assert.equal(await eventTypes(database, 'cs_o1'), []);
  assert.equal(await database.blocks.unconfirmed('test:one', 0, 10), []);
  assert.equal(await database.blocks.waiting('test:one', block.hash), []);
  assert.equal(await database.alarms.list(10), []);
  assert.equal((await database.ledger.verify()).balances, []);
  assert.is((await cancelSession(database, 'cs_o1')).kind, 'done');
});

test('dust to an address that nobody has taken raises no alarm', async ({ database, one }) => {
  const [free] = await database.addresses.watchList({ family: 'evm', mode: 'test' }, 0, 1);
  const dust = { ...pays(free?.key ?? '', 0n), units: 1n };
  assert.is(await one.step({ connect: [{ block: one.child(), transfers: [dust] }], dustFloorPar: FLOOR_PAR }), 'done');
  assert.equal(await database.alarms.list(10), []);
});

test('a block whose dust differs from what was read before is refused like any other', async ({ database, one }) => {
  const to = await start(database, 'o1');
  const dust = { ...pays(to, 0n), units: 5n };
  const block = one.child();
  assert.is(await one.step({ connect: [{ block, transfers: [dust] }], dustFloorPar: FLOOR_PAR }), 'done');
  one.chain.push(block);
  await one.reorg(1, [[], []]);
  await fails(one.reconnect(2, [{ block, transfers: [] }]), 'node_contradicts_itself');
});

test('dust of the same transaction decides nothing about when money came', async ({ database, one, two }) => {
  const to = await start(database, 'o1');
  const { expiresAtS } = (await show(database, 'o1')).terms;
  const tx = '0xmoved';
  const dust = { ...pays(to, 0n, { tx }), units: 1n };
  const money = pays(to, 1_000n, { tx, index: 1 });
  const first = one.child(undefined, expiresAtS);
  const connect = [{ block: first, transfers: [dust, money] }];
  assert.is(await one.step({ connect, dustFloorPar: FLOOR_PAR }), 'done');
  one.chain.push(first);
  // Mined again after the deadline: the payer was in time. That name on another network is another transaction.
  const again = one.child(one.chain.at(-2), expiresAtS + 2_000);
  const step = { drop: [first.hash], connect: [{ block: again, transfers: [dust, money] }] };
  assert.is(await one.step({ ...step, dustFloorPar: FLOOR_PAR }), 'done');
  one.chain = [...one.chain.slice(0, -1), again];
  await two.mine([pays(to, 500n, { tx, index: 1, network: 'two' })], expiresAtS + 2_000);
  has((await show(database, 'o1')).standing, { seenPar: 1_000n * FLOOR_PAR, latePar: 500n * FLOOR_PAR });
});

test('of many transfers the newest are shown, and sums are exact', async ({ database, one, two }) => {
  const to = await start(database, 'o1');
  const extra = 30;
  const blocks = [];
  for (let n = 0; n < PAYMENTS_MAX + extra; n++) blocks.push(await one.mine([pays(to, 1n)]));
  two.nowMs += 1_000;
  blocks.push(await two.mine([pays(to, 1n, { network: 'two' })]));
  const seen = await show(database, 'o1');
  assert.is(seen.paymentCount, PAYMENTS_MAX + extra + 1);
  assert.is(seen.payments.length, PAYMENTS_MAX);
  assert.is(seen.payments.at(-1)?.networkKey, 'test:two', 'the newest is last');
  assert.is(seen.payments[0]?.block, blocks[extra + 1]?.hash);
  assert.is(seen.standing.seenPar, BigInt(PAYMENTS_MAX + extra + 1) * FLOOR_PAR);
  await one.confirm(...blocks.slice(0, 50));
  await one.step({ floor: blocks[19]?.number ?? null });
  await one.reorg(10, [[], []]);
  has((await show(database, 'o1')).standing, {
    seenPar: BigInt(PAYMENTS_MAX + extra + 1 - 60) * FLOOR_PAR,
    confirmedPar: 50n * FLOOR_PAR,
  });
});

test.run();
