/**
 * Every state that a payout can be in, found by walking: from each state, whatever the engine's decisions, the chain,
 * the signer and operators can do next, as the functions of `core` decide it.
 * @module
 */
import { type Intent, isPayback } from '../../src/core/intent.ts';
import { explainOutgoing } from '../../src/core/outgoing.ts';
import {
  type Attempt,
  decide,
  GENERATIONS_MAX,
  judgeQuote,
  judgeRefusal,
  type Payout,
  type PayoutRules,
  type PayoutState,
  type Step,
} from '../../src/core/payout.ts';
import {
  type Evidence,
  isUnsigned,
  judgeNever,
  judgePaid,
  type NamedPayment,
  resumed,
  type ShownOutcome,
} from '../../src/core/payout-exit.ts';

/** What became of the signed attempts of the current generation. Only one of them can ever be included. */
type Outcome = 'pending' | 'paid' | 'failed' | 'dead' | 'foreign' | 'unclear';

/**
 * What became of a transaction that this database does not know, because an older state was restored: it is on its way,
 * it has paid the payout, or it can never be included. `none`: there is none.
 */
type Lost = 'none' | 'pending' | 'paid' | 'ended';

export type Spot = Readonly<{
  kind: Intent['kind'];
  lane: PayoutRules['lane'];
  /** A lock on the chain excludes a second payment; of a sweep, that its address is empty then. */
  hasLock: boolean;
  state: PayoutState;
  generation: number;
  code: string | null;
  attempts: readonly ('allotted' | 'signed' | 'sent')[];
  outcome: Outcome;
  lost: Lost;
  /** How often it was paid. `unclear`: something left the wallet, which counts. */
  payments: number;
}>;

export type Who = 'engine' | 'chain' | 'signer' | 'watch' | 'operator';
export type Move = Readonly<{ who: Who; what: string; to: Spot }>;

/** Replacements that the walk makes: more of them change nothing. */
const ATTEMPTS_WALKED = 2;
const NOW_MS = 1_800_000_000_000;
const network = 'test:one';
const rulesOf = (lane: PayoutRules['lane']): PayoutRules => ({ lane, resendMs: 1000, outbidMs: 1000 });
const ended = { tx: 't', feeUnits: 1n } as const;

const payback = { id: 'p', network, currency: 'USDT', to: 'bb', units: 5n, mac: '' } as const;
const intents: Readonly<Record<Intent['kind'], Intent>> = {
  refund: { ...payback, kind: 'refund' },
  return: { ...payback, kind: 'return', session: { id: 's', amount: '5.00' }, held: 'late' },
  sweep: { kind: 'sweep', id: 'p', network, currency: 'USDT', from: [{ index: 0, units: 5n }] },
  gas: { kind: 'gas', id: 'p', network, form: 'transfer', index: 0, units: 5n },
  move: { kind: 'move', id: 'p', network, role: 'refund', fromIndex: 0, toIndex: 1, currency: 'USDT', units: 5n },
};

function payoutOf({ kind, state, generation, code }: Spot): Payout {
  return {
    id: 'p',
    network,
    intent: intents[kind],
    sessionId: null,
    servesId: null,
    state,
    generation,
    proof: generation === 0 ? null : 'failed',
    wait: code === null ? null : { code, message: code },
    fault: null,
    notBeforeMs: 0,
    tx: state === 'succeeded' ? 't' : null,
    feeUnits: null,
    createdAtMs: 0,
    updatedAtMs: 0,
    settledAtMs: null,
  };
}

const attemptsOf = ({ attempts, generation, lane }: Spot): Attempt[] =>
  attempts.map((form, attempt) => ({
    generation,
    attempt,
    payer: 'aa',
    payerRole: 'refund',
    nonce: lane === 'sequence' ? 0 : null,
    terms: {},
    feeUnitsMax: 1n,
    tx: form === 'allotted' ? null : `t${attempt}`,
    bytes: form === 'allotted' ? null : new Uint8Array([1]),
    allottedAtMs: 0,
    signedAtMs: form === 'allotted' ? null : 0,
    sentAtMs: form === 'sent' ? 0 : null,
    answer: null,
    feeUnits: null,
  }));

