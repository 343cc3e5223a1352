/**
 * Every state that a payout can be in, found by walking: from each state, whatever the engine's decisions, the chain,
 * the signer and operators can do next, as the functions of `core` decide it.
 */
import { type Intent, isPayback } from '../../src/core/intent.ts';
import {
  type Attempt,
  decide,
  decideFrozen,
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
  judgeRetry,
  type NamedPayment,
  resumed,
  type ShownOutcome,
} from '../../src/core/payout-exit.ts';
import { signerRules } from '../../src/signer/rules.ts';

/** What became of the signed attempts of the current generation. Only one of them can ever be included. */
type Outcome = 'pending' | 'paid' | 'failed' | 'dead' | 'foreign' | 'unclear';

/**
 * What became of a transaction that this database does not know, because an older state was restored: it is on its way,
 * it has paid the payout, or it can never be included. `none`: there is none. `unseen`: it has paid in blocks that were
 * passed over. `known`: it has paid, and an operator acknowledged its transfer with a thaw.
 */
type Lost = 'none' | 'pending' | 'paid' | 'ended' | 'unseen' | 'known';

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
  /** Whether an operator has frozen money out. */
  isFrozen: boolean;
  /** How often it was paid. `unclear`: something left the wallet, which counts. */
  payments: number;
}>;

export type Who = 'engine' | 'chain' | 'signer' | 'operator';
export type Move = Readonly<{ who: Who; what: string; to: Spot }>;

/** Replacements that the walk makes: more of them change nothing. */
const ATTEMPTS_WALKED = 2;
const NOW_MS = 1_800_000_000_000;
const network = 'test:one';
const rulesOf = (lane: PayoutRules['lane']): PayoutRules => ({ lane, resendMs: 1000, outbidMs: 1000 });
const ended = { tx: 't', feeUnits: 1n } as const;

const session = { id: 's', amount: '5.00' };
const payback = { id: 'p', network, currency: 'USDT', to: 'bb', units: 5n, session, mac: '' } as const;
const intents: Readonly<Record<Intent['kind'], Intent>> = {
  refund: { ...payback, kind: 'refund' },
  return: { ...payback, kind: 'return', held: 'late' },
  sweep: { kind: 'sweep', id: 'p', network, currency: 'USDT', from: [{ index: 0, units: 5n }] },
  gas: { kind: 'gas', id: 'p', network, form: 'transfer', index: 0, units: 5n },
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
    answerCode: null,
    answer: null,
    feeUnits: null,
  }));

/** Until that is known, engines without locks allot and sign nothing new, and nobody may end it as never paid. */
const isDoubted = ({ lost }: Spot): boolean => lost === 'pending' || lost === 'unseen';
const isHeld = (spot: Spot): boolean => isDoubted(spot) && !spot.hasLock;
const hasLostPaid = ({ lost }: Spot): boolean => lost === 'paid' || lost === 'unseen' || lost === 'known';
/** A freeze is the same for all kinds, so the walk freezes one alone. */
const mayFreeze = ({ kind }: Spot): boolean => kind === 'refund';
/** Where no numbers tell what was paid in blocks that were passed over, they freeze money out. */
const isStopped = ({ isFrozen, lost, lane }: Spot): boolean => isFrozen || (lost === 'unseen' && lane === 'expiry');

const isAnySigned = ({ attempts }: Spot): boolean => attempts.some((form) => form !== 'allotted');
const withLast = ({ attempts }: Spot, form: Spot['attempts'][number]) => [...attempts.slice(0, -1), form];

/** Returns what can happen next. */
function movesFrom(spot: Spot): Move[] {
  return [...engineMoves(spot), ...chainMoves(spot), ...operatorMoves(spot)];
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
    const next = isStopped(spot) ? decideFrozen : decide;
    const step = next(payout, attempts, null, recent, NOW_MS, rules);
    if (step.kind !== 'ask') return [step];
    const outcome = shownToEngine(spot);
    return outcome ? [next(payout, attempts, outcome, recent, NOW_MS, rules)] : [];
  });
  return steps.flatMap((step) => afterStep(spot, step));
}

