/**
 * What may leave a wallet of ours: three kinds of intent, and nothing else is ever signed. An intent never changes once it is written;
 * how it is carried out (fees, sequence numbers, expiry) stands beside it, in the terms of each attempt.
 * @module
 */
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { Currency, NetworkKey } from './transfer.ts';

/**
 * A wallet of the signer's seed. `refund` pays refunds, `gas` pays fees for sweeps and nothing else, `collection` is the payment address
 * with this derivation index. Refund and gas wallets are apart, so that a stuck sweep never holds up a refund.
 */
export type Wallet = Readonly<{ role: 'refund' | 'gas' }> | Readonly<{ role: 'collection'; index: number }>;

/** Pays `units` base units of a token from the refund wallet to a payer. `mac` is that of `intentMac`, made when the destination was set. */
export type RefundIntent = Readonly<{
  kind: 'refund';
  id: string;
  network: NetworkKey;
  currency: Currency;
  /** Address key of the payer. */
  to: string;
  units: bigint;
  mac: string;
}>;

/** SessionTransitions everything named from collection addresses to the treasury, which the signer knows itself. The gas wallet pays where a chain lets it. */
export type SweepIntent = Readonly<{
  kind: 'sweep';
  id: string;
  network: NetworkKey;
  currency: Currency;
  from: readonly Readonly<{ index: number; units: bigint }>[];
}>;

/**
 * Gives a collection address what it needs to pay for its sweep: `transfer` sends native coin, `delegate` lends resources of the gas
 * wallet's stake worth `units`, and `reclaim` takes the loan back.
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

export type Intent = RefundIntent | SweepIntent | GasIntent;

/** The part of a refund that its MAC protects. */
export type MacedRefund = Pick<RefundIntent, 'id' | 'network' | 'currency' | 'to' | 'units'>;

/** The key of intent MACs, out of an installation's secret key; the server and the signer have it, the database does not. */
export const intentMacKey = (secretKey: Uint8Array): Uint8Array =>
  hmac(sha256, secretKey, utf8ToBytes('quayside refund intent v1'));

/**
 * HMAC-SHA256, hex, over what a refund pays to whom. Whoever can write to the database alone cannot send a refund elsewhere.
 * The parts are joined by line feeds, which none of them may hold.
 */
export function intentMac(macKey: Uint8Array, refund: MacedRefund): string {
  const parts = [refund.id, refund.network, refund.currency, refund.to, refund.units.toString()];
  return bytesToHex(hmac(sha256, macKey, utf8ToBytes(parts.join('\n'))));
}
