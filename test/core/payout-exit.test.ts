/** Facts that the nodes must show before an operator's command ends a payout, case by case. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type Evidence,
  judgeNever,
  judgePaid,
  judgeRetry,
  type NamedPayment,
  resumed,
  type ShownOutcome,
} from '../../src/core/payout-exit.ts';

const wait = { code: 'payout_nonce_foreign', message: 'its nonce was used' };
const payout = { id: 'r1', network: 'test:one', state: 'stuck', wait, tx: null, generation: 1 } as const;
const foreign = { kind: 'foreign', message: 'it was used' } as const;
const waiting = { kind: 'waiting', included: null } as const;
const failed = { kind: 'failed', tx: 't1', number: 1, feeUnits: 3n } as const;
const dead = { kind: 'dead' } as const;
const succeeded = { kind: 'succeeded', tx: 't0', number: 1, feeUnits: 7n } as const;
const unclear = { kind: 'unclear', message: 'its logs show something else', feeUnits: 9n } as const;

/** Generation n has transaction tn and the n-th outcome. */
const shown = (outcomes: readonly ShownOutcome[], more: Partial<Evidence> = {}): Evidence => ({
  isSigning: false,
  generations: outcomes.map((outcome, generation) => ({ generation, txs: [`t${generation}`], outcome })),
  suspect: null,
  ...more,
});
const named = (tx: string, more: Partial<NamedPayment> = {}): NamedPayment => ({
  tx,
  ownerId: /^t\d$/.test(tx) ? 'r1' : null,
  shown: { kind: 'paid', feeUnits: 7n },
  ...more,
});
const codeOf = (exit: { kind: string; code?: string }) => (exit.kind === 'refused' ? exit.code : exit.kind);
const never = (outcomes: readonly ShownOutcome[], more?: Partial<Evidence>) =>
  judgeNever(payout, shown(outcomes, more));
const paid = (name: NamedPayment, outcomes: readonly ShownOutcome[], isAgreed = false) =>
  judgePaid(payout, shown(outcomes), name, isAgreed);

test('a payout was never paid only if every generation has ended without effect', () => {
  assert.equal(never([dead, failed]), { kind: 'never', proof: 'failed', ended: { tx: 't1', feeUnits: 3n } });
  assert.equal(never([failed, dead]), { kind: 'never', proof: 'dead', ended: null });
  assert.equal(never([dead]), { kind: 'never', proof: null, ended: null }, 'nothing is signed in generation 1');
  assert.equal(never([]), { kind: 'never', proof: null, ended: null });
  const open: readonly (readonly [ShownOutcome, string])[] = [
    [waiting, 'payout_may_be_included'],
    [succeeded, 'payout_was_paid'],
    [unclear, 'payout_outcome_unclear'],
  ];
  for (const [outcome, code] of open) {
    assert.is(codeOf(never([outcome, dead])), code, 'in an earlier generation');
    assert.is(codeOf(never([dead, outcome])), code, 'in the newest');
  }
});

test('a nonce that another transaction used ends an attempt once the network was frozen for it', () => {
  for (const all of [
    [dead, foreign],
    [foreign, dead],
  ])
    assert.is(codeOf(never(all)), 'never');
  for (const unseen of [
    { ...payout, wait: null },
    { ...payout, state: 'sent' as const },
  ]) {
    assert.is(codeOf(judgeNever(unseen, shown([dead, foreign]))), 'payout_nonce_foreign');
    assert.is(codeOf(judgeNever(unseen, shown([foreign, dead]))), 'never', 'the earlier generation was looked at');
  }
});

test('it is not ended while it is signed, or while something unexplained may have paid it', () => {
  assert.is(codeOf(never([dead], { isSigning: true })), 'payout_being_signed');
  assert.is(codeOf(never([dead, failed], { suspect: 'lock abc' })), 'payout_maybe_paid');
  for (const state of ['succeeded', 'failed', 'canceled'] as const) {
    assert.is(codeOf(judgeNever({ ...payout, state }, shown([dead]))), 'payout_ended');
  }
});

test('a payout is settled by its own attempt, or by one that is unknown once no other can be included', () => {
  assert.equal(paid(named('t0'), [succeeded, dead]), { kind: 'paid', tx: 't0', feeUnits: 7n, generation: 0 });
  assert.equal(paid(named('x'), [failed, dead]), { kind: 'paid', tx: 'x', feeUnits: 7n, generation: null });
  assert.is(codeOf(paid(named('x'), [dead, waiting])), 'payout_may_be_included');
  assert.is(codeOf(paid(named('t0'), [succeeded, waiting])), 'payout_may_be_included');
  assert.is(codeOf(paid(named('x'), [succeeded])), 'payout_was_paid', 'by another');
});

test('a payment that a person names settles a payout whose nonce another transaction used', () => {
  assert.is(codeOf(paid(named('x'), [foreign])), 'paid');
});

test('an attempt of another payout, or one that is not final, settles nothing', () => {
  assert.is(codeOf(paid(named('x', { ownerId: 'r2' }), [dead])), 'payout_of_another');
  assert.is(codeOf(paid(named('x', { shown: { kind: 'absent' } }), [dead])), 'payout_not_shown');
  assert.is(
    codeOf(judgePaid({ ...payout, state: 'succeeded', tx: 't0' }, shown([]), named('x'), false)),
    'payout_ended',
  );
});

test('a person may agree to an own attempt whose record is unclear, and to no other', () => {
  const name = named('t1', { shown: unclear });
  assert.is(codeOf(paid(name, [dead, unclear])), 'payout_outcome_unclear');
  assert.equal(paid(name, [dead, unclear], true), { kind: 'paid', tx: 't1', feeUnits: 9n, generation: 1 });
  assert.is(codeOf(paid(named('x', { shown: unclear }), [dead], true)), 'payout_outcome_unclear');
  assert.is(codeOf(paid(named('t1', { shown: { kind: 'absent' } }), [dead, unclear], true)), 'payout_not_shown');
});

test('a stuck payout goes on where it was', () => {
  assert.equal([resumed('stuck', 1), resumed('stuck', 0), resumed('sent', 1)], ['sent', 'waiting', null]);
});

test('a stuck payout is looked at again only where its attempts can be included or their nonce was used', () => {
  const retry = (state: 'stuck' | 'sent', outcome: ShownOutcome, suspect: string | null = null) =>
    codeOf(judgeRetry({ ...payout, state, wait: null }, shown([dead, outcome], { suspect })));
  assert.is(retry('stuck', waiting), 'look');
  assert.is(retry('stuck', foreign), 'look');
  assert.is(retry('sent', waiting), 'payout_may_be_included');
  assert.is(retry('stuck', failed, 'lock abc'), 'payout_maybe_paid');
  assert.is(retry('stuck', failed), 'never');
});

test.run();
