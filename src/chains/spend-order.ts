/**
 * The checks of an order that families share. They throw the permanent faults `spend_terms_invalid` and
 * `spend_intent_invalid`.
 */
import { type Fault, permanent } from '../core/fault.ts';
import { gasReceiver, type Intent, isPayback, type SweepIntent, type Wallet } from '../core/intent.ts';
import type { Terms } from '../core/spend.ts';
import type { Currency, Token } from '../core/transfer.ts';
import { ownFees, type SpendNetwork } from './spend.ts';

export const badTerms = (why: string): Fault =>
  permanent('spend_terms_invalid', `these terms cannot be signed: ${why}`);
export const badIntent = (why: string): Fault =>
  permanent('spend_intent_invalid', `this intent cannot be signed: ${why}`);
export const unknownBytes = (why: string, cause?: unknown): Fault =>
  permanent('spend_bytes_unknown', `these bytes are not a transaction that Quayside signs: ${why}`, cause);

const WHOLE = /^(0|[1-9][0-9]{0,77})$/;

/**
 * Returns a reader of the terms that are whole numbers, in decimal text.
 * @param names of all terms that the family has
 * @param limit numbers are below it
 */
export function termReader(terms: Terms, names: readonly string[], limit: bigint): (name: string) => bigint {
  const foreign = Object.keys(terms).find((name) => !names.includes(name));
  if (foreign !== undefined) throw badTerms(`"${foreign}" is not one of ${names.join(', ')}`);
  return (name) => {
    const text = terms[name];
    const value = text !== undefined && WHOLE.test(text) ? BigInt(text) : null;
    if (value === null || value >= limit) throw badTerms(`${name} is missing or not a whole number below ${limit}`);
    return value;
  };
}

export function checkUnits(units: bigint, limit: bigint): void {
  if (units <= 0n || units >= limit) throw badIntent(`${units} units cannot be paid`);
}

export function tokenOf({ tokens }: SpendNetwork, currency: Currency): Token {
  const token = tokens.find(({ symbol }) => symbol === currency);
  if (!token) throw badIntent(`the policy has no ${currency} on this network`);
  return token;
}

// ── Families whose wallets pay their own fees, and whose address keys have 20 bytes ──────────────────────────────────

const ADDRESS_KEY = /^[0-9a-f]{40}$/;
const ZERO_KEY = '0'.repeat(40);
const UNITS_LIMIT = 2n ** 256n;

export function checkPayment(to: string, units: bigint, limit: bigint): void {
  if (!ADDRESS_KEY.test(to) || to === ZERO_KEY) throw badIntent(`"${to}" is not an address that can be paid`);
  checkUnits(units, limit);
}

export type TokenPayment = Readonly<{ token: Token; to: string; units: bigint }>;

/** Returns the payment of a refund or a sweep. @param parse reads a token's address */
export function tokenPayment(
  intent: Exclude<Intent, { kind: 'gas' }>,
  network: SpendNetwork,
  payer: string,
  parse: (text: string) => string | null,
): TokenPayment {
  const { to, units } = destinationOf(intent, network);
  checkPayment(to, units, UNITS_LIMIT);
  const token = tokenOf(network, intent.currency);
  const isToken = network.tokens.some(({ address }) => parse(address) === to);
  if (to === payer || isToken) throw badIntent(`${to} is the paying wallet itself or a token contract`);
  return { token, to, units };
}

function destinationOf(
  intent: Exclude<Intent, { kind: 'gas' }>,
  { treasury }: SpendNetwork,
): Readonly<{ to: string; units: bigint }> {
  return isPayback(intent) ? intent : { to: treasury, units: onlyUnits(intent) };
}

function onlyUnits({ from }: SweepIntent): bigint {
  const [only, ...others] = from;
  if (!only || others.length > 0) throw badIntent('a sweep empties exactly one deposit address here');
  return only.units;
}

/** Returns the payer and, for gas, our wallet that receives it. */
export function ownSigners(intent: Intent): readonly Wallet[] {
  const payer = ownFees(intent);
  return intent.kind === 'gas' ? [payer, gasReceiver(intent)] : [payer];
}
