import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { PaybackIntent } from '../../../src/core/intent.ts';
import type { Database } from '../../../src/database/database.ts';
import type { LimitScope } from '../../../src/database/payout-limits.ts';
import { act, inWorld, type MakePlace, merchant, newSession, renewal, T0_MS } from './place.ts';

const network = 'test:one';
const payer = 'a'.repeat(40);
const store: LimitScope = { storeId: 'm1' };
const HOUR_MS = 3_600_000;

/** A refund of 10.00 of a session of the store `m1`. */
const refund = (id: string, sessionId = 'cs_one'): PaybackIntent => ({
  ...{ kind: 'refund', id, network, currency: 'USDT', to: 'b'.repeat(40), units: 10_000_000n, mac: 'c'.repeat(64) },
  session: { id: sessionId, amount: '10.00' },
});

async function plan(database: Database, ...intents: readonly PaybackIntent[]): Promise<void> {
  await database.planPayouts(
    intents.map((intent) => ({ intent, sessionId: null, servesId: null, notBeforeMs: T0_MS, nowMs: T0_MS })),
  );
}

async function allot(database: Database, id: string, nowMs = T0_MS, generation = 0): Promise<string> {
  const payout = await database.findPayout(id);
  assert.ok(payout, id);
  const name = { id, generation, attempt: 0, payer, payerRole: 'refund', nonce: null } as const;
  const terms = { salt: id, expires: String(generation) };
  const given = { ...name, intent: payout.intent, terms, feeUnitsMax: 1n, nowMs };
  return (await database.allotAttempt(given)).kind;
}

const setLimit = (database: Database, scope: LimitScope, changes: Parameters<Database['setPayoutLimit']>[1]) =>
  database.setPayoutLimit(scope, changes, act('payouts limits'));
const waitOf = async (database: Database, id: string) => (await database.findPayout(id))?.wait?.code;
const alarmsOf = async (database: Database, code: string) =>
  (await database.listAlarms(100)).filter((alarm) => alarm.code === code).length;
const spentBy = async (database: Database, scope: LimitScope, nowMs = T0_MS) => {
  const { spent } = await database.payoutLimit(scope, nowMs);
  const test = spent.find(({ mode }) => mode === 'test');
  return [test?.hourMinor, test?.hourCount];
};

/** A world with a session, whose sums are compared with what was counted in the end. */
const ready = (makePlace: MakePlace, work: (database: Database, connect: () => Database) => Promise<void>) =>
  inWorld(makePlace, async ({ database, place }) => {
    await database.createSession(newSession('one'));
    await work(database, place.connect);
    assert.equal((await database.verifyLedger()).sums, []);
  });

