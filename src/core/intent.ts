/**
 * What may leave our wallets: four kinds of intent, and nothing else is ever signed. An intent never changes once
 * written. How it is carried out (fees, sequence numbers, expiry) is in the terms of each attempt.
 * @module
 */
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { invariant } from './fault.ts';
import type { HeldKind } from './held-money.ts';
import type { Currency, NetworkKey } from './transfer.ts';

/** The roles of the wallets that pay. */
export const hotRoles = ['refund', 'gas'] as const;
export type HotRole = (typeof hotRoles)[number];

/**
 * A wallet of the signer's seed. `refund` pays refunds, `gas` pays only fees for sweeps, `collection` is the deposit
 * address with this derivation index. The refund and gas wallets are separate, so that a stuck sweep never delays a
 * refund. The signer's policy names the `index` of the one that pays. Absent, it is 0, except that what an intent names
 * without an index is the wallet that pays now.
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
  /** What it counts against: the session, and the amount in the API's form ("33.00"). */
  session: Readonly<{ id: string; amount: string }>;
  mac: string;
}>;

/** Returns held money of a session, from the refund wallet: a refund that the operator makes, not the merchant. */
export type ReturnIntent = Omit<RefundIntent, 'kind'> & Readonly<{ kind: 'return'; held: HeldKind }>;

/** What pays somebody outside from the refund wallet, and has a MAC. */
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

/** Lending resources of the gas wallet's stake, and taking them back. */
export type LoanForm = 'delegate' | 'reclaim';

/**
 * Gives a wallet of ours what it needs to pay for a transaction: `transfer` sends native coin, `delegate` lends
 * resources of the gas wallet's stake worth `units`, and `reclaim` takes the loan back. The wallet is the deposit
 * address at `index` or, of loans only, the refund wallet with `refundIndex`: exactly one of the two is there.
 */
export type GasIntent = Readonly<{
  kind: 'gas';
  id: string;
  network: NetworkKey;
  form: 'transfer' | LoanForm;
  index?: number | undefined;
  refundIndex?: number | undefined;
  /** Base units of the native coin. */
  units: bigint;
}>;

/** Returns whether a gas intent names one wallet that may have it. */
export const isGasComplete = ({ form, index, refundIndex }: Omit<GasIntent, 'id' | 'network' | 'units'>): boolean =>
  (index === undefined) !== (refundIndex === undefined) && (refundIndex === undefined || form !== 'transfer');

/** Returns the wallet that a gas intent is for. */
export function gasReceiver(intent: GasIntent): Wallet {
  const { index, refundIndex } = intent;
  invariant(isGasComplete(intent), `gas ${intent.id} is for one wallet`);
  return index === undefined ? { role: 'refund', index: refundIndex ?? 0 } : { role: 'collection', index };
}

export type Intent = PaybackIntent | SweepIntent | GasIntent;

/** The part of a refund that its MAC protects; with `held`, of a return. */
export type MacedRefund = Pick<RefundIntent, 'id' | 'network' | 'currency' | 'to' | 'units' | 'session'> &
  Readonly<{ held?: HeldKind | undefined }>;

/** Derives the key of intent MACs from the installation's secret key, which the server and the signer have. */
export const intentMacKey = (secretKey: Uint8Array): Uint8Array =>
  hmac(sha256, secretKey, utf8ToBytes('quayside refund intent v1'));

/**
 * Returns an HMAC-SHA256, hex, over what a refund pays to whom: write access to the database alone is not enough to
 * redirect a refund or book it on another session. The parts are joined by line feeds, which none of them may contain.
 */
export function intentMac(macKey: Uint8Array, refund: MacedRefund): string {
  const { id, network, currency, to, units, session, held } = refund;
  const paid = [id, network, currency, to, units.toString(), session.id, session.amount];
  // No text of the one kind is one of the other: their first lines differ.
  const parts = held === undefined ? ['refund intent v2', ...paid] : ['return intent v1', ...paid, held];
  return bytesToHex(hmac(sha256, macKey, utf8ToBytes(parts.join('\n'))));
}

/** Returns the MAC of a refund under the installation's secret key. */
export type IntentMac = (refund: MacedRefund) => string;

/** Derives the key of the MACs once. */
export function createIntentMac(secretKey: Uint8Array): IntentMac {
  const macKey = intentMacKey(secretKey);
  return (refund) => intentMac(macKey, refund);
}

/**
 * Returns an intent as two of them are compared: without its MAC, which proves where the intent comes from and changes
 * with the secret key, but says nothing about what is paid.
 */
export const withoutMac = (intent: Intent): Intent => (isPayback(intent) ? { ...intent, mac: '' } : intent);
