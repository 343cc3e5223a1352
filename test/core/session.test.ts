/**
 * How receipts and the clock change a session: single cases first, then every small world and many random ones against
 * a second opinion (`session-oracle.ts`).
 */

import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { inclusionGraceS } from '../../src/core/inclusion.ts';
import {
  advance,
  cancel,
  changes,
  deadline,
  type Life,
  newLife,
  newStanding,
  payableUntilS,
  type ReceiptState,
  received,
  type Standing,
  type Terms,
  toleratedPar,
} from '../../src/core/session.ts';
import { has } from '../support/fields.ts';
import { type Receipt, sumReceipts } from '../support/receipts.ts';
import { runs } from '../support/runs.ts';
import { Bookkeeper, type Standing as OnChain, type OracleTerms, type Verdict } from './session-oracle.ts';

const ONE = 10n ** 18n;
const EXPIRES_AT_S = 1_000;
const GRACE_S = 300;
const MONITORING_S = 2_000;
const OUTAGE_WAIT_S = 600;

const terms: Terms = {
  duePar: 10n * ONE,
  tolerancePar: 0n,
  accepts: ['USDT', 'USDC'],
  createdAtS: 0,
  beforeNumbers: {},
  expiresAtS: EXPIRES_AT_S,
  inclusionGraceS: {},
  topUpGraceS: GRACE_S,
  monitoringS: MONITORING_S,
  latePolicy: 'hold',
};

let counter = 0;
function receipt(units: bigint, blockTimeS: number, state: ReceiptState, more: Partial<Receipt> = {}): Receipt {
  const tx = `tx${++counter}`;
  return { network: 'test:one', tx, currency: 'USDT', decimals: 18, units, blockNumber: 1, blockTimeS, state, ...more };
}

type Snapshot = { life: Life; standing: Standing };
const start: Snapshot = { life: newLife, standing: newStanding };

/** One step: every network has been read up to now by default. */
function look(
  before: Snapshot,
  receipts: readonly Receipt[],
  nowS: number,
  {
    terms: ofTerms = terms,
    readThroughS = nowS,
    rewoundAtS = 0,
  }: { terms?: Terms; readThroughS?: number; rewoundAtS?: number } = {},
): Snapshot & { events: string[] } {
  const after = advance(ofTerms, before.life, sumReceipts(ofTerms, receipts), {
    nowS,
    readThroughS,
    rewoundAtS,
    outageWaitS: OUTAGE_WAIT_S,
  });
  return { ...after, events: changes(before, after) };
}

// ── Single cases ─────────────────────────────────────────────────────────────────────────────────────────────────────

test('a block is in time for as long after the deadline as its own network takes to include a payment', () => {
  const graceful = { ...terms, inclusionGraceS: { 'test:one': 15, 'test:two': 36 } } as const;
  const came = (network: Receipt['network'], afterS: number, state: ReceiptState = 'confirmed') =>
    receipt(10n * ONE, EXPIRES_AT_S + afterS, state, { network });
  for (const [network, lastS] of [
    ['test:one', 15],
    ['test:two', 36],
    ['test:not-offered', 0],
  ] as const) {
    const paid = look(start, [came(network, lastS)], EXPIRES_AT_S + 60, { terms: graceful });
    has(paid.life, { status: 'paid', paidLate: false }, network);
    const late = look(start, [came(network, lastS + 1)], EXPIRES_AT_S + 60, { terms: graceful });
    assert.is(late.life.status, 'expired', network);
    assert.is(late.standing.latePar, 10n * ONE, network);
  }
  // The session waits for the slowest network, and its clock decides as little as before.
  assert.is(look(start, [], EXPIRES_AT_S + 36, { terms: graceful }).life.status, 'pending');
  const unread = { terms: graceful, readThroughS: EXPIRES_AT_S + 36 };
  assert.is(look(start, [], EXPIRES_AT_S + 40, unread).life.status, 'pending');
  assert.is(look(start, [], EXPIRES_AT_S + 37, { terms: graceful }).life.status, 'expired');
  // Without time for a top-up, a part in the last block of the grace still touches the session.
  const strict = { ...graceful, topUpGraceS: 0 };
  const part = receipt(ONE, EXPIRES_AT_S + 36, 'seen', { network: 'test:two' });
  const touched = look(start, [part], EXPIRES_AT_S + 36, { terms: strict });
  assert.is(touched.life.status, 'pending');
  assert.is(touched.standing.touched, true);
  assert.is(look(touched, [part], EXPIRES_AT_S + 37, { terms: strict }).life.status, 'failed');
});