/** Until that is known, engines without locks allot and sign nothing new, and nobody may end it as never paid. */
const isDoubted = ({ lost }: Spot): boolean => lost === 'pending';
const isHeld = (spot: Spot): boolean => isDoubted(spot) && !spot.hasLock;

const isAnySigned = ({ attempts }: Spot): boolean => attempts.some((form) => form !== 'allotted');
const withLast = ({ attempts }: Spot, form: Spot['attempts'][number]) => [...attempts.slice(0, -1), form];

/** Returns what can happen next. */
export function movesFrom(spot: Spot): Move[] {
  return [...engineMoves(spot), ...chainMoves(spot), ...watchMoves(spot), ...operatorMoves(spot)];
}

// ── The engine ───────────────────────────────────────────────────────────────────────────────────────────────────────

function engineMoves(spot: Spot): Move[] {
  const payout = payoutOf(spot);
  const attempts = attemptsOf(spot);
  const rules = rulesOf(spot.lane);
  // What the engine did last is forgotten, just sent again, or just compared with the price.
  const recents = [
    { sentAtMs: null, outbidAtMs: null },
    { sentAtMs: NOW_MS, outbidAtMs: null },
    { sentAtMs: NOW_MS, outbidAtMs: NOW_MS },
  ];
  const steps = recents.flatMap((recent) => {
    const step = decide(payout, attempts, null, recent, NOW_MS, rules);
    if (step.kind !== 'ask') return [step];
    const outcome = shownToEngine(spot);
    return outcome ? [decide(payout, attempts, outcome, recent, NOW_MS, rules)] : [];
  });
  return steps.flatMap((step) => afterStep(spot, step));
}

/** Returns what the nodes say; null if they fail. */
function shownToEngine({ outcome }: Spot): Parameters<typeof decide>[2] {
  const outcomes = {
    pending: { kind: 'waiting', included: null },
    paid: { kind: 'succeeded', ...ended },
    failed: { kind: 'failed', ...ended },
    dead: { kind: 'dead' },
    foreign: { kind: 'foreign', message: 'its number was used' },
    unclear: null,
  } as const;
  return outcomes[outcome];
}

/** Returns what the database holds after a step. Every kind of step is here, or the compiler refuses this file. */
function afterStep(spot: Spot, step: Step): Move[] {
  const by = (what: string, changes: Partial<Spot>, who: Who = 'engine'): Move => ({
    who,
    what,
    to: { ...spot, ...changes },
  });
  switch (step.kind) {
    case 'rest':
    case 'ask':
      return [];
    case 'quote':
      return quoteMoves(spot, by);
    case 'sign':
      return signMoves(spot, by);
    case 'send':
      return [
        by('sends', { attempts: withLast(spot, 'sent'), code: null }),
        ...(spot.attempts.at(-1) === 'sent'
          ? []
          : [by('holds back bytes that differ', { state: 'stuck', code: 'payout_bytes_differ' })]),
      ];
    case 'outbid':
      if (spot.attempts.length >= ATTEMPTS_WALKED) return [];
      return [by('allots a replacement', { attempts: [...spot.attempts, 'allotted'] })];
    case 'succeed':
      return [by('settles', { state: 'succeeded', code: null })];
    case 'renew': {
      const generation = Math.min(GENERATIONS_MAX, spot.generation + 1);
      const next = { generation, attempts: [], outcome: 'pending', code: step.why?.code ?? null } as const;
      return [by('begins a generation', { ...next, state: step.isStuck ? 'stuck' : 'waiting' })];
    }
    case 'stick':
      return [by('sticks', { state: 'stuck', code: step.code })];
    default:
      return unknownStep(step);
  }
}

