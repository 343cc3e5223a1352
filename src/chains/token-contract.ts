/**
 * Tokens that are contracts with the interface of ERC-20, which is also TRC-20's. Faults of such a contract, and
 * whether a transaction's logs show a payout.
 */
import { type Fault, permanent, transient } from '../core/fault.ts';
import { unitsOf } from '../core/ledger.ts';
import type { SpendDraft } from './spend.ts';

/** `decimals()` may be up to 255, but an amount has room for no more than these. */
export const TOKEN_DECIMALS_MAX = 77;
/** A node whose head is older may not have reached the block that created a token's contract. */
const SYNCING_S = 600;

/** Returns the fault of a node without a contract at a token's address. @param headAgeMs the age of its newest block */
export const noContract = (host: string, address: string, headAgeMs: number): Fault =>
  headAgeMs > SYNCING_S * 1000
    ? transient('node_syncing', `${host} is still syncing and does not know the token ${address} yet: wait for it`)
    : permanent(
        'token_not_a_contract',
        `there is no contract at the token address ${address} on the chain of ${host}: correct the network's token address, or point its url at the right chain`,
      );

export const noDecimals = (host: string, address: string): Fault =>
  permanent(
    'token_not_a_contract',
    `the contract at ${address} on the chain of ${host} does not answer decimals(), so it is not a token: correct the network's token address`,
  );

/**
 * Returns whether the transfers that left the owner add up to the draft's units and one of them reached the payee. A
 * token may keep a fee, as USDT can. Then part of the units went elsewhere, and the payout must still not be paid
 * again.
 */
export function hasPaid(outgoing: readonly Readonly<{ to: string; units: bigint }>[], draft: SpendDraft): boolean {
  const sum = outgoing.reduce((total, { units }) => total + units, 0n);
  return sum === unitsOf(draft.intent) && outgoing.some(({ to, units }) => to === draft.to && units > 0n);
}
