import * as assert from 'uvu/assert';
import type { GasIntent, SweepIntent } from '../../../src/core/intent.ts';
import { type SweepOwner, sweepIntent } from '../../../src/core/sweep.ts';
import type { ChainTransfer } from '../../../src/core/transfer.ts';
import type { Database } from '../../../src/database/database.ts';
import { mapInOrder } from '../../../src/database/engine/bodies.ts';
import type { PlannedSweep } from '../../../src/database/payouts/sweeps.ts';
import { has, have } from '../../support/fields.ts';
import { name, network, openIds, payer, sent, signatureOf, succeed } from './payout-scene.ts';
import { type Feed, fails, inWorlds, keyOf, pays, pool, start, T0_MS } from './place.ts';

const place = { network, pool } as const;
const treasury = 'd'.repeat(40);

/** Reads all pages, of two addresses each. */
async function unswept(database: Database): Promise<SweepOwner[]> {
  const owners: SweepOwner[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const page = await database.sweeps.unswept(place, after, 2);
    owners.push(...page.owners);
    after = page.next;
  }
  return owners;
}

/** Pays the n-th address in a final block. */
async function receive(feed: Feed, ...transfers: readonly ChainTransfer[]): Promise<void> {
  const block = await feed.mine(transfers);
  await feed.confirm(block);
  assert.is(await feed.step({ floor: block.number }), 'done');
}

const planned = (owners: readonly SweepOwner[]): PlannedSweep => {
  const sweep = sweepIntent(network, { currency: owners[0]?.currency ?? 'USDT', owners });
  return { sweep, keys: owners.map(({ key }) => key), before: [], after: null };
};
const plan = (database: Database, ...sweeps: readonly PlannedSweep[]) =>
  database.sweeps.plan({ ...place, treasury, sweeps, nowMs: T0_MS });

const gasOf = (sweepId: string, id: string): GasIntent => ({
  kind: 'gas',
  id: `${id} of ${sweepId}`,
  network,
  form: 'transfer',
  index: 0,
  units: 7n,
});

/** Carries out a planned sweep, or gas for one, as the engine does. */
async function carry(database: Database, intent: GasIntent | SweepIntent, journalId: number): Promise<void> {
  const { id } = intent;
  const own = { payerRole: 'collection', nonce: null, terms: {}, feeUnitsMax: 9n } as const;
  assert.is((await database.payouts.allot({ ...name(id), payer, ...own, intent, nowMs: T0_MS })).kind, 'allotted');
  await database.payouts.recordSigned(network, [{ ...signatureOf(intent, journalId), terms: {} }]);
  await sent(database, id);
  await succeed(database, id);
}

const test = inWorlds('sweeps');

/** Creates three sessions, so that three addresses are given out. */
const readyTest = (title: string, work: (database: Database, one: Feed, connect: () => Database) => Promise<void>) =>
  test(title, async ({ database, one, place: at }) => {
    await database.engines.nextFence(network, 0);
    for (const order of ['a', 'b', 'c']) await start(database, order);
    await work(database, one, () => at.connect());
  });

readyTest('only canonical, confirmed and final transfers count, by address and currency', async (database, one) => {
  assert.equal(await unswept(database), []);
  const block = await one.mine([
    pays(keyOf(1), 500n),
    pays(keyOf(1), 200n),
    pays(keyOf(3), 100n, { currency: 'USDC' }),
  ]);
  assert.equal(await unswept(database), [], 'seen');
  await one.confirm(block);
  assert.equal(await unswept(database), [], 'confirmed, but not final');
  await one.step({ floor: block.number });
  const common = { openUnits: 0n, sweepCount: 0 };
  assert.equal(await unswept(database), [
    { index: 0, key: keyOf(1), currency: 'USDT', units: 7_000_000n, ...common },
    { index: 2, key: keyOf(3), currency: 'USDC', units: 1_000_000n, ...common },
  ]);
  assert.equal((await database.sweeps.unswept({ ...place, network: 'test:two' }, 0, 10)).owners, []);
  assert.equal(
    (await database.sweeps.unswept({ ...place, pool: { family: 'other', mode: 'test' } }, 0, 10)).owners,
    [],
  );
});