test('a payer is told the deadline without the grace, and cannot cancel or pay after it', () => {
  const graceful = { ...terms, inclusionGraceS: { 'test:one': 15 } } as const;
  assert.is(payableUntilS(graceful, newLife, newStanding), EXPIRES_AT_S);
  assert.is(deadline(graceful, newLife, newStanding), EXPIRES_AT_S + 15);
  const moment = { nowS: EXPIRES_AT_S + 1, readThroughS: EXPIRES_AT_S + 1, rewoundAtS: 0, outageWaitS: OUTAGE_WAIT_S };
  const refused = cancel(graceful, newLife, [], moment);
  assert.is(refused.refusal, 'session_expired');
  assert.is(refused.life.status, 'pending');
});

test('the usual grace is three blocks, at least 15 s and at most 60 s', () => {
  const graces = [300, 5_000, 5_001, 12_000, 20_000, 600_000].map(inclusionGraceS);
  assert.equal(graces, [15, 15, 16, 36, 60, 60]);
});

test('money older than the session belongs to another order: neither counted nor late', () => {
  const ofLater = { terms: { ...terms, createdAtS: 5_000, expiresAtS: 6_000 } };
  const foreign = receipt(10n * ONE, 4_399, 'confirmed');
  const untouched = look(start, [foreign], 5_010, ofLater);
  assert.equal(untouched, { ...start, events: [] });
  assert.is(look(untouched, [foreign], 6_001, ofLater).life.status, 'expired');
  // A chain whose clock is ten minutes behind ours.
  const own = receipt(10n * ONE, 4_400, 'confirmed');
  assert.is(look(untouched, [foreign, own], 5_010, ofLater).life.status, 'paid');
});

test('where the network was followed, block numbers say what is older than the session, whatever the clocks say', () => {
  const ofLater = { terms: { ...terms, createdAtS: 5_000, expiresAtS: 6_000, beforeNumbers: { 'test:one': 70 } } };
  const foreign = receipt(10n * ONE, 5_001, 'confirmed', { blockNumber: 70 });
  const untouched = look(start, [foreign], 5_010, ofLater);
  assert.equal(untouched, { ...start, events: [] });
  const own = receipt(10n * ONE, 5_000 - 1_800, 'confirmed', { blockNumber: 71 });
  assert.is(look(untouched, [foreign, own], 5_010, ofLater).life.status, 'paid');
  const elsewhere = receipt(10n * ONE, 5_000 - 1_800, 'confirmed', { network: 'test:two', blockNumber: 71 });
  assert.is(look(untouched, [elsewhere], 5_010, ofLater).life.status, 'pending', 'times decide on other networks');
});

test('the tolerance of a session is its store’s, and at most a twentieth of what is due', () => {
  assert.is(toleratedPar(20n * ONE, ONE), ONE);
  assert.is(toleratedPar(20n * ONE, ONE - 1n), ONE - 1n);
  assert.is(toleratedPar(20n * ONE, ONE + 1n), ONE);
  assert.is(toleratedPar(10n * ONE, 7n * ONE), ONE / 2n);
});

test('a canceled session remembers when, ends once, and takes late money where the store accepts it', () => {
  const at = (nowS: number) => ({ nowS, readThroughS: nowS, rewoundAtS: 0, outageWaitS: OUTAGE_WAIT_S });
  const canceled = cancel(terms, newLife, [], at(400));
  const ended = { status: 'canceled', endedAtS: 400, canceledAtS: 400 } as const;
  assert.equal(canceled.life, { ...ended, paidAtS: null, paidLate: false, takesAnyToken: false });
  assert.equal(cancel(terms, canceled.life, [], at(410)).life, canceled.life);
  const money = receipt(10n * ONE, 390, 'confirmed');
  const accepted = look(canceled, [money], 420, { terms: { ...terms, latePolicy: 'accept' } });
  has(accepted.life, { status: 'paid', paidLate: true });
});

test('a transaction that is mined again keeps its first time, and the same id elsewhere is another transaction', () => {
  const first = receipt(10n * ONE, 990, 'orphaned', { tx: 'moved' });
  const again = receipt(10n * ONE, EXPIRES_AT_S + 40, 'confirmed', { tx: 'moved' });
  assert.is(look(start, [first, again], EXPIRES_AT_S + 60).life.status, 'paid');
  const elsewhere = look(start, [first, { ...again, network: 'test:two' }], EXPIRES_AT_S + 60);
  assert.is(elsewhere.life.status, 'expired');
});

