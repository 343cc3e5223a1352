import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  defaultRefundPolicy,
  type EarlierRefund,
  exceedsAutomatic,
  isCovered,
  isHeld,
  judgeRefund,
  minorToUnits,
  nextRefundStep,
  type ReceivedPart,
  type RecentRefunds,
  type RefundLife,
  type RefundStatus,
  readRefundAmount,
  receiptNumber,
  recentRefunds,
  refundable,
} from '../../src/core/refund.ts';

const paid = { status: 'paid', paidAtS: 1_000 };
const moment = { nowS: 2_000, todayMinor: 0n };
const part = (
  network: string,
  minor: bigint,
  decimals = 6,
  currency: ReceivedPart['currency'] = 'USDT',
): ReceivedPart => ({ network: `test:${network}`, currency, decimals, units: minorToUnits(minor, decimals) });
const earlier = (amountMinor: bigint, status: RefundStatus = 'completed', network = 'one'): EarlierRefund => ({
  network: `test:${network}`,
  currency: 'USDT',
  amountMinor,
  status,
});
const ask = (amountMinor: bigint, currency: ReceivedPart['currency'] = 'USDT') => ({ amountMinor, currency });

const judge = (
  amountMinor: bigint,
  received: readonly ReceivedPart[],
  before: readonly EarlierRefund[] = [],
  policy = defaultRefundPolicy,
  at = moment,
) => judgeRefund(ask(amountMinor), paid, received, before, policy, at);

const why = (judgement: ReturnType<typeof judge>) => (judgement.kind === 'refused' ? judgement.why : judgement.kind);

test('everything that was received can be refunded, and not a cent more', () => {
  assert.is(why(judge(10_00n, [part('one', 10_00n)])), 'accepted');
  assert.is(why(judge(10_01n, [part('one', 10_00n)])), 'REFUND_AMOUNT_EXCEEDED');
});

test('refunds that are pending, processing or completed count; failed and canceled ones do not', () => {
  const counts: Record<RefundStatus, boolean> = {
    pending: true,
    processing: true,
    completed: true,
    failed: false,
    canceled: false,
  };
  for (const [status, held] of Object.entries(counts)) {
    const before = [earlier(6_00n, status as RefundStatus)];
    assert.is(why(judge(5_00n, [part('one', 10_00n)], before)), held ? 'REFUND_AMOUNT_EXCEEDED' : 'accepted', status);
  }
});

test('refusals are checked in the documented order', () => {
  const spent = { ...moment, nowS: 1_000 + defaultRefundPolicy.refundWindowS + 1, todayMinor: 10_000_00n };
  const received = [part('one', 10_00n)];
  assert.is(
    why(
      judgeRefund(ask(20_00n, 'USDC'), { status: 'failed', paidAtS: null }, received, [], defaultRefundPolicy, spent),
    ),
    'INVALID_SESSION_STATUS',
  );
  assert.is(why(judgeRefund(ask(20_00n, 'USDC'), paid, received, [], defaultRefundPolicy, spent)), 'INVALID_CURRENCY');
  assert.is(why(judge(20_00n, received, [], defaultRefundPolicy, spent)), 'REFUND_AMOUNT_EXCEEDED');
  assert.is(why(judge(5_00n, received, [], defaultRefundPolicy, spent)), 'REFUND_TIME_EXPIRED');
  assert.is(
    why(judge(5_00n, received, [], defaultRefundPolicy, { ...spent, nowS: spent.nowS - 1 })),
    'DAILY_REFUND_LIMIT_EXCEEDED',
  );
  assert.is(
    why(judge(5_00n, received, [], defaultRefundPolicy, { nowS: spent.nowS - 1, todayMinor: 9_995_00n })),
    'accepted',
  );
});

test('a refund is paid on the network with most left to refund, in that token’s units', () => {
  const received = [part('one', 4_00n), part('two', 6_00n, 18)];
  const first = judge(5_00n, received);
  assert.ok(first.kind === 'accepted');
  assert.is(first.part.network, 'test:two');
  assert.is(first.units, 5n * 10n ** 18n);
  const second = judge(3_00n, received, [earlier(5_00n, 'pending', 'two')]);
  assert.ok(second.kind === 'accepted');
  assert.is(second.part.network, 'test:one');
  assert.is(second.units, 3_000_000n);
  const ofOther = { ...earlier(5_00n, 'pending', 'two'), currency: 'USDC' } as const;
  const third = judge(3_00n, received, [ofOther]);
  assert.is(third.kind === 'accepted' && third.part.network, 'test:two', 'refunds of another coin take nothing');
  assert.is(why(judge(1_00n, [part('one', 0n)])), 'INVALID_CURRENCY');
});

test('a refund needs approval if one session, one destination or one asker gets more with it than the store’s limit', () => {
  const policy = { refundAutoMinor: 5_00 };
  const none = { sessionMinor: 0n, destinationMinor: 0n, askerMinor: 0n };
  const needs = (amount: bigint, recent: Partial<RecentRefunds> = {}) =>
    exceedsAutomatic(amount, { ...none, ...recent }, policy);
  assert.is(needs(5_00n), false);
  assert.is(needs(5_01n), true);
  for (const part of ['sessionMinor', 'destinationMinor', 'askerMinor'] as const) {
    assert.is(needs(2_00n, { [part]: 3_00n }), false, part);
    assert.is(needs(2_00n, { [part]: 3_01n }), true, part);
  }
  assert.is(
    needs(2_00n, { sessionMinor: 3_00n, destinationMinor: 3_00n, askerMinor: 3_00n }),
    false,
    'none of them alone',
  );
});