/** Limits on what leaves for refunds, of stores and networks. */
export function payoutLimitsConform(makePlace: MakePlace): void {
  const test = suite('limits of payouts');

  test(
    'of twenty refunds that several processes allot at once, only those within the limit leave, with one alarm',
    ready(makePlace, async (database, connect) => {
      await setLimit(database, store, { hourMinor: 10_000n });
      const ids = Array.from({ length: 20 }, (_, n) => `r${n}`);
      await plan(database, ...ids.map((id) => refund(id)));
      const others = [database, connect(), connect()];
      const kinds = await Promise.all(ids.map((id, n) => allot(others[n % 3] as Database, id)));
      assert.is(kinds.filter((kind) => kind === 'allotted').length, 10);
      const waits = await Promise.all(ids.map((id) => waitOf(database, id)));
      assert.is(waits.filter((code) => code === 'payout_limit_store').length, 10);
      assert.equal(await spentBy(database, store), [10_000n, 10]);
      assert.is(await alarmsOf(database, 'payout_limit_store'), 1);
      for (const other of others.slice(1)) other.close();
    }),
  );

  test(
    'what waits goes on by itself when there is room again, or when the limit is raised',
    ready(makePlace, async (database) => {
      await setLimit(database, store, { hourMinor: 1_500n });
      await plan(database, refund('r1'), refund('r2'), refund('r3'));
      assert.is(await allot(database, 'r1'), 'allotted');
      assert.is(await allot(database, 'r2'), 'moved');
      const wait = (await database.findPayout('r2'))?.wait;
      assert.match(wait?.message ?? '', /limit of store m1 \(10\.00 of 15\.00, 1 payouts in the last hour\)/);
      assert.match(wait?.message ?? '', /from 2027-01-15T09:05Z on/);
      assert.equal(await database.openPayouts(network, T0_MS + 299_999, 10), [
        ...(await database.openPayouts(network, T0_MS, 10)),
      ]);
      assert.is(await allot(database, 'r2', T0_MS + 300_000), 'moved', 'looked at again within five minutes');
      assert.is(await allot(database, 'r2', T0_MS + HOUR_MS + 300_000), 'allotted');
      assert.is(await waitOf(database, 'r2'), undefined);
      assert.is(await allot(database, 'r3', T0_MS + HOUR_MS + 300_000), 'moved');
      await setLimit(database, store, { hourMinor: null });
      assert.is(await allot(database, 'r3', T0_MS + HOUR_MS + 600_000), 'allotted');
      assert.equal(await database.listPayoutLimits(T0_MS), []);
    }),
  );

  test(
    'a network has a limit of its own, by number too, for what any store pays there',
    ready(makePlace, async (database) => {
      await database.createStore(merchant('m2'), act('store create'));
      await database.createSession(newSession('two', { storeId: 'm2' }));
      await setLimit(database, { network }, { dayCount: 2 });
      await plan(database, refund('r1'), refund('r2', 'cs_two'), refund('r3', 'cs_two'));
      assert.equal([await allot(database, 'r1'), await allot(database, 'r2')], ['allotted', 'allotted']);
      assert.is(await allot(database, 'r3'), 'moved');
      assert.is(await waitOf(database, 'r3'), 'payout_limit_network');
      assert.is(await alarmsOf(database, 'payout_limit_network'), 1);
      assert.equal(await spentBy(database, { network }), [2_000n, 2]);
      assert.equal(await spentBy(database, store), [1_000n, 1]);
      const midnightMs = T0_MS + 16 * HOUR_MS;
      assert.is(await allot(database, 'r3', midnightMs), 'allotted');
      assert.equal(await spentBy(database, { storeId: 'm2' }, midnightMs), [1_000n, 1]);
    }),
  );

  test(
    'a payout counts once, however often it is signed, and not at all if its attempt is taken back',
    ready(makePlace, async (database) => {
      await plan(database, refund('r1'), refund('r2'));
      await allot(database, 'r1');
      const wait = { code: 'signer_refused_cap', message: 'wait' };
      const taken = { id: 'r1', generation: 0, attempt: 0, wait, nextLookAtMs: T0_MS, nowMs: T0_MS };
      assert.is(await database.withdrawAttempt(taken), true);
      assert.equal(await spentBy(database, store), [0n, 0]);
      await setLimit(database, store, { hourCount: 1 });
      assert.is(await allot(database, 'r1'), 'allotted');
      assert.is(await database.newGeneration({ id: 'r1', generation: 0, ...renewal, nowMs: T0_MS }), true);
      assert.is(await allot(database, 'r1', T0_MS, 1), 'allotted', 'its second generation is within the limit still');
      assert.equal(await spentBy(database, store), [1_000n, 1]);
      assert.is(await allot(database, 'r2'), 'moved');
    }),
  );

  test(
    'what was paid counts after the clock was set back',
    ready(makePlace, async (database) => {
      await setLimit(database, store, { dayMinor: 1_000n });
      await plan(database, refund('r1'), refund('r2'));
      assert.is(await allot(database, 'r1', T0_MS + 100 * HOUR_MS), 'allotted');
      assert.is(await allot(database, 'r2'), 'moved');
    }),
  );

  test(
    'a database that was restored from a backup counts what it adopts from the signer, and drops what was never signed',
    ready(makePlace, async (database) => {
      await setLimit(database, store, { hourMinor: 3_000n });
      await plan(database, refund('unsigned'), refund('r3'));
      await allot(database, 'unsigned');
      const signed = (id: number, intentId: string, generation = 0) => ({
        ...{ id, intent: refund(intentId), generation, attempt: 0, terms: {}, tx: `tx ${id}`, payer },
        ...{ bytes: new Uint8Array([id]), signedAtMs: T0_MS - 60_000, payerRole: 'refund' as const },
      });
      const signatures = [signed(1, 'r1'), signed(2, 'r1', 1), signed(3, 'r2')];
      assert.is(await database.adopt(network, { signatures, servedFence: 9, nowMs: T0_MS }), 3);
      assert.equal(await spentBy(database, store), [2_000n, 2]);
      assert.is(await allot(database, 'r3'), 'allotted');
      assert.is(await allot(database, 'unsigned'), 'moved');
      assert.is(await waitOf(database, 'unsigned'), 'payout_limit_store');
    }),
  );

  test(
    'each change of a limit is recorded with what it was before',
    ready(makePlace, async (database) => {
      await setLimit(database, store, { hourMinor: 5_000n, dayCount: 3 });
      await setLimit(database, store, { hourMinor: 2_500n });
      const [newest] = await database.listAudit(1);
      assert.equal([newest?.command, newest?.target, newest?.reason], ['payouts limits', 'store:m1', 'a test']);
      assert.equal(newest?.before, { hour: '50.00', day: null, hourCount: null, dayCount: 3 });
      assert.equal(newest?.after, { hour: '25.00', day: null, hourCount: null, dayCount: 3 });
    }),
  );

  test.run();
}