function unknownStep(step: never): Move[] {
  throw new Error(`the walk does not know this step of the engine: ${JSON.stringify(step)}`);
}

type Make = (what: string, changes: Partial<Spot>, who?: Who) => Move;

function quoteMoves(spot: Spot, by: Make): Move[] {
  if (isHeld(spot)) return [by('is held', { code: 'payouts_rollback_possible' })];
  const codes = ['destination_frozen', 'destination_invalid', 'token_short', 'native_short', 'would_fail'] as const;
  const isPaid = spot.lost === 'paid';
  const held = { code: 'refund_maybe_paid' } as const;
  const refusals = codes.map((code) => {
    const isEnd = judgeQuote({ kind: 'refused', code, message: code }).kind === 'fail' && !isDoubted(spot);
    const failed = isPaid && isPayback(intents[spot.kind]) ? held : ({ state: 'failed', code } as const);
    return by(`quote ${code}`, isEnd ? failed : { code });
  });
  // Nothing is allotted then: the transfer, the lock, the wallet's numbers or its empty balance say that it was paid.
  if (isPaid) return [...refusals, by('is held', held)];
  return [...refusals, by('allots', { state: 'sent', attempts: ['allotted'], code: null, outcome: 'pending' })];
}

function signMoves(spot: Spot, by: Make): Move[] {
  const isFirst = spot.attempts.length === 1;
  // A replacement excludes what it replaces.
  if (isFirst && isHeld(spot)) return [];
  const without = { attempts: spot.attempts.slice(0, -1), state: isFirst ? 'waiting' : spot.state } as const;
  const codes = ['cap', 'approval', 'mac', 'intent', 'generation', 'attempt', 'check', 'fence', 'nonce'];
  const refusals = codes.flatMap((rule) => {
    const code = `signer_refused_${rule}`;
    const judged = judgeRefusal(code);
    if (judged === 'stop') return [];
    return [by(`refuses: ${rule}`, { ...without, code, ...(judged === 'stick' && { state: 'stuck' }) }, 'signer')];
  });
  return [by('signs', { attempts: withLast(spot, 'signed') }, 'signer'), ...refusals];
}

// ── The chain, and the watch over our wallets ────────────────────────────────────────────────────────────────────────

/** Bytes that are signed may reach the chain although they were never sent from here. */
function chainMoves(spot: Spot): Move[] {
  const lostMoves = lostOnChain(spot);
  if (spot.outcome !== 'pending' || !isAnySigned(spot)) return lostMoves;
  const excluded = spot.lane === 'sequence' ? 'foreign' : 'dead';
  // Once the lost one has paid, nothing new is allotted: the number of these is taken, or they have expired, too.
  const ends: Outcome[] = spot.lost === 'paid' ? [excluded] : ['paid', 'failed', 'unclear', excluded];
  const own = ends.map((outcome): Move => {
    const isPayment = outcome === 'paid' || outcome === 'unclear';
    // Attempts that are known have the number of the lost one, or its lock is taken.
    const excludes = spot.lost === 'pending' && (spot.lane === 'sequence' || isPayment);
    const payments = spot.payments + (isPayment ? 1 : 0);
    return { who: 'chain', what: outcome, to: { ...spot, outcome, payments, ...(excludes && { lost: 'ended' }) } };
  });
  return [...own, ...lostMoves];
}

/** What is on its way and not known here is included, or expires. A number stays free until something else uses it. */
function lostOnChain(spot: Spot): Move[] {
  if (spot.lost !== 'pending') return [];
  // What pays takes the number of the known attempts, or the lock that they need.
  const excluded = isAnySigned(spot) && spot.outcome === 'pending';
  const outcome = excluded ? (spot.lane === 'sequence' ? 'foreign' : 'dead') : spot.outcome;
  const paid: Move = {
    who: 'chain',
    what: 'the lost one pays',
    to: { ...spot, lost: 'paid', outcome, payments: spot.payments + 1 },
  };
  if (spot.lane === 'sequence') return [paid];
  return [paid, { who: 'chain', what: 'the lost one expires', to: { ...spot, lost: 'ended' } }];
}

