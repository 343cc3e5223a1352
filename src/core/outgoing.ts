/**
 * Transfers out of the wallets that pay. An attempt of ours explains a final one, or it freezes money out: it may be a
 * refund whose attempt a restored database does not know, or a theft.
 *
 * Decoders leave out transfers of zero. With many tokens anybody can write one in anybody's name (`transferFrom` with
 * 0).
 */
import { type HotRole, hotRoles, isPayback } from './intent.ts';
import type { Payout } from './payout.ts';
import type { Currency, NetworkKey } from './transfer.ts';

/** Roles of our own wallets. The treasury is the merchant's: it spends what it likes, and no refund goes to it. */
export const ownRoles = [...hotRoles, 'treasury'] as const;
export type OwnRole = (typeof ownRoles)[number];

/** A transfer out of a wallet that pays; `toKey` is the payee's address key. */
type PaidTransfer = Readonly<{ network: NetworkKey; role: HotRole; currency: Currency; toKey: string; units: bigint }>;

/** Returns whether a transfer has the network, payee, currency and amount of a refund. */
export function isPaidBy(
  { intent }: Pick<Payout, 'intent'>,
  { network, role, currency, toKey, units }: PaidTransfer,
): boolean {
  return (
    isPayback(intent) &&
    role === 'refund' &&
    intent.network === network &&
    intent.currency === currency &&
    intent.to === toKey &&
    intent.units === units
  );
}