test('a refund counts together with those of its session, its address, its asker or its key, but not with itself', () => {
  const asked = { sessionId: 's1', destination: 'aa', requestedBy: 'ann', requestedKey: 'k1' };
  const other = { sessionId: 's2', destination: 'bb', requestedBy: 'bob', requestedKey: 'k2' };
  const nothing = { sessionMinor: 0n, destinationMinor: 0n, askerMinor: 0n };
  const sums = (
    more: Partial<typeof asked>,
    own: Partial<Record<'destination' | 'requestedBy' | 'requestedKey', null>> = {},
  ) =>
    recentRefunds({ ...asked, ...own, id: 'r1' }, [
      { ...asked, id: 'r1', amountMinor: 1_00n },
      { ...other, ...own, ...more, id: 'r2', amountMinor: 2_00n },
      { ...other, ...own, ...more, id: 'r3', amountMinor: 3_00n },
    ]);
  assert.equal(sums({}), nothing);
  assert.equal(sums({ sessionId: 's1' }), { ...nothing, sessionMinor: 5_00n });
  assert.equal(sums({ destination: 'aa' }), { ...nothing, destinationMinor: 5_00n });
  assert.equal(sums({ requestedBy: 'ann' }), { ...nothing, askerMinor: 5_00n });
  assert.equal(sums({ requestedKey: 'k1' }), { ...nothing, askerMinor: 5_00n });
  assert.equal(sums({}, { destination: null, requestedBy: null, requestedKey: null }), nothing, 'unknown ones differ');
});

test('held refunds of a coin are covered by what was received of it, to the cent', () => {
  const received = [part('one', 6_00n), part('two', 4_00n), part('one', 9_00n, 6, 'USDC')];
  assert.is(isCovered('USDT', received, [earlier(10_00n)]), true);
  assert.is(isCovered('USDT', received, [earlier(10_01n)]), false);
  assert.is(isCovered('USDC', received, [earlier(10_01n)]), true, 'another coin');
});

test('refunds in any order never hold more than was received', () => {
  const parts = fc.array(fc.tuple(fc.constantFrom('one', 'two'), fc.bigInt(0n, 20_00n), fc.constantFrom(6, 18)), {
    minLength: 1,
    maxLength: 3,
  });
  const asks = fc.array(fc.tuple(fc.bigInt(1n, 25_00n), fc.boolean()), { maxLength: 20 });
  fc.assert(
    fc.property(parts, asks, (drawn, wishes) => {
      const received = drawn.map(([network, minor, decimals]) => part(network, minor, decimals));
      const total = drawn.reduce((sum, [, minor]) => sum + minor, 0n);
      const made: EarlierRefund[] = [];
      for (const [amountMinor, fails] of wishes) {
        const judgement = judge(amountMinor, received, made);
        if (judgement.kind !== 'accepted') continue;
        made.push({
          network: judgement.part.network,
          currency: 'USDT',
          amountMinor,
          status: fails ? 'failed' : 'pending',
        });
        const held = made.filter(isHeld).reduce((sum, refund) => sum + refund.amountMinor, 0n);
        assert.ok(held <= total, `${held} of ${total}`);
      }
    }),
  );
});

const pending: RefundLife = {
  status: 'pending',
  destination: null,
  needsApproval: false,
  approvedDestination: null,
  claimUntilS: 100,
};

test('a pending refund starts once it has an address and its approval, or fails when its claim link expires', () => {
  assert.is(nextRefundStep(pending, 100), null);
  assert.is(nextRefundStep(pending, 101), 'expire');
  const named = { ...pending, destination: 'aa' };
  assert.is(nextRefundStep(named, 101), 'start');
  assert.is(nextRefundStep({ ...named, needsApproval: true }, 101), null);
  assert.is(nextRefundStep({ ...named, needsApproval: true, approvedDestination: 'aa' }, 1), 'start');
  assert.is(nextRefundStep({ ...named, needsApproval: true, approvedDestination: 'bb' }, 1), null, 'another address');
  for (const status of ['processing', 'completed', 'failed', 'canceled'] as const) {
    assert.is(nextRefundStep({ ...named, status }, 101), null, status);
  }
});

test('receipt numbers have eight digits and the year of the refund', () => {
  assert.is(receiptNumber(1, 2026), 'RF-2026-00000001');
  assert.is(receiptNumber(99_999_999, 2027), 'RF-2027-99999999');
  assert.throws(() => receiptNumber(100_000_000, 2027));
});

test('the refundable rest is told for each coin that was received, and names the network of its next refund', () => {
  const received = [part('one', 10_00n), part('two', 4_00n), part('one', 2_00n, 6, 'USDC')];
  assert.equal(refundable(received, [earlier(9_00n), earlier(3_50n, 'failed', 'two')]), [
    { currency: 'USDT', network: 'test:two', leftMinor: 5_00n },
    { currency: 'USDC', network: 'test:one', leftMinor: 2_00n },
  ]);
  assert.equal(refundable([part('one', 1n)], []), [{ currency: 'USDT', network: 'test:one', leftMinor: 1n }]);
  assert.equal(refundable([part('one', 1_00n)], [earlier(2_00n)])[0]?.leftMinor, 0n, 'a reorg took the rest');
});

test('an amount to refund is written in whole or in cents', () => {
  for (const [text, minor] of [
    ['0.01', 1n],
    ['0.5', 50n],
    ['12', 12_00n],
  ] as const)
    assert.is(readRefundAmount(text), minor);
  assert.is(readRefundAmount('90071992547409.91'), BigInt(Number.MAX_SAFE_INTEGER));
  assert.type(readRefundAmount('90071992547409.92'), 'string');
  for (const text of ['00.5', '.5', '1.', '1.001', '-1', '1e2', ' 1', '0.00']) {
    assert.type(readRefundAmount(text), 'string', text);
  }
});

test.run();
