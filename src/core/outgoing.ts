/**
 * Classifies final transfers out of our own wallets: an attempt of ours explains it, or it freezes money out.
 *
 * Decoders leave out transfers of zero. With many tokens anybody can write one in anybody's name (`transferFrom` with
 * 0).
 */
import { type HotRole, isPayback } from './intent.ts';
import type { Payout } from './payout.ts';
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

/**
 * - `ours`: this database knows the attempt.
 * - `recorded`: the treasury's own. Nobody is paid by it.
 * - `foreign`: no attempt explains it. It may be a refund whose attempt a restored database does not know, or a theft.
 */
type Meaning = 'ours' | 'recorded' | 'foreign';

/** Decides what a final transfer out of our own wallets means. */
export const explainOutgoing = ({ role }: Pick<OutgoingTransfer, 'role'>, isAttempted: boolean): Meaning => {
  if (role === 'treasury') return 'recorded';
  return isAttempted ? 'ours' : 'foreign';
};

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