test('an event reports confirmed money when completed, else all that counts, in the larger currency', () => {
  const sums = sumReceipts(terms, [
    receipt(3n * ONE, 500, 'confirmed'),
    receipt(4n * ONE, 500, 'confirmed', { currency: 'USDC' }),
    receipt(3n * ONE, 510, 'seen'),
    receipt(5n * ONE, 510, 'orphaned'),
    receipt(7n * ONE, 9_000, 'seen', { currency: 'USDC' }),
  ]);
  assert.equal(received(terms, newLife, sums, 'payment.completed'), { valuePar: 7n * ONE, currency: 'USDC' });
  assert.equal(received(terms, newLife, sums, 'payment.failed'), { valuePar: 10n * ONE, currency: 'USDT' });
  assert.equal(received(terms, newLife, sums, 'payment.late'), { valuePar: 7n * ONE, currency: 'USDC' });
  assert.is(received(terms, newLife, [], 'payment.expired'), null);
});

// ── Against the oracle ───────────────────────────────────────────────────────────────────────────────────────────────

type Payer = Readonly<{ value: number; currency: 'USDT' | 'USDC'; cameS: number; states: readonly OnChain[] }>;
type Step = Readonly<{ nowS: number; readThroughS: number; rewoundAtS: number; cancels: boolean }>;
type World = Readonly<{ terms: OracleTerms; payers: readonly Payer[]; steps: readonly Step[] }>;

/** A payer's receipts: a transaction that was orphaned and mined again has a later block, and its first is orphaned. */
function receiptsOf(payer: Payer, at: number, name: string): Receipt[] {
  const state = payer.states[at] ?? 'absent';
  if (state === 'absent') return [];
  const shape = (blockTimeS: number, ofState: ReceiptState): Receipt => ({
    network: 'test:one',
    tx: name,
    currency: payer.currency,
    decimals: 18,
    units: BigInt(payer.value) * ONE,
    blockNumber: 1,
    blockTimeS,
    state: ofState,
  });
  const wasOrphaned = payer.states.slice(0, at).includes('orphaned');
  if (!wasOrphaned || state === 'orphaned') return [shape(payer.cameS, state)];
  return [shape(payer.cameS, 'orphaned'), shape(payer.cameS + 5_000, state)];
}

/** Walks core through a world. */
function* walk({ terms: t, payers, steps }: World): Generator<Verdict> {
  const coreTerms: Terms = {
    duePar: BigInt(t.due) * ONE,
    tolerancePar: BigInt(t.tolerance) * ONE,
    accepts: t.accepts as Terms['accepts'],
    createdAtS: 0,
    beforeNumbers: {},
    expiresAtS: t.expiresAtS,
    inclusionGraceS: { 'test:one': t.inclusionGraceS },
    topUpGraceS: t.graceS,
    monitoringS: t.monitoringS,
    latePolicy: t.latePolicy,
  };
  let before = start;
  for (const [at, { nowS, readThroughS, rewoundAtS, cancels }] of steps.entries()) {
    const receipts = payers.flatMap((payer, number) => receiptsOf(payer, at, `tx${number}`));
    const sums = sumReceipts(coreTerms, receipts);
    const moment = { nowS, readThroughS, rewoundAtS, outageWaitS: t.outageWaitS };
    const asked = cancels ? cancel(coreTerms, before.life, sums, moment) : null;
    const after = asked ?? advance(coreTerms, before.life, sums, moment);
    const { life, standing: is } = after;
    const again = asked ? after : advance(coreTerms, life, sums, moment);
    assert.equal(changes(after, again), [], 'twice at the same moment is once');
    yield {
      status: life.status,
      endedAtS: life.endedAtS,
      paidAtS: life.paidAtS,
      paidLate: life.paidLate,
      seen: Number(is.seenPar / ONE),
      confirmed: Number(is.confirmedPar / ONE),
      late: Number(is.latePar / ONE),
      touched: is.touched,
      funded: is.funded,
      firm: is.firm,
      cancel: asked ? (asked.refusal ?? 'done') : undefined,
      events: changes(before, after),
    };
    before = after;
  }
}

function compare(world: World): void {
  const book = new Bookkeeper(world.terms);
  let at = 0;
  for (const actual of walk(world)) {
    const step = world.steps[at] as Step;
    const expected = book.step(
      world.payers.map((payer) => ({ ...payer, state: payer.states[at] ?? 'absent' })),
      step,
    );
    if (JSON.stringify(actual) !== JSON.stringify(expected)) {
      assert.equal(actual, expected, `step ${at} of ${JSON.stringify(world)}`);
    }
    at++;
  }
}

