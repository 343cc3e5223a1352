/**
 * Transfers out of the wallets that pay. An attempt of ours explains a final one, or it freezes money out: it may be a
 * refund whose attempt a restored database does not know, or a theft.
 *
 * Decoders leave out transfers of zero. With many tokens anybody can write one in anybody's name (`transferFrom` with
 * 0).
 */
import { type HotRole, hotRoles, isPayback } from './intent.ts';
import type { Payout } from './payout.ts';
import type { ChainTransfer, NetworkKey } from './transfer.ts';

/** Roles of our own wallets. The treasury is the merchant's: it spends what it likes, and no refund goes to it. */
export const ownRoles = [...hotRoles, 'treasury'] as const;
export type OwnRole = (typeof ownRoles)[number];

/** A transfer above zero out of a wallet that pays, in a final block. `from` is the wallet's address key. */
export type OutgoingTransfer = ChainTransfer & Readonly<{ network: NetworkKey; role: HotRole; blockNumber: number }>;

/** The fields of an outgoing transfer that decide its meaning. */
export type PaidTransfer = Pick<OutgoingTransfer, 'network' | 'role' | 'currency' | 'to' | 'units'>;

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
