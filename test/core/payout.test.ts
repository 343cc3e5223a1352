/** The engine's next step for a payout, case by case. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  ATTEMPTS_MAX,
  type Attempt,
  attemptName,
  decide,
  decideFrozen,
  GENERATIONS_MAX,
  isHopeless,
  isOutbid,
  judgeRefusal,
  nextLookAtMs,
  type Payout,
  type PayoutRules,
  type Recent,
} from '../../src/core/payout.ts';
import type { RefusedCode } from '../../src/core/spend.ts';
import { refundIntent } from '../support/intents.ts';

const T0 = 1_800_000_000_000;
const rules: PayoutRules = { lane: 'sequence', resendMs: 3000, outbidMs: 60_000 };
const never: Recent = { sentAtMs: null, outbidAtMs: null };

const payout: Payout = {
  id: 'rf_1',
  network: 'test:one',
  intent: refundIntent({ to: 'b' }),
  sessionId: null,
  servesId: null,
  state: 'sent',
  generation: 0,
  proof: null,
  wait: null,
  fault: null,
  notBeforeMs: T0,
  tx: null,
  feeUnits: null,
  createdAtMs: T0,
  updatedAtMs: T0,
  settledAtMs: null,
};
const attempt: Attempt = {
  generation: 0,
  attempt: 0,
  payer: 'a',
  payerRole: 'refund',
  nonce: 0,
  terms: {},
  feeUnitsMax: 100n,
  tx: 'tx',
  bytes: new Uint8Array([1]),
  signedAtMs: T0,
  sentAtMs: T0,
  answerCode: 'accepted',
  answer: 'accepted',
  feeUnits: null,
};
const unsent = { ...attempt, sentAtMs: null };
const unsigned = { ...unsent, tx: null, bytes: null, signedAtMs: null };
const waiting = { kind: 'waiting', included: null } as const;
const ended = { tx: 'tx', feeUnits: 7n };

const step = (
  attempts: readonly Attempt[],
  outcome: Parameters<typeof decide>[2] = null,
  more: { payout?: Partial<Payout>; recent?: Recent; nowMs?: number; rules?: Partial<PayoutRules> } = {},
) =>
  decide({ ...payout, ...more.payout }, attempts, outcome, more.recent ?? never, more.nowMs ?? T0, {
    ...rules,
    ...more.rules,
  });

test('an attempt is allotted when due, then signed, sent and checked, in this order', () => {
  assert.equal(step([], null, { nowMs: T0 - 1 }), { kind: 'rest', untilMs: T0 });
  assert.equal(step([]), { kind: 'quote' });
  assert.equal(step([unsigned]), { kind: 'sign', attempt: unsigned });
  assert.equal(step([unsent]), { kind: 'send', attempt: unsent });
  assert.equal(step([attempt]), { kind: 'ask' });
  assert.equal(
    step([attempt, { ...unsigned, attempt: 1 }], waiting).kind,
    'sign',
    'a replacement is signed like a first attempt',
  );
});

test('a payout that has ended, or waits for a person, is left alone', () => {
  for (const state of ['succeeded', 'failed', 'canceled', 'stuck'] as const) {
    assert.equal(step([attempt], null, { payout: { state } }), { kind: 'rest', untilMs: null });
  }
});

test('an attempt that is in no block is only sent again: not finding it proves nothing', () => {
  assert.equal(step([attempt], waiting), { kind: 'send', attempt }, 'a new run sends at once');
  const recent = { sentAtMs: T0, outbidAtMs: null };
  assert.equal(step([attempt], waiting, { recent, nowMs: T0 + 2999 }), { kind: 'rest', untilMs: T0 + 3000 });
  assert.equal(step([attempt], waiting, { recent, nowMs: T0 + 3000 }).kind, 'send');
  for (let days = 1; days < 400; days += 7) {
    const { kind } = step([attempt], waiting, { recent, nowMs: T0 + days * 86_400_000, rules: { lane: 'expiry' } });
    assert.is(kind, 'send', 'however long it takes');
  }
});

test('an attempt in a block rests until it is final', () => {
  const included = { kind: 'waiting', included: { tx: 'tx', number: 5 } } as const;
  assert.equal(step([attempt], included), { kind: 'rest', untilMs: T0 + 3000 });
});

test('in a lane with numbers, the fee is compared with the price after a while, up to the last attempt', () => {
  const recent = { sentAtMs: T0 + 60_000, outbidAtMs: null };
  const at = (more: Parameters<typeof step>[2]) =>
    step([attempt], waiting, { recent, nowMs: T0 + 60_000, ...more }).kind;
  assert.is(at({}), 'outbid');
  assert.is(at({ rules: { lane: 'expiry' } }), 'rest');
  assert.is(at({ recent: { sentAtMs: T0 + 60_000, outbidAtMs: T0 + 1 } }), 'rest', 'it was compared just now');
  const many = Array.from({ length: ATTEMPTS_MAX }, (_, n) => ({ ...attempt, attempt: n }));
  assert.is(step(many, waiting, { recent, nowMs: T0 + 60_000 }).kind, 'rest');
  const quoted = (feeUnitsMax: bigint) => ({ terms: {}, feeUnits: 1n, feeUnitsMax });
  assert.is(isOutbid(attempt, quoted(100n)), false);
  assert.is(isOutbid(attempt, quoted(101n)), true);
  assert.is(isOutbid(attempt, { refused: 'native_short', message: '', missing: null }), false);
});

test('a generation ends only with proof, and the first is followed at once', () => {
  assert.equal(step([attempt], { kind: 'succeeded', number: 7, ...ended }), {
    kind: 'succeed',
    ended: { kind: 'succeeded', number: 7, ...ended },
  });
  const failed = { kind: 'failed', number: 7, ...ended } as const;
  const at = { notBeforeMs: T0, isStuck: false, why: null };
  assert.equal(step([attempt], failed), { kind: 'renew', proof: 'failed', ended: failed, ...at });
  assert.equal(step([attempt], { kind: 'dead' }), { kind: 'renew', proof: 'dead', ended: null, ...at });
});

test('each later generation waits longer, and expiry never ends a payout', () => {
  const renewal = (generation: number, outcome: Parameters<typeof step>[1]) => {
    const next = step([{ ...attempt, generation }], outcome, { payout: { generation } });
    assert.ok(next.kind === 'renew');
    return next;
  };
  const pauses = [0, 1, 2, 3, 4, 5, 100].map((generation) => renewal(generation, { kind: 'dead' }));
  assert.equal(
    pauses.map(({ notBeforeMs }) => (notBeforeMs - T0) / 60_000),
    [0, 1, 5, 15, 60, 60, 60],
  );
  assert.not.ok(pauses.some(({ isStuck }) => isStuck));
  assert.equal({ why: pauses[0]?.why, code: pauses[1]?.why?.code }, { why: null, code: 'payout_not_included' });
});

test('a payout that fails on the chain again and again waits for a person, who may also reject its refund', () => {
  const failed = { kind: 'failed', number: 7, ...ended } as const;
  const after = (generation: number) => step([attempt], failed, { payout: { generation } });
  const [last, next] = [after(GENERATIONS_MAX - 2), after(GENERATIONS_MAX - 1)];
  assert.is(last.kind === 'renew' && last.isStuck, false);
  assert.ok(next.kind === 'renew' && next.isStuck);
  assert.equal({ ended: next.ended, code: next.why?.code }, { ended: failed, code: 'payout_generations' });
  assert.match(
    next.why?.message ?? '',
    /quayside payout resolve \S+ --retry --reason …`, or reject the refund with `quayside refund reject/,
  );
});

test('a nonce used by somebody else halts the wallet', () => {
  const foreign = step([attempt], { kind: 'foreign', message: 'used up' });
  assert.equal(foreign, { kind: 'stick', why: { code: 'payout_nonce_foreign', message: 'used up' } });
});

test('only what can never resolve ends a payout', () => {
  const hopeless: readonly RefusedCode[] = ['destination_frozen', 'destination_invalid'];
  assert.equal(hopeless.map(isHopeless), [true, true]);
  const others: readonly RefusedCode[] = ['token_short', 'native_short', 'would_fail', 'refund_lock_set'];
  assert.equal(others.map(isHopeless), [false, false, false, false]);
});

test('a refusal stops the engine, leaves the payout to a person, or waits', () => {
  const judged = (rule: string) => judgeRefusal(`signer_refused_${rule}`);
  assert.equal(['fence', 'nonce'].map(judged), ['stop', 'stop']);
  assert.equal(['mac', 'intent', 'generation', 'attempt', 'check'].map(judged), Array(5).fill('stick'));
  assert.equal(['approval', 'cap', 'policy', 'terms', 'request'].map(judged), Array(5).fill('wait'));
});

test('a waiting payout is looked at soon, then every five minutes', () => {
  assert.is(nextLookAtMs(payout, T0), T0 + 5000);
  assert.is(nextLookAtMs(payout, T0 + 100_000), T0 + 125_000);
  assert.is(nextLookAtMs(payout, T0 + 86_400_000), T0 + 86_700_000);
});

test('while frozen nothing is quoted, signed or sent, and what is signed is watched to its end', () => {
  const frozen = (attempts: readonly Attempt[], outcome: Parameters<typeof decide>[2] = null) =>
    decideFrozen(payout, attempts, outcome, never, T0 + rules.outbidMs, rules);
  const rest = { kind: 'rest', untilMs: T0 + rules.outbidMs + rules.resendMs };
  assert.equal(frozen([]), rest);
  assert.equal(frozen([unsigned]), rest);
  for (const attempts of [[unsent], [attempt], [attempt, { ...unsigned, attempt: 1 }]]) {
    assert.equal(frozen(attempts), { kind: 'ask' });
    assert.equal(frozen(attempts, waiting), rest, 'neither sent again nor outbid');
    assert.is(frozen(attempts, { kind: 'succeeded', number: 7, ...ended }).kind, 'succeed');
  }
  assert.is(frozen([attempt], { kind: 'dead' }).kind, 'renew');
});

test('an attempt is named by generation and number', () => {
  const names = [0, 2].map((generation) => attemptName({ generation, attempt: 1 }));
  assert.equal(names, ['0.1', '2.1']);
});

test.run();