/** A final transfer that no attempt explains settles the refund that it pays. */
function watchMoves(spot: Spot): Move[] {
  const { kind, lost, state } = spot;
  if (lost !== 'paid' || !isPayback(intents[kind]) || ends.includes(state)) return [];
  const transfer = {
    network,
    role: 'refund',
    tx: 'x',
    index: 0,
    currency: 'USDT',
    from: 'aa',
    to: 'bb',
    units: 5n,
  } as const;
  const claimant = { payout: payoutOf(spot), isSigned: isAnySigned(spot) };
  const meaning = explainOutgoing(transfer, null, [claimant], false);
  return meaning.kind === 'pays'
    ? [{ who: 'watch', what: 'settles', to: { ...spot, state: 'succeeded', code: null } }]
    : [];
}

// ── Operators ────────────────────────────────────────────────────────────────────────────────────────────────────────

function evidenceOf(spot: Spot): Evidence {
  const { generation, attempts, outcome, lost, kind, lane } = spot;
  const isLost = lost === 'paid';
  const shown: Readonly<Record<Outcome, ShownOutcome>> = {
    pending: { kind: 'waiting' },
    paid: { kind: 'succeeded', ...ended, tx: 't0' },
    failed: { kind: 'failed', ...ended },
    dead: { kind: 'dead' },
    foreign: { kind: 'foreign', tx: 'x', paid: isLost && lane === 'sequence' },
    unclear: { kind: 'unclear', message: 'its record shows something else' },
  };
  const txs = attempts.flatMap((form, at) => (form === 'allotted' ? [] : `t${at}`));
  const now = txs.length === 0 ? [] : [{ generation, txs, outcome: shown[outcome] }];
  const before = generation === 0 ? [] : [{ generation: generation - 1, txs: ['old'], outcome: shown.failed }];
  const suspect = isLost && isPayback(intents[kind]) ? 'transaction x' : null;
  return { isSigning: attempts.includes('allotted'), generations: [...before, ...now], suspect };
}

/** What an operator may name: an attempt of its own that paid, or the transaction that is unknown here. */
function namedBy({ outcome, lost }: Spot): readonly (readonly [NamedPayment, boolean])[] {
  const own = { tx: 't0', ownerId: 'p' } as const;
  const all: (readonly [NamedPayment, boolean])[] = [];
  if (lost === 'paid') all.push([{ tx: 'x', ownerId: null, shown: { kind: 'paid', feeUnits: 1n } }, false]);
  if (outcome === 'paid') all.push([{ ...own, shown: { kind: 'paid', feeUnits: 1n } }, false]);
  if (outcome === 'unclear') all.push([{ ...own, shown: { kind: 'unclear', message: 'unclear' } }, true]);
  return all;
}

export const ends: readonly PayoutState[] = ['succeeded', 'failed', 'canceled'];