const oracleTerms = (latePolicy: 'accept' | 'hold', tolerance: number, inclusionGraceS = 0): OracleTerms => ({
  due: 2,
  tolerance,
  accepts: ['USDT'],
  expiresAtS: EXPIRES_AT_S,
  inclusionGraceS,
  graceS: GRACE_S,
  monitoringS: MONITORING_S,
  latePolicy,
  outageWaitS: OUTAGE_WAIT_S,
});

/** In time, in the grace, late, and beyond monitoring whenever the session ended. */
const arrivalsS = [900, 1_200, 1_500, 9_000];
const GRACE_ENDS_AT_S = EXPIRES_AT_S + GRACE_S;
const MONITORED_UNTIL_S = GRACE_ENDS_AT_S + MONITORING_S;
const edge = (lastS: number) => [lastS, lastS + 1];

test('every world of one payer and four steps agrees with the oracle', () => {
  const states: readonly OnChain[] = ['absent', 'seen', 'confirmed', 'orphaned'];
  const looksS = [950, 1_250, 2_100, 20_000];
  let worlds = 0;
  for (const latePolicy of ['hold', 'accept'] as const)
    for (const tolerance of [0, 1, 2])
      for (const cameS of arrivalsS)
        for (const value of [1, 2, 3])
          for (const currency of ['USDT', 'USDC'] as const)
            for (const cancelAt of [-1, 0, 1, 2])
              for (const isRead of [true, false])
                for (let code = 0; code < 4 ** looksS.length; code++) {
                  const payer: Payer = {
                    value,
                    currency,
                    cameS,
                    states: looksS.map((nowS, at) =>
                      cameS > nowS ? 'absent' : (states[Math.floor(code / 4 ** at) % 4] as OnChain),
                    ),
                  };
                  // Before the payment came its state is absent in every step: walk such a world once.
                  if (looksS.some((nowS, at) => cameS > nowS && Math.floor(code / 4 ** at) % 4 > 0)) continue;
                  worlds++;
                  compare({
                    terms: oracleTerms(latePolicy, tolerance),
                    payers: [payer],
                    steps: looksS.map((nowS, at) => ({
                      nowS,
                      readThroughS: isRead ? nowS : 0,
                      rewoundAtS: 0,
                      cancels: at === cancelAt,
                    })),
                  });
                }
  assert.ok(worlds > 50_000, `${worlds} worlds`);
});

test('random worlds of several payers agree with the oracle', () => {
  const payer = fc.record({
    value: fc.integer({ min: 1, max: 3 }),
    currency: fc.constantFrom('USDT' as const, 'USDT' as const, 'USDC' as const),
    cameS: fc.oneof(
      fc.constantFrom(
        ...arrivalsS,
        ...[EXPIRES_AT_S, EXPIRES_AT_S + 15, GRACE_ENDS_AT_S, MONITORED_UNTIL_S].flatMap(edge),
      ),
      fc.integer({ min: 0, max: 5_000 }),
    ),
    states: fc.array(fc.constantFrom<OnChain>('absent', 'seen', 'confirmed', 'final', 'orphaned'), {
      minLength: 8,
      maxLength: 8,
    }),
  });
  const gap = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 1_500 }));
  const step = fc.record({
    gap,
    lag: fc.constantFrom(0, 0, 5, 400, 10_000),
    rewound: fc.constantFrom(0, 0, 100, 700),
    cancels: fc.boolean(),
  });
  const world = fc
    .record({
      latePolicy: fc.constantFrom('accept' as const, 'hold' as const),
      tolerance: fc.integer({ min: 0, max: 3 }),
      inclusionGraceS: fc.constantFrom(0, 15, 15, 400),
      accepts: fc.constantFrom(['USDT'], ['USDT', 'USDC']),
      payers: fc.array(payer, { maxLength: 3 }),
      steps: fc.array(step, { minLength: 1, maxLength: 8 }),
    })
    .map(({ latePolicy, tolerance, inclusionGraceS, accepts, payers, steps }): World => {
      let nowS = 400;
      return {
        terms: { ...oracleTerms(latePolicy, tolerance, inclusionGraceS), accepts },
        payers,
        steps: steps.map(({ gap: passed, lag, rewound, cancels }) => {
          nowS += passed;
          return { nowS, readThroughS: nowS - lag, rewoundAtS: rewound && nowS - rewound, cancels };
        }),
      };
    });
  fc.assert(fc.property(world, compare), { numRuns: runs(20_000) });
});

test.run();