readyTest('money that came before a session, or after its sweep, counts too', async (database, one) => {
  await receive(one, pays(keyOf(9), 300n));
  const [spoiled] = await unswept(database);
  assert.is(spoiled?.key, keyOf(9));
  await receive(one, pays(keyOf(1), 500n));
  const [first] = await unswept(database);
  assert.ok(first);
  const sweep = planned([first]);
  assert.equal(await plan(database, sweep), [sweep.sweep.id]);
  await carry(database, sweep.sweep, 1);
  one.nowMs += 5_000;
  await receive(one, pays(keyOf(1), 40n));
  const again = (await unswept(database)).find(({ key }) => key === keyOf(1));
  has(again, { units: 400_000n, openUnits: 0n, sweepCount: 1 });
});

readyTest('an open sweep holds what it takes; a canceled one frees it', async (database, one) => {
  await receive(one, pays(keyOf(1), 500n), pays(keyOf(2), 600n));
  const owners = await unswept(database);
  const sweep = planned(owners);
  assert.equal(await plan(database, sweep), [sweep.sweep.id]);
  have(await unswept(database), [
    { units: 0n, openUnits: 5_000_000n, sweepCount: 1 },
    { units: 0n, openUnits: 6_000_000n, sweepCount: 1 },
  ]);
  assert.ok(await database.payouts.cancel(sweep.sweep.id, T0_MS));
  const free = await unswept(database);
  have(free, [
    { units: 5_000_000n, openUnits: 0n, sweepCount: 1 },
    { units: 6_000_000n, openUnits: 0n, sweepCount: 1 },
  ]);
  const next = planned(free);
  assert.is.not(next.sweep.id, sweep.sweep.id);
  assert.equal(await plan(database, next), [next.sweep.id]);
  await carry(database, next.sweep, 1);
  assert.equal(await unswept(database), []);
});

readyTest('two engines that saw the same money plan it once, in any groups', async (database, one, connect) => {
  await receive(one, pays(keyOf(1), 500n), pays(keyOf(2), 600n), pays(keyOf(3), 700n));
  const other = connect();
  const [a, b, c] = await unswept(database);
  const [otherA, otherB, otherC] = await unswept(other);
  assert.ok(a && b && c && otherA && otherB && otherC);
  const [mine, theirs] = await Promise.all([
    plan(database, planned([a, b]), planned([c])),
    plan(other, planned([otherA]), planned([otherB, otherC]), planned([otherA, otherB])),
  ]);
  other.close();
  const taken = (await database.payouts.list({ kind: 'sweep', limit: 100 })).flatMap(({ intent }) =>
    intent.kind === 'sweep' ? intent.from.map(({ index }) => index) : [],
  );
  assert.is(new Set(taken).size, taken.length);
  assert.ok(mine.length + theirs.length > 0);
  assert.equal(await plan(database, planned([a, b]), planned([c])), [], 'nor a second time');
});

readyTest('a sweep with another key, more units or an unknown index is not planned', async (database, one) => {
  await receive(one, pays(keyOf(1), 500n));
  const [owner] = await unswept(database);
  assert.ok(owner);
  const wrong = [
    planned([{ ...owner, key: keyOf(2) }]),
    planned([{ ...owner, index: 5 }]),
    planned([{ ...owner, units: owner.units + 1n }]),
    planned([{ ...owner, currency: 'USDC' }]),
  ];
  assert.equal(await plan(database, ...wrong), []);
  assert.equal(await database.payouts.list({ limit: 10 }), []);
});

readyTest('a treasury that is a deposit address is refused', async (database, one) => {
  await receive(one, pays(keyOf(1), 500n));
  const sweeps = (await unswept(database)).map((owner) => planned([owner]));
  const work = database.sweeps.plan({ ...place, treasury: keyOf(30), sweeps, nowMs: T0_MS });
  await fails(work, 'treasury_collects');
  assert.equal(await database.payouts.list({ limit: 10 }), []);
});

readyTest('coin, loan, sweep and its return run one after another', async (database, one) => {
  await receive(one, pays(keyOf(1), 500n));
  const [owner] = await unswept(database);
  assert.ok(owner);
  const bare = planned([owner]);
  const { id } = bare.sweep;
  const [coin, loan, back] = [gasOf(id, 'coin'), gasOf(id, 'loan'), gasOf(id, 'back')];
  const chain = { ...bare, before: [coin, loan], after: back };
  assert.equal(await plan(database, chain), [id]);
  assert.equal(await plan(database, chain), []);
  for (const next of [coin.id, loan.id, id, back.id]) {
    assert.equal(await openIds(database), [next]);
    assert.ok(await database.payouts.cancel(next, T0_MS));
  }
  assert.equal(await openIds(database), []);
});

