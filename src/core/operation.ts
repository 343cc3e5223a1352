/**
 * Operations: what an operator asks for in the dashboard and the network's indexer does, because it needs a node or the
 * signer. One is requested, runs, and ends; it never runs twice unless that changes nothing.
 * @module
 */
import type { NetworkKey } from './transfer.ts';

/** What is asked for. `isCheck`: only looks, and says what would be done. */
export type Wish =
  /** `min`: what an address must hold, in stablecoins such as `5.00`, instead of the network's setting. */
  | Readonly<{ kind: 'sweep_plan'; min?: string }>
  /** Sweeps what was shown as the result of a `sweep_plan`, and nothing else. */
  | Readonly<{ kind: 'sweep_run'; planId: string }>
  /** `node`: which other node of the settings is read; absent: the usual one. */
  | Readonly<{ kind: 'reread'; from: number; to: number; isCheck: boolean; node?: OtherNode }>
  | Readonly<{ kind: 'adopt' }>
  /**
   * `paidBy`: the transaction that paid it; null: nothing has. `isRenewed`: it is signed and paid once more.
   * `vouches`: the operator says that this attempt paid it, although its record on the chain does not show that.
   */
  | Readonly<{
      kind: 'settle';
      payoutId: string;
      paidBy: string | null;
      isRenewed: boolean;
      isCheck: boolean;
      vouches?: true;
    }>
  /** `accepted`: the digest of the unexplained transactions that an earlier check has shown. */
  | Readonly<{ kind: 'resume_wallets'; isCheck: boolean; accepted: string | null }>
  | Readonly<{ kind: 'freeze_signer' }>;

/** Nodes that the settings name beside the usual one: `witness_url` and `fallback_url`. */
export const otherNodes = ['witness', 'fallback'] as const;
export type OtherNode = (typeof otherNodes)[number];

export type OperationKind = Wish['kind'];

/**
 * - `requested`: the indexer has not seen it yet. - `running`: it works on it. - `done`, `failed`: it has ended.
 * - `expired`: no indexer came in time; it never ran, and never will.
 */
export type OperationState = 'requested' | 'running' | 'done' | 'failed' | 'expired';

/** A result in words. `digest` names what was shown, for the operation that is bound to it. */
export type OperationResult = Readonly<{
  lines: readonly string[];
  table?: Readonly<{ columns: readonly string[]; rows: readonly (readonly string[])[] }>;
  plan?: SweepOffer;
  digest?: string;
}>;

/** What a plan has shown: a run is bound to it. Amounts are base units of the native coin, as text. */
export type SweepOffer = Readonly<{ treasury: string; costUnits: string; ids: readonly string[] }>;

/** Requested and running operations of one network. */
export const OPEN_MAX = 5;
/** Ended operations of one network that are kept. */
export const KEPT_MAX = 200;
/** How long one waits for an indexer: after that the operator has moved on, and the chain too. */
export const WAIT_MS_MAX = 600_000;
/** How old a plan may be that is run. */
export const PLAN_MS_MAX = 900_000;
/** How often one that changes nothing twice is begun again after the indexer was killed. */
const TRIES_MAX = 3;
/** By how much the cost of a sweep may have risen since it was shown: 25 %. */
const COST_RISE = { by: 5n, of: 4n } as const;

const MINUTE_MS = 60_000;

/** How long each may take, and whether it may begin again after a kill. */
const rules: Readonly<Record<OperationKind, Readonly<{ timeMsMax: number; mayRepeat: boolean }>>> = {
  sweep_plan: { timeMsMax: 10 * MINUTE_MS, mayRepeat: true },
  sweep_run: { timeMsMax: 10 * MINUTE_MS, mayRepeat: false },
  reread: { timeMsMax: 120 * MINUTE_MS, mayRepeat: true },
  adopt: { timeMsMax: 30 * MINUTE_MS, mayRepeat: true },
  settle: { timeMsMax: 10 * MINUTE_MS, mayRepeat: false },
  resume_wallets: { timeMsMax: 30 * MINUTE_MS, mayRepeat: false },
  freeze_signer: { timeMsMax: MINUTE_MS, mayRepeat: true },
};

export const timeMsMaxOf = ({ kind }: Wish): number => rules[kind].timeMsMax;

/** A check changes nothing, whatever its kind. */
const mayRepeat = (wish: Wish): boolean => rules[wish.kind].mayRepeat || ('isCheck' in wish && wish.isCheck);

/** Returns the state to show: nobody may have saved yet that one has expired. */
export const stateAt = (state: OperationState, askedAtMs: number, nowMs: number): OperationState =>
  state === 'requested' && nowMs >= askedAtMs + WAIT_MS_MAX ? 'expired' : state;

/** What becomes of one that an earlier process of the indexer began and did not end. */
export function afterKill(wish: Wish, tries: number): 'again' | OperationResult {
  if (mayRepeat(wish) && tries < TRIES_MAX) return 'again';
  return {
    lines: [
      'The indexer ended while this ran, so nobody knows how far it came. Look at the payouts before you ask again.',
    ],
  };
}

/** What comes of asking for one. `plan_old` and `plan_used` are about the plan that a run names. */
export type AskOutcome = 'requested' | 'already' | 'too_many' | 'no_plan' | 'plan_old' | 'plan_used';

/** Why a run may not be asked for; null if it may. */
export function whyNotRun(
  plan: Readonly<{
    network: NetworkKey;
    state: OperationState;
    result: OperationResult | null;
    endedAtMs: number | null;
  }> | null,
  network: NetworkKey,
  nowMs: number,
): 'no_plan' | 'plan_old' | null {
  if (!plan?.result?.plan || plan.state !== 'done' || plan.network !== network || plan.endedAtMs === null)
    return 'no_plan';
  return nowMs >= plan.endedAtMs + PLAN_MS_MAX ? 'plan_old' : null;
}

/** Returns whether a plan of now is still what was shown: the same treasury, and no more expensive by a quarter. */
export function isAsShown(shown: SweepOffer, now: Readonly<{ treasury: string; costUnits: bigint }>): boolean {
  return shown.treasury === now.treasury && now.costUnits * COST_RISE.of <= BigInt(shown.costUnits) * COST_RISE.by;
}