function operatorMoves(spot: Spot): Move[] {
  const by = (what: string, changes: Partial<Spot>): Move => ({ who: 'operator', what, to: { ...spot, ...changes } });
  const { state, attempts, generation } = spot;
  if (ends.includes(state)) return [];
  const payout = payoutOf(spot);
  const evidence = evidenceOf(spot);
  const moves: Move[] = [];
  const goesOn = resumed(state, attempts.length);
  if (goesOn) moves.push(by('payouts resume', { state: goesOn, code: null }));
  if (isUnsigned(state, attempts.length) && evidence.suspect === null) {
    if (spot.lost !== 'paid' && !isDoubted(spot)) moves.push(by('refunds reject', { state: 'canceled', code: null }));
  }
  // The next wallet pays, and what the former one holds is moved with the number of what never gets into a block.
  if (isDoubted(spot) && spot.lane === 'sequence') {
    const isPassed = isAnySigned(spot) && spot.outcome === 'pending';
    moves.push(by('wallet empty', { lost: 'ended', ...(isPassed && { outcome: 'foreign' }) }));
  }
  if (attempts.at(-1) === 'allotted') {
    const isFirst = attempts.length === 1 && state === 'sent';
    moves.push(by('payouts adopt', { attempts: attempts.slice(0, -1), ...(isFirst && { state: 'waiting' }) }));
  }
  for (const [named, vouches] of namedBy(spot)) {
    const exit = judgePaid(payout, evidence, named, vouches);
    if (exit.kind === 'paid') moves.push(by('payouts settle --paid', { state: 'succeeded', code: null }));
  }
  const exit = judgeNever(payout, evidence);
  if (exit.kind === 'never' && !isDoubted(spot)) {
    moves.push(by('payouts settle --never', { state: 'failed', code: 'rejected_by_operator' }));
    const next = Math.min(GENERATIONS_MAX, generation + (exit.proof === null ? 0 : 1));
    const renewed = { state: 'waiting', generation: next, attempts: [], outcome: 'pending', code: null } as const;
    moves.push(by('payouts settle --never --again', renewed));
  }
  return moves;
}

// ── The walk ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Where payouts begin: planned, or as an older state of the database has them after they were paid. */
export function startsOf(kind: Spot['kind'], lane: Spot['lane'], hasLock = false): Spot[] {
  const planned = {
    kind,
    lane,
    hasLock,
    state: 'waiting',
    generation: 0,
    code: null,
    attempts: [],
    outcome: 'pending',
  } as const;
  const lost = { ...planned, lost: 'paid', payments: 1 } as const;
  const underWay = { ...planned, lost: 'pending', payments: 0 } as const;
  const pending: Spot[] = [
    underWay,
    // The state is from before it was signed, or before it was replaced with the same number.
    { ...underWay, state: 'sent', attempts: ['allotted'] },
    lane === 'sequence' ? { ...underWay, state: 'sent', attempts: ['sent'] } : sentBefore(underWay),
  ];
  // Gas that is sent twice is our own coin on our own address; only its numbers can tell.
  const restored: Spot[] = kind === 'gas' ? [] : [lost, sentBefore(lost), ...pending];
  return [{ ...planned, lost: 'none', payments: 0 }, ...restored];
}

/** What paid it was signed later than the attempt that is known, so that one has ended. */
const sentBefore = (lost: Spot): Spot => ({
  ...lost,
  state: 'sent',
  attempts: ['sent'],
  outcome: lost.lane === 'sequence' ? 'foreign' : 'dead',
});

export const nameOf = (spot: Spot): string => JSON.stringify(spot);

/** Returns all states that can be reached, with the moves from each. */
export function walk(starts: readonly Spot[], isAllowed: (move: Move) => boolean = () => true) {
  const found = new Map<string, readonly Move[]>();
  const spots = [...starts];
  for (let spot = spots.pop(); spot; spot = spots.pop()) {
    if (found.has(nameOf(spot))) continue;
    const moves = movesFrom(spot).filter(isAllowed);
    found.set(nameOf(spot), moves);
    spots.push(...moves.map(({ to }) => to));
  }
  return found;
}

/** Returns the states from which no sequence of moves leads to an end. */
export function deadEnds(found: ReadonlyMap<string, readonly Move[]>): string[] {
  const isEnd = (name: string): boolean => ends.includes((JSON.parse(name) as Spot).state);
  const comesFrom = new Map<string, string[]>();
  for (const [name, moves] of found) {
    for (const { to } of moves) comesFrom.set(nameOf(to), [...(comesFrom.get(nameOf(to)) ?? []), name]);
  }
  const open = [...found.keys()].filter(isEnd);
  const good = new Set(open);
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    for (const before of comesFrom.get(name) ?? []) {
      if (good.has(before)) continue;
      good.add(before);
      open.push(before);
    }
  }
  return [...found.keys()].filter((name) => !good.has(name));
}
