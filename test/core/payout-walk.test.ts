/** From every state that a payout or a refund can reach, some command leads to an end, without a second payment. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { paybackKinds } from '../../src/core/intent.ts';
import { GENERATIONS_MAX, payoutStates } from '../../src/core/payout.ts';
import { nextRefundStep, type RefundLife, type RefundStatus } from '../../src/core/refund.ts';
import { judgeOwners, type SweepOwner } from '../../src/core/sweep.ts';
import { signerRules } from '../../src/signer/rules.ts';
import { deadEnds, ends, type Move, nameOf, type Spot, startsOf, walk } from './payout-walk.ts';

const kinds = [...paybackKinds, 'sweep', 'gas'] as const;
const lanes = ['sequence', 'expiry'] as const;
const everyStart = kinds.flatMap((kind) => lanes.flatMap((lane) => startsOf(kind, lane)));
for (const kind of paybackKinds) everyStart.push(...startsOf(kind, 'expiry', true));
const found = walk(everyStart);
const spots = [...found.keys()].map((name) => JSON.parse(name) as Spot);

test('the walk reaches every state that a payout has, and every reason to be stuck', () => {
  assert.equal([...new Set(spots.map(({ state }) => state))].sort(), [...payoutStates].sort());
  const stuck = new Set(spots.flatMap(({ state, code }) => (state === 'stuck' ? (code ?? []) : [])));
  for (const code of ['payout_nonce_foreign', 'payout_generations', 'payout_bytes_differ', 'signer_refused_mac']) {
    assert.ok(stuck.has(code), `never stuck with ${code}: ${[...stuck]}`);
  }
  assert.ok(
    spots.some(({ outcome, state }) => outcome === 'unclear' && state === 'sent'),
    'an outcome is unclear',
  );
  assert.ok(spots.some(({ generation }) => generation === GENERATIONS_MAX));
  assert.ok(spots.length > 500, `only ${spots.length} states`);
});

test('the walk meets every refusal of the signer that an engine goes on after, and every freeze', () => {
  const moves = [...found.values()].flat();
  const met = new Set(moves.flatMap(({ what }) => (what.startsWith('refuses: ') ? what.slice(9) : [])));
  // After these, the engine stops until `payout reconcile`.
  const stopping = ['fence', 'nonce'];
  assert.equal([...met, ...stopping].sort(), [...signerRules].sort());
  assert.ok(moves.some(({ what }) => what === 'payout reconcile'));
  for (const lost of ['unseen', 'known'] as const)
    assert.ok(
      spots.some((spot) => spot.lost === lost),
      lost,
    );
});

test('while money out is frozen, nothing new is allotted, signed or sent', () => {
  const frozen = spots.filter((spot) => spot.isFrozen || (spot.lost === 'unseen' && spot.lane === 'expiry'));
  assert.ok(frozen.length > 500, `only ${frozen.length} states`);
  for (const spot of frozen) {
    const spends = (found.get(nameOf(spot)) ?? []).filter(({ what }) => /^(allots|signs|sends)/.test(what));
    assert.equal(spends, [], nameOf(spot));
  }
});

test('nothing is paid twice, and an end says whether it was paid', () => {
  for (const spot of spots) {
    assert.ok(spot.payments <= 1, `paid ${spot.payments} times: ${JSON.stringify(spot)}`);
    if (!ends.includes(spot.state)) continue;
    // What an unknown transaction has swept is not taken again, because its address is empty.
    if (spot.kind === 'sweep' && spot.lost === 'paid' && spot.state === 'failed') continue;
    assert.is(spot.payments, spot.state === 'succeeded' ? 1 : 0, JSON.stringify(spot));
  }
});

test('what is on its way and not known here may still pay: until it has or cannot, nothing ends as never paid', () => {
  const pending = spots.filter(({ lost }) => lost === 'pending');
  assert.equal([...new Set(pending.map(({ state }) => state))].sort(), ['sent', 'stuck', 'waiting']);
  for (const spot of pending) assert.is(spot.payments, 0, JSON.stringify(spot));
  for (const spot of spots) {
    const isBoth =
      ['paid', 'unseen', 'known'].includes(spot.lost) && (spot.outcome === 'paid' || spot.outcome === 'unclear');
    assert.not(isBoth, `two transactions have paid: ${JSON.stringify(spot)}`);
  }
});

test('from every state some way leads to an end', () => {
  assert.equal(deadEnds(found).slice(0, 3), []);
});

test('where nothing can happen on the chain any more, engine and commands alone lead to an end', () => {
  const isSettled = ({ outcome, attempts, lost }: Spot): boolean =>
    lost !== 'pending' && (outcome !== 'pending' || !attempts.some((one) => one !== 'allotted'));
  // A new signature may need the chain; ending the payout must not.
  const withoutNew = (move: Move): boolean => move.who !== 'chain' && !/^allots|^signs$|again$/.test(move.what);
  const settled = spots.filter(isSettled);
  assert.equal(deadEnds(walk(settled, withoutNew)).slice(0, 3), []);
});

test('the walk finds dead ends where there are some', () => {
  const withoutSettle = (move: Move): boolean => !/^payout resolve --(paid|never)|signed again$/.test(move.what);
  const names = deadEnds(walk(everyStart, withoutSettle));
  const left = names.map((name) => JSON.parse(name) as Spot);
  assert.ok(left.some(({ outcome }) => outcome === 'unclear'));
  assert.ok(left.some(({ state, code }) => state === 'stuck' && code === 'payout_nonce_foreign'));
  const withoutOperator = deadEnds(walk(everyStart, ({ who }) => who !== 'operator'));
  assert.ok(withoutOperator.some((name) => !names.includes(name)));
});

// ── Refunds ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What can happen to a refund: time, the payer, the operator, or the end of its payout. */
function refundMoves(life: RefundLife): RefundLife[] {
  const to = (status: RefundStatus): RefundLife => ({ ...life, status });
  const step = [0, 2].flatMap((nowS) => nextRefundStep(life, nowS) ?? []);
  const next = step.map((one) => to(one === 'start' ? 'processing' : 'failed'));
  if (life.status === 'pending') {
    const named = { ...life, destination: 'aa' };
    return [...next, named, { ...life, approvedDestination: life.destination }, to('failed')];
  }
  // Its payout ends in one of these, from every state: see above.
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

// ── Sweeps ───────────────────────────────────────────────────────────────────────────────────────────────────────────

test('what a sweep did not move is swept again once that sweep has ended, and not before', () => {
  const policy = { auto: true, minPar: 1n, ageMsMax: 1, costSharePpmMax: 1n, nativePricePar: null, hours: null };
  const owner: SweepOwner = {
    index: 0,
    key: 'a',
    currency: 'USDT',
    units: 10n ** 9n,
    openUnits: 0n,
    oldestAtMs: 0,
    sweepCount: 1,
  };
  const judge = (one: SweepOwner) => judgeOwners([one], policy, () => 6, 10);
  assert.is(judge(owner).due.length, 1);
  assert.equal(judge({ ...owner, openUnits: 10n ** 9n, units: 0n }).due, []);
});

test.run();
