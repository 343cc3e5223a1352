/**
 * Wallets of a seed with payouts to make, and attempts as the payout engine makes them: quoted by a node, signed
 * by the family's own signer.
 */
import { evmSpending } from '../../src/chains/evm/spend.ts';
import type { PayoutNode, SentAttempt, SpendDraft, Spending, SpendNetwork } from '../../src/chains/spend.ts';
import { gasReceiver, type Intent, isPayback, type RefundIntent, type Wallet } from '../../src/core/intent.ts';
import { isRefused, type Outcome, type Quote, type Quoted, type Refused, type Terms } from '../../src/core/spend.ts';
import type { Currency } from '../../src/core/transfer.ts';
import { refundIntent } from '../support/intents.ts';

/** The wallets of one seed, and payouts from them. */
export type SeedWallets = Readonly<{
  seed: Uint8Array;
  keyOf(wallet: Wallet): string;
  /** To a payee of its own, if none is named. */
  refund(currency: Currency, units: bigint, to?: string): RefundIntent;
  draft(intent: Intent): SpendDraft;
}>;

export type Attempt = SentAttempt & Readonly<{ bytes: Uint8Array }>;

/** Of attempts that are in no block. */
export const nothingYet: Outcome = { kind: 'waiting', included: null };

export function quoted(quote: Quote): Quoted {
  if (!isRefused(quote)) return quote;
  throw new Error(`${quote.refused}: ${quote.message}`);
}

/** Returns why it was refused, and how much is missing. */
export function refused(quote: Quote): Refused & Readonly<{ missingUnits: bigint }> {
  if (isRefused(quote)) return { ...quote, missingUnits: quote.missing?.units ?? 0n };
  throw new Error('it was quoted');
}

/** Returns an address key of 20 bytes, another for each number. */
const plainPayee = (number: number): string => number.toString(16).padStart(40, 'a');

/** @param spending the signer's half of the network's family */
export function createSeedWallets(
  network: SpendNetwork,
  spending: Spending = evmSpending,
  payee: (number: number) => string = plainPayee,
) {
  let seeds = 0;
  let payees = 0;

  /** Opens wallets of another seed, so that nonces start at 0. */
  function openWallets(): SeedWallets {
    seeds += 1;
    const seed = new Uint8Array(64).fill(seeds);
    const keyOf = (wallet: Wallet) => spending.derive(seed, wallet).key;
    const tokenOf = (intent: Intent) =>
      intent.kind === 'gas' ? null : (network.tokens.find(({ symbol }) => symbol === intent.currency) ?? null);
    const ends = (intent: Intent): readonly [owners: readonly string[], to: string] => {
      if (isPayback(intent)) return [[keyOf({ role: 'refund' })], intent.to];
      if (intent.kind === 'gas') return [[keyOf({ role: 'gas' })], keyOf(gasReceiver(intent))];
      return [intent.from.map(({ index }) => keyOf({ role: 'collection', index })), network.treasury];
    };
    return {
      seed,
      keyOf,
      refund(currency, units, to) {
        payees += 1;
        return refundIntent({ id: `rf_${payees}`, network: 'test:any', currency, to: to ?? payee(payees), units });
      },
      draft(intent) {
        const [owners, to] = ends(intent);
        const [payer = { role: 'refund' }] = spending.signers(intent);
        const lock = isPayback(intent) && spending.refundLock?.(spending.derive(seed, payer), intent.id);
        return { intent, payer: keyOf(payer), owners, to, token: tokenOf(intent), ...(lock && { lock }) };
      },
    };
  }

  function signOn(wallets: SeedWallets, intent: Intent, terms: Terms): Attempt {
    const keys = spending.signers(intent).map((wallet) => spending.derive(wallets.seed, wallet));
    const { tx, bytes } = spending.sign({ network, intent, terms }, keys);
    return { tx, bytes, terms, payer: wallets.draft(intent).payer };
  }

  /** Signs the next attempt, with the number of those that it outbids or the wallet's next. Does not broadcast it. */
  async function prepareOn(
    node: PayoutNode,
    wallets: SeedWallets,
    intent: Intent,
    outbid: readonly Attempt[] = [],
  ): Promise<Attempt> {
    const draft = wallets.draft(intent);
    const first = outbid[0]?.terms.nonce;
    const nonce = first === undefined ? ((await node.count(draft.payer))?.head ?? 0) : Number(first);
    const quote = await node.quote(
      draft,
      nonce,
      outbid.map(({ terms }) => terms),
    );
    return signOn(wallets, intent, quoted(quote).terms);
  }

  return { openWallets, signOn, prepareOn };
}
