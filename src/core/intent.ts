/**
 * The four kinds of intent, which are all that is ever signed. An intent never changes once written. Fees, nonces and
 * expiry are in the terms of each attempt.
 */
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { HeldKind } from './held-money.ts';
import type { Currency, NetworkKey } from './transfer.ts';

/** The roles of the wallets that pay. */
export const hotRoles = ['refund', 'gas'] as const;
export type HotRole = (typeof hotRoles)[number];

/**
 * Roles of our own wallets. The treasury is the merchant's, so its spending is not watched, and no refund goes to it.
 */
export const ownRoles = [...hotRoles, 'treasury'] as const;
export type OwnRole = (typeof ownRoles)[number];

/**
 * A wallet of the signer's seed. `refund` pays refunds, `gas` pays only fees for sweeps, `collection` is the deposit
 * address with this derivation index. The refund and gas wallets are separate, so that a stuck sweep never delays a
 * refund. The signer's policy names the `index` of the wallet that pays. An absent index means 0, except in an intent,
 * where it means the wallet that pays now.
 */
export type Wallet = Readonly<{ role: HotRole; index?: number }> | Readonly<{ role: 'collection'; index: number }>;

/** Pays `units` base units of a token from the refund wallet. `createIntentMac` made `mac`. */
export type RefundIntent = Readonly<{
  kind: 'refund';
  id: string;
  network: NetworkKey;
  currency: Currency;
  /** Address key of the payer. */
  to: string;
  units: bigint;
  /** The session, and the amount in the API's form ("33.00"), that the refund counts against. */
  session: Readonly<{ id: string; amount: string }>;
  mac: string;
}>;

/** Returns held money of a session from the refund wallet. The operator makes it, not the merchant. */
export type ReturnIntent = Omit<RefundIntent, 'kind'> & Readonly<{ kind: 'return'; held: HeldKind }>;

/** An intent that pays somebody outside from the refund wallet. It has a MAC. */
export type PaybackIntent = RefundIntent | ReturnIntent;

/** The kinds of `PaybackIntent`. */
export const paybackKinds = ['refund', 'return'] as const;
export const isPayback = (intent: Intent): intent is PaybackIntent =>
  intent.kind === 'refund' || intent.kind === 'return';

/**
 * Moves the named amounts from deposit addresses to the treasury, which only the signer's policy names. The gas wallet
 * pays the fee where the chain allows it.
 */
export type SweepIntent = Readonly<{
  kind: 'sweep';
  id: string;
  network: NetworkKey;
  currency: Currency;
  from: readonly Readonly<{ index: number; units: bigint }>[];
}>;

/**
 * Gives the deposit address at `index` the gas for its sweep. `transfer` sends native coin, `delegate` lends resources
 * of the gas wallet's stake worth `units`, and `reclaim` takes the loan back.
 */
export type GasIntent = Readonly<{
  kind: 'gas';
  id: string;
  network: NetworkKey;
  form: 'transfer' | 'delegate' | 'reclaim';
  index: number;
  /** Base units of the native coin. */
  units: bigint;
}>;

/** Returns the wallet that a gas intent is for. */
export const gasReceiver = ({ index }: GasIntent): Wallet => ({ role: 'collection', index });

export type Intent = PaybackIntent | SweepIntent | GasIntent;

/** The fields of a refund that its MAC protects. A return has `held` besides. */
export type MacedRefund = Omit<RefundIntent, 'kind' | 'mac'> & Readonly<{ held?: HeldKind | undefined }>;

/** Returns the MAC of a refund under the installation's secret key. */
export type IntentMac = (refund: MacedRefund) => string;

/**
 * Returns the MAC function of an installation: an HMAC-SHA256 (hex) over payee, amount and session of a refund. Write
 * access to the database alone is therefore not enough to redirect a refund, or to book it on another session. Line
 * feeds join the parts, and no part may contain one.
 */
export function createIntentMac(secretKey: Uint8Array): IntentMac {
  const macKey = hmac(sha256, secretKey, utf8ToBytes('quayside refund intent v1'));
  return ({ id, network, currency, to, units, session, held }) => {
    const paid = [id, network, currency, to, units.toString(), session.id, session.amount];
    // The first line keeps the two kinds apart.
    const parts = held === undefined ? ['refund intent v2', ...paid] : ['return intent v1', ...paid, held];
    return bytesToHex(hmac(sha256, macKey, utf8ToBytes(parts.join('\n'))));
  };
}

/**
 * Returns an intent without its MAC, for comparisons. The MAC proves the origin and changes with the secret key, while
 * the payment stays the same.
 */
export const withoutMac = (intent: Intent): Intent => (isPayback(intent) ? { ...intent, mac: '' } : intent);

/** A transfer out of a wallet that pays. `toKey` is the payee's address key. */
type PaidTransfer = Readonly<{ network: NetworkKey; role: HotRole; currency: Currency; toKey: string; units: bigint }>;

/** Returns whether a transfer has the network, payee, currency and amount of a refund. */
export const isPaidBy = (
  { intent }: Readonly<{ intent: Intent }>,
  { network, role, currency, toKey, units }: PaidTransfer,
): boolean =>
  isPayback(intent) &&
  role === 'refund' &&
  intent.network === network &&
  intent.currency === currency &&
  intent.to === toKey &&
  intent.units === units;
