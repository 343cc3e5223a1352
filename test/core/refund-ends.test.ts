/** Every state of a refund leads to an end. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { nextRefundStep, type RefundLife, type RefundStatus } from '../../src/core/refund.ts';

/** What can happen to a refund: time, the payer, the operator, or the end of its payout. */
function refundMoves(life: RefundLife): RefundLife[] {
  const to = (status: RefundStatus): RefundLife => ({ ...life, status });
  const step = [0, 2].flatMap((nowS) => nextRefundStep(life, nowS) ?? []);
  const next = step.map((one) => to(one === 'start' ? 'processing' : 'failed'));
  if (life.status === 'pending') {
    const named = { ...life, destination: 'aa' };
    return [...next, named, { ...life, approvedDestination: life.destination }, to('failed')];
  }
  // Its payout ends in one of these.
  return life.status === 'processing' ? [to('completed'), to('failed'), to('canceled')] : next;
}

test('every refund can end, and none that has ended starts again', () => {
  const refundEnds: readonly RefundStatus[] = ['completed', 'failed', 'canceled'];
  const seen = new Map<string, RefundLife>();
  const flags = [true, false];
  const open: RefundLife[] = flags.flatMap((needsApproval) =>
    flags.map((hasDestination) => ({
      status: 'pending',
      destination: hasDestination ? 'aa' : null,
      needsApproval,
      approvedDestination: null,
      claimUntilS: hasDestination ? null : 1,
    })),
  );
  for (let life = open.pop(); life; life = open.pop()) {
    const name = JSON.stringify(life);
    if (seen.has(name)) continue;
    seen.set(name, life);
    const moves = refundMoves(life);
    if (refundEnds.includes(life.status)) assert.equal(moves, [], name);
    else
      assert.ok(
        moves.some(({ status }) => refundEnds.includes(status)),
        `${name} cannot end`,
      );
    open.push(...moves);
  }
  const statuses = new Set([...seen.values()].map(({ status }) => status));
  assert.equal([...statuses].sort(), ['canceled', 'completed', 'failed', 'pending', 'processing']);
});

test.run();