/** Returns what the nodes say; null if they fail. */
function shownToEngine({ outcome }: Spot): Parameters<typeof decide>[2] {
  const outcomes = {
    pending: { kind: 'waiting', included: null },
    paid: { kind: 'succeeded', number: 1, ...ended },
    failed: { kind: 'failed', number: 1, ...ended },
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

const heldCodes: Partial<Record<Lost, string>> = { known: 'refund_equals_transfer', unseen: 'payout_nonce_foreign' };
/** Until a refund's money is there, final and approved, its store open, and limits have room: all lead to one state. */
const REFUND_HELD = 'refund_…';

/** All refusals after which a payout only waits lead to one state. */
const WAITING_RULE = 'signer_refused_…';

type Make = (what: string, changes: Partial<Spot>, who?: Who) => Move;

function quoteMoves(spot: Spot, by: Make): Move[] {
  if (isHeld(spot)) return [by('is held', { code: 'payouts_settling' })];
  const codes = ['destination_frozen', 'destination_invalid', 'token_short', 'native_short', 'would_fail'] as const;
  const isPaid = hasLostPaid(spot);
  const held = { code: heldCodes[spot.lost] ?? 'refund_maybe_paid' };
  const refusals = codes.map((code) => {
    const isEnd = judgeQuote({ refused: code, message: code, missing: null }).kind === 'fail' && !isDoubted(spot);
    const failed = isPaid && isPayback(intents[spot.kind]) ? held : ({ state: 'failed', code } as const);
    return by(`quote ${code}`, isEnd ? failed : { code });
  });
  // Nothing is allotted then: the transfer, the lock, the wallet's numbers or its empty balance say that it was paid.
  if (isPaid) return [...refusals, by('is held', held)];
  const holds = isPayback(intents[spot.kind]) ? [by('holds the refund', { code: REFUND_HELD })] : [];
  return [
    ...refusals,
    ...holds,
    by('allots', { state: 'sent', attempts: ['allotted'], code: null, outcome: 'pending' }),
  ];
}

function signMoves(spot: Spot, by: Make): Move[] {
  const isFirst = spot.attempts.length === 1;
  // A replacement excludes what it replaces.
  if (isFirst && isHeld(spot)) return [];
  const without = { attempts: spot.attempts.slice(0, -1), state: isFirst ? 'waiting' : spot.state } as const;
  const refusals = signerRules.flatMap((rule) => {
    const code = `signer_refused_${rule}`;
    const judged = judgeRefusal(code);
    if (judged === 'stop') return [];
    const end = judged === 'stick' ? ({ state: 'stuck', code } as const) : { code: WAITING_RULE };
    return [by(`refuses: ${rule}`, { ...without, ...end }, 'signer')];
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
  const ends: Outcome[] = hasLostPaid(spot) ? [excluded] : ['paid', 'failed', 'unclear', excluded];
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
  // With a lock they are included and fail, or they are not.
  const without: Outcome[] = spot.lane === 'sequence' ? ['foreign'] : spot.hasLock ? ['failed', 'dead'] : ['dead'];
  const outcomes = excluded ? without : [spot.outcome];
  const places = isPayback(intents[spot.kind]) ? (['paid', 'unseen'] as const) : (['paid'] as const);
  const paid = outcomes.flatMap((outcome) =>
    places.map((lost): Move => {
      const to = { ...spot, lost, outcome, payments: spot.payments + 1 };
      return { who: 'chain', what: `the lost one pays (${lost})`, to };
    }),
  );
  if (spot.lane === 'sequence') return paid;
  return [...paid, { who: 'chain', what: 'the lost one expires', to: { ...spot, lost: 'ended' } }];
}

// ── Operators ────────────────────────────────────────────────────────────────────────────────────────────────────────

function evidenceOf(spot: Spot): Evidence {
  const { generation, attempts, outcome, lost, kind } = spot;
  const isLost = hasLostPaid(spot);
  const shown: Readonly<Record<Outcome, ShownOutcome>> = {
    pending: { kind: 'waiting' },
    paid: { kind: 'succeeded', ...ended, tx: 't0' },
    failed: { kind: 'failed', ...ended },
    dead: { kind: 'dead' },
    foreign: { kind: 'foreign' },
    unclear: { kind: 'unclear', message: 'its record shows something else', feeUnits: 1n },
  };
  const txs = attempts.flatMap((form, at) => (form === 'allotted' ? [] : `t${at}`));
  const now = txs.length === 0 ? [] : [{ generation, txs, outcome: shown[outcome] }];
  const before = generation === 0 ? [] : [{ generation: generation - 1, txs: ['old'], outcome: shown.failed }];
  // A network that was frozen for a nonce has read the blocks when that ends.
  const isShown = spot.hasLock || outcome === 'foreign' ? isLost : lost === 'paid';
  const suspect = isShown && isPayback(intents[kind]) ? 'transaction x, or a lock' : null;
  return { isSigning: attempts.includes('allotted'), generations: [...before, ...now], suspect };
}

/** What an operator may name: an attempt of its own that paid, or the transaction that is unknown here. */
function namedBy(spot: Spot): readonly (readonly [NamedPayment, boolean])[] {
  const { outcome } = spot;
  const own = { tx: 't0', ownerId: 'p' } as const;
  const all: (readonly [NamedPayment, boolean])[] = [];
  if (hasLostPaid(spot)) all.push([{ tx: 'x', ownerId: null, shown: { kind: 'paid', feeUnits: 1n } }, false]);
  if (outcome === 'paid') all.push([{ ...own, shown: { kind: 'paid', feeUnits: 1n } }, false]);
  if (outcome === 'unclear') all.push([{ ...own, shown: { kind: 'unclear', message: 'unclear', feeUnits: 1n } }, true]);
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
  const isBare = state === 'stuck' && isUnsigned(state, attempts.length);
  const again = isBare ? ({ kind: 'look' } as const) : judgeRetry(payout, evidence);
  const goesOn = resumed(state, attempts.length);
  if (again.kind === 'look' && goesOn) moves.push(by('payout resolve --retry', { state: goesOn, code: null }));
  if (isUnsigned(state, attempts.length) && evidence.suspect === null) {
    if (!hasLostPaid(spot) && !isDoubted(spot)) moves.push(by('refund reject', { state: 'canceled', code: null }));
  }
  if (mayFreeze(spot)) moves.push(by(spot.isFrozen ? 'payout thaw' : 'payout freeze', { isFrozen: !spot.isFrozen }));
  if (spot.lost === 'unseen') moves.push(by('network reread', { lost: 'paid' }));
  // A refund that nobody had requested again, when an operator acknowledged what had left the wallet.
  if (spot.lost === 'paid' && isPayback(intents[spot.kind]) && state === 'waiting')
    moves.push(by('payout thaw', { lost: 'known' }));
  // The next wallet pays, and the former one is emptied by hand with the number of what never gets into a block.
  if (spot.lost === 'pending' && spot.lane === 'sequence' && !spot.isFrozen) {
    const isPassed = isAnySigned(spot) && spot.outcome === 'pending';
    moves.push(by('empties the wallet', { lost: 'ended', ...(isPassed && { outcome: 'foreign' }) }));
  }
  if (attempts.at(-1) === 'allotted') {
    const isFirst = attempts.length === 1 && state === 'sent';
    moves.push(by('payout reconcile', { attempts: attempts.slice(0, -1), ...(isFirst && { state: 'waiting' }) }));
  }
  for (const [named, isAgreed] of namedBy(spot)) {
    const exit = judgePaid(payout, evidence, named, isAgreed);
    if (exit.kind === 'paid') moves.push(by('payout resolve --paid', { state: 'succeeded', code: null }));
  }
  const exit = judgeNever(payout, evidence);
  // An acknowledged transfer that equals the refund needs a person's word that it was another one.
  if (exit.kind === 'never' && !isDoubted(spot) && spot.lost !== 'known') {
    moves.push(by('payout resolve --never', { state: 'failed', code: 'rejected_by_operator' }));
    const next = Math.min(GENERATIONS_MAX, generation + (exit.proof === null ? 0 : 1));
    const renewed = { state: 'waiting', generation: next, attempts: [], outcome: 'pending', code: null } as const;
    if (again.kind === 'never') moves.push(by('payout resolve --retry, signed again', renewed));
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
    isFrozen: false,
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
    for (const { to } of moves) {
      const next = nameOf(to);
      const before = comesFrom.get(next);
      if (before) before.push(name);
      else comesFrom.set(next, [name]);
    }
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