readyTest('a stale sweep is withdrawn with its gas; a made loan is reclaimed', async (database, one) => {
  await receive(one, pays(keyOf(1), 500n), pays(keyOf(2), 300n), pays(keyOf(3), 200n));
  const [a, b, c] = await unswept(database);
  assert.ok(a && b && c);
  const chainOf = (owner: SweepOwner) => {
    const bare = planned([owner]);
    const { id } = bare.sweep;
    const [coin, back] = [gasOf(id, 'coin'), { ...gasOf(id, 'back'), form: 'reclaim' as const }];
    return { ...bare, before: [coin, { ...gasOf(id, 'loan'), form: 'delegate' as const }], after: back };
  };
  const [unsigned, lent, short] = [chainOf(a), chainOf(b), planned([c])];
  await plan(database, unsigned, lent, short);
  const wait = { code: 'native_short', message: 'the gas wallet needs more' };
  await database.payouts.recordWait({ id: short.sweep.id, generation: 0, wait, nextLookAtMs: T0_MS, nowMs: T0_MS });
  const [coin, loan] = lent.before;
  assert.ok(coin && loan && (await database.payouts.cancel(coin.id, T0_MS)));
  await carry(database, loan, 1);
  const statesOf = ({ sweep, before, after }: PlannedSweep) =>
    Promise.all(
      [...before, sweep, ...(after ? [after] : [])].map(async ({ id }) => (await database.payouts.find(id))?.state),
    );

  const dueMs = T0_MS + 600_000;
  const withdraw = (isPossible: boolean, nowMs: number) =>
    mapInOrder([unsigned, lent, short], ({ sweep }) => database.sweeps.withdraw(sweep.id, isPossible, nowMs));
  assert.equal(await withdraw(true, dueMs - 1), [false, false, false]);
  assert.equal(await withdraw(true, dueMs), [true, true, false]);
  assert.equal(await statesOf(unsigned), ['canceled', 'canceled', 'canceled', 'canceled']);
  assert.equal(await statesOf(lent), ['canceled', 'succeeded', 'canceled', 'waiting']);
  assert.equal(await statesOf(short), ['waiting'], 'the wallet is short, and the alarm about it goes on');
  assert.equal((await openIds(database, 10, dueMs)).sort(), [lent.after?.id, short.sweep.id].sort());
  assert.equal(await withdraw(false, T0_MS), [false, false, true], 'one that is impossible goes at once');
  const [again] = (await unswept(database)).filter(({ key }) => key === a.key);
  has(again, { units: a.units, openUnits: 0n }, 'it is planned again');
});

readyTest('a sweep that only the signer’s journal knows counts like any other', async (database, one) => {
  await receive(one, pays(keyOf(1), 500n));
  const [owner] = await unswept(database);
  assert.ok(owner);
  const { sweep } = planned([owner]);
  const signatures = [{ ...signatureOf(sweep, 1), terms: {}, payer: keyOf(1), payerRole: 'collection' as const }];
  assert.is(await database.payouts.adopt(network, { signatures, servedFence: 1, nowMs: T0_MS }), 1);
  has((await unswept(database))[0], { units: 0n, openUnits: 5_000_000n });
  assert.equal(await plan(database, planned([owner])), []);
});

readyTest('levels are replaced at each reading', async (database) => {
  const units = { owners: 2, units: 10n ** 24n, openUnits: 0n };
  const level = { network, currency: 'USDT', ...units, readAtMs: T0_MS } as const;
  await database.sweeps.recordUnswept(network, [level, { ...level, currency: 'USDC' }]);
  await database.sweeps.recordUnswept('test:two', [{ ...level, network: 'test:two' }]);
  await database.sweeps.recordUnswept(network, [{ ...level, units: 5n }]);
  const levels = [...(await database.sweeps.listUnswept())].sort((a, b) => a.network.localeCompare(b.network));
  assert.equal(levels, [
    { ...level, units: 5n },
    { ...level, network: 'test:two' },
  ]);
});

test.run();
