/**
 * Classifies final transfers out of our own wallets: an attempt of ours, the payment of a refund whose attempt a
 * restored database does not know, or a transfer by somebody else.
 *
 * Decoders leave out transfers of zero. With many tokens anybody can write one in anybody's name (`transferFrom` with
 * 0).
 */
import { type HotRole, isPayback } from './intent.ts';
import { endedCodes, type Payout } from './payout.ts';
import type { ChainTransfer, NetworkKey } from './transfer.ts';

/**
 * Roles of the wallets whose outgoing transfers are read. The treasury is the merchant's own, so its transfers are only
 * recorded.
 */
const watchedRoles = ['refund', 'gas', 'treasury'] as const;
export type WatchedRole = (typeof watchedRoles)[number];

/** A refund or gas wallet that paid before the policy named a higher index. */
export type FormerWallet = Readonly<{ role: HotRole; index: number; key: string }>;

type WatchedWallet = Readonly<{ role: WatchedRole; key: string }>;

/** Returns the wallets whose outgoing transfers are read, former ones included. */
export const watchedWallets = ({
  former,
  ...own
}: Readonly<Record<WatchedRole, string>> & Readonly<{ former: readonly FormerWallet[] }>): WatchedWallet[] => [
  ...watchedRoles.map((role) => ({ role, key: own[role] })),
  ...former.map(({ role, key }) => ({ role, key })),
];

/** A transfer above zero out of one of our wallets, in a final block. `from` is the wallet's address key. */
export type OutgoingTransfer = ChainTransfer &
  Readonly<{ network: NetworkKey; role: WatchedRole; blockNumber: number }>;

/** The fields of an outgoing transfer that decide its meaning. */
export type PaidTransfer = Pick<OutgoingTransfer, 'network' | 'role' | 'currency' | 'to' | 'units'>;

/** An open payout, and whether an attempt of its current generation is signed. */
export type Claimant = Readonly<{
  payout: Pick<Payout, 'id' | 'network' | 'intent' | 'state' | 'wait' | 'createdAtMs'>;
  isSigned: boolean;
}>;

export type Meaning =
  /** This database knows the attempt. */
  | Readonly<{ kind: 'ours'; payoutId: string }>
  /** No attempt is known, but this open refund pays exactly the same, so the transaction settles it. */
  | Readonly<{ kind: 'pays'; payoutId: string }>
  /** A refund that cannot be settled yet may explain it: an attempt of it is signed, or it has no payout. */
  | Readonly<{ kind: 'undecided' }>
  /** The treasury's own, or to or for another wallet of ours: nobody is paid by it. */
  | Readonly<{ kind: 'recorded' }>
  /** Nothing here explains it. */
  | Readonly<{ kind: 'foreign' }>;

/**
 * Decides what an outgoing transfer means.
 * @param attemptOf the payout with an attempt of this transaction id; null if none has
 * @param claimants open payouts that it may have paid; those that do not fit are ignored
 * @param isPending whether a refund without a payout is due to pay the same
 * @param isToOwn whether it went to a refund or gas wallet of ours or, of native coin, to or for a deposit address;
 * then nobody is paid, and nothing is lost
 */
export function explainOutgoing(
  transfer: PaidTransfer,
  attemptOf: string | null,
  claimants: readonly Claimant[],
  isPending: boolean,
  isToOwn = false,
): Meaning {
  if (transfer.role === 'treasury') return { kind: 'recorded' };
  if (attemptOf !== null) return { kind: 'ours', payoutId: attemptOf };
  const paid = claimants.filter(({ payout }) => isPaidBy(payout, transfer)).sort(byAge);
  const free = paid.find(mayBeSettled);
  if (free) return { kind: 'pays', payoutId: free.payout.id };
  if (paid.length > 0 || isPending) return { kind: 'undecided' };
  return { kind: isToOwn ? 'recorded' : 'foreign' };
}

/** Returns whether a transfer has the network, payee, currency and amount of a refund. */
export function isPaidBy(
  { intent }: Pick<Payout, 'intent'>,
  { network, role, currency, to, units }: PaidTransfer,
): boolean {
  return (
    isPayback(intent) &&
    role === 'refund' &&
    intent.network === network &&
    intent.currency === currency &&
    intent.to === to &&
    intent.units === units
  );
}

/**
 * Returns whether no known attempt can take effect any more. Earlier generations have ended. Of the current one, none
 * is signed, or all are proved to have ended.
 */
const mayBeSettled = ({ payout: { state, wait }, isSigned }: Claimant): boolean =>
  state === 'waiting' ||
  (state === 'sent' && !isSigned) ||
  (state === 'stuck' && (!isSigned || endedCodes.includes(wait?.code ?? '')));

const byAge = ({ payout: a }: Claimant, { payout: b }: Claimant): number =>
  a.createdAtMs - b.createdAtMs || (a.id < b.id ? -1 : 1);

/** A wallet of the signer's seed by its role and its index. */
export type IndexedWallet = Readonly<{ role: HotRole; index: number }>;
