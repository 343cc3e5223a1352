/**
 * Random histories of refunds on a real database: whatever order a merchant's keys, staff, owners and payers play, with
 * restarts, money leaves only to an address that an approval named, or that needed none.
 *
 * `SEED=n npm test -- refund-histories` replays a failure; `RUNS=n` tries more.
 */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../../src/chains/index.ts';
import type { Refund } from '../../../src/database/refunds/refund.ts';
import { type ApiServer, withApi } from '../../support/api-server.ts';
import { finalSale } from '../../support/payment-scenes.ts';

const network = 'test:ethereum';
const SEED = Number(process.env.SEED ?? 20_261_128);
const RUNS = Number(process.env.RUNS ?? 60);
/** The store refunds this much without an approval, in cents. */
const AUTOMATIC = 150;

const addresses = ['aa', 'bb', 'cc'].map((start) => chains.evm.address.format(start.padEnd(40, '7')));
const keyOf = (text: string): string => chains.evm.address.parse(text) ?? '';
const check = (_network: string, text: string) => ({ kind: 'ok', family: 'evm', key: keyOf(text) }) as const;

const whom = fc.nat({ max: 2 });
const which = fc.nat({ max: 1 });
const step = fc.oneof(
  fc.record({
    do: fc.constant('create' as const),
    key: fc.nat({ max: 1 }),
    cents: fc.integer({ min: 20, max: 350 }),
    to: fc.option(whom, { freq: 1 }),
  }),
  fc.record({
    do: fc.constant('ask' as const),
    staff: fc.nat({ max: 1 }),
    cents: fc.integer({ min: 20, max: 350 }),
    to: fc.option(whom, { freq: 1 }),
  }),
  fc.record({ do: fc.constant('look' as const), refund: which }),
  fc.record({ do: fc.constant('approve' as const), refund: which, looks: fc.boolean() }),
  fc.record({
    do: fc.constant('redirect' as const),
    by: fc.constantFrom('merchant' as const, 'operator' as const),
    refund: which,
    to: whom,
  }),
  fc.record({ do: fc.constant('leave' as const), to: whom }),
  fc.record({ do: fc.constant('claim' as const), refund: which, to: whom }),
  fc.record({ do: fc.constant('cancel' as const), refund: which }),
  fc.record({ do: fc.constant('reject' as const), refund: which }),
  fc.record({ do: fc.constant('tick' as const), minutes: fc.constantFrom(0, 2, 2, 2, 300, 1500) }),
  fc.record({ do: fc.constant('restart' as const) }),
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

/** The test's own knowledge of one refund. */
type Known = {
  id: string;
  refundId: string;
  asker: string;
  cents: number;
  atMs: number;
  seen: string | null;
  approved: Set<string>;
};

/** Plays one history over its own session of 30 dollars. @returns how many payments left */
async function play(api: ApiServer, steps: readonly Step[], run: number): Promise<number> {
  const sale = await finalSale(api, { amount: 3000 });
  const known: Known[] = [];
  const paid = new Map<string, string>();
  const at = { storeId: api.merchantId, mode: 'test' as const };
  const act = (command: string) => ({ atMs: api.clock.nowMs(), operator: 'test', command, reason: null });
  const replay = (n: number) => ({ idempotencyKey: null, path: 'test', bodyHash: `${run}-${n}` });
  const find = async (one: Known): Promise<Refund | null> => api.database().refunds.findBy({ id: one.id });

  async function create(cents: number, to: number | null, asker: string, n: number): Promise<void> {
    const refundId = `r-${run}-${n}`;
    const nowMs = api.clock.nowMs();
    const asked = {
      amountMinor: BigInt(cents),
      currency: 'USDT',
      reason: null,
      description: null,
      metadata: null,
    } as const;
    const refundAddress = to === null ? null : (addresses[to] ?? null);
    const done = await api
      .database()
      .refunds.create(
        { ...at, ...asked, refundId, sessionId: sale.id, refundAddress, requestedKey: asker, replay: replay(n), nowMs },
        check,
      );
    if (done.kind === 'created') {
      known.push({ id: done.refund.id, refundId, asker, cents, atMs: nowMs, seen: null, approved: new Set() });
    }
  }

  /** Allots, as the engine does, every payout that may leave, and judges it by what the test saw. */
  async function letMoneyOut(minutes: number): Promise<void> {
    const database = api.database();
    await database.refunds.advance(api.clock.nowMs(), 100);
    api.clock.advance(minutes * 60_000);
    const nowMs = api.clock.nowMs();
    for (const { payout } of await database.payouts.open(network, nowMs, 100)) {
      const { id, intent } = payout;
      const mine = known.find((one) => one.id === id);
      if (!mine || intent.kind !== 'refund' || paid.has(id)) continue;
      const name = { id, generation: 0, attempt: 0, intent, payer: 'ab'.repeat(20), payerRole: 'refund' } as const;
      const { kind } = await database.payouts.allot({ ...name, nonce: null, terms: {}, feeUnitsMax: 1n, nowMs });
      if (kind !== 'allotted') continue;
      paid.set(id, intent.to);
      judge(mine, intent.to);
    }
  }

  /** Nobody approved this address: then what got out without an approval in a day must be within the limit. */
  function judge(one: Known, to: string): void {
    if (one.approved.has(to)) return;
    const free = known.filter((other) => {
      const went = paid.get(other.id);
      const isDay = Math.abs(other.atMs - one.atMs) < 24 * 3_600_000;
      return went !== undefined && isDay && !other.approved.has(went) && went === to;
    });
    const cents = free.reduce((sum, other) => sum + other.cents, 0);
    assert.ok(one.cents <= AUTOMATIC, `${one.refundId}: ${one.cents} cents left to ${to}, which nobody approved`);
    assert.ok(cents <= AUTOMATIC, `${cents} cents left to ${to} in a day without an approval`);
  }

  async function take(one: Step, n: number): Promise<void> {
    const database = api.database();
    const nowMs = api.clock.nowMs();
    const refund = 'refund' in one ? known[one.refund % Math.max(known.length, 1)] : undefined;
    const now = refund ? await find(refund) : null;
    switch (one.do) {
      case 'create':
        return create(one.cents, one.to, `key-${one.key}`, n);
      case 'ask':
        return create(one.cents, one.to, `staff-${one.staff}`, n);
      case 'leave':
        await database.refunds.leaveAddress(
          { sessionId: sale.id, network, address: addresses[one.to] ?? '', nowMs },
          check,
        );
        return;
      case 'tick':
        return letMoneyOut(one.minutes);
      case 'restart':
        return api.reopenDatabase();
    }
    if (!refund || !now) return;
    switch (one.do) {
      case 'look':
        refund.seen = now.destination?.key ?? null;
        return;
      case 'approve': {
        // With what the owner saw, which may be another address by now, or none.
        if (one.looks) refund.seen = now.destination?.key ?? null;
        const done = await database.refunds.approve(refund.id, null, nowMs, refund.seen);
        if (done === 'done' && refund.seen !== null) refund.approved.add(refund.seen);
        return;
      }
      case 'redirect': {
        const address = addresses[one.to] ?? '';
        const owner = { ...at, refundId: refund.refundId };
        const change = { address, act: act('redirect') };
        await (one.by === 'merchant'
          ? database.refunds.redirect({ ...change, by: 'merchant', owner, replay: replay(n) }, check)
          : database.refunds.redirect({ ...change, by: 'operator', id: refund.id, isDryRun: false }, check));
        return;
      }
      case 'claim':
        if (now.claim) {
          await database.refunds.claim({ claimToken: now.claim.token, address: addresses[one.to] ?? '', nowMs }, check);
        }
        return;

      case 'cancel':
        await database.refunds.cancel({ ...at, refundId: refund.refundId, replay: replay(n), nowMs });
        return;
      case 'reject':
        await database.refunds.reject(refund.id, 'no', nowMs);
        return;
    }
  }

  for (const [n, one] of steps.entries()) await take(one, n);
  await letMoneyOut(2);
  return paid.size;
}

test('money leaves only to an address that an approval named, or that needed none', () =>
  withApi({ addresses: 500 }, async (api) => {
    await api.database().stores.update(api.merchantId, { refundAutoMinor: AUTOMATIC, refundDailyMinor: 1_000_000_00 });
    let runs = 0;
    let left = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        runs += 1;
        left += await play(api, steps, runs);
        // Each history begins a day of its own.
        api.clock.advance(25 * 3_600_000);
      }),
      { seed: SEED, numRuns: RUNS, endOnFailure: false },
    );
    assert.ok(left > RUNS / 10, `${left} payments left in ${RUNS} histories: the property must not hold of nothing`);
  }));

test.run();
