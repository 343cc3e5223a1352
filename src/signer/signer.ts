/**
 * What payouts ask of the signer. The signing service serves these calls, the indexers' payout engine makes them; `protocol.ts` has their
 * form on the socket.
 * @module
 */
import type { SignedSpend, Terms } from '../chains/spend.ts';
import type { Intent } from '../core/intent.ts';
import type { NetworkKey } from '../core/transfer.ts';

/** An operator's approval of a refund beyond the signer's caps: an ed25519 signature (hex) over `approvalMessage` of `src/signer/approval.ts`. */
export type Approval = Readonly<{ approver: string; untilS: number; signature: string }>;

/**
 * One attempt to be signed. The signer answers the same (intent id, generation, attempt) with the bytes it stored the first time, whatever
 * else is asked.
 */
export type SignRequest = Readonly<{
  /** The engine's turn on this network; the signer serves only the highest it has seen. */
  fence: number;
  intent: Intent;
  /** Counts up only when all attempts of the generation before are `failed` or `dead` at finality, which `proof` says. */
  generation: number;
  /** Counts up within a generation for replacements with the same sequence number and higher fees. */
  attempt: number;
  proof: 'failed' | 'dead' | null;
  terms: Terms;
  approval: Approval | null;
}>;

/** Address keys of the wallets that pay on a network, and of its treasury. */
export type SignerWallets = Readonly<{ refund: string; gas: string; treasury: string }>;

/** One signature as the signer's journal has it. */
export type JournalEntry = SignedSpend &
  Readonly<{
    id: number;
    intent: Intent;
    generation: number;
    attempt: number;
    terms: Terms;
    signedAtMs: number;
  }>;

/**
 * The signer, from outside. Faults: transient `signer_unreachable` and `signer_storage_unavailable` (its journal cannot be written: nothing
 * was signed); permanent `signer_refused_*`, of which `signer_refused_approval` asks for an operator's approval, `signer_refused_cap` for
 * waiting or one, `signer_refused_fence` says that another engine or a later state of the database was served before, and
 * `signer_refused_mac` that the intent was altered. The others say that the request breaks a rule: `_request`, `_policy`, `_intent`,
 * `_generation`, `_attempt`, `_nonce`, `_terms`, `_check`.
 */
export interface Signer {
  wallets(network: NetworkKey): Promise<SignerWallets>;
  /** Address keys of collection wallets, to compare with what the database says. */
  addresses(network: NetworkKey, indices: readonly number[]): Promise<readonly string[]>;
  sign(request: SignRequest): Promise<SignedSpend>;
  /** Entries of the journal after id `after`, oldest first. */
  journal(network: NetworkKey, after: number, limit: number): Promise<readonly JournalEntry[]>;
  /** The highest fence that the signer has served on the network; 0 before the first. */
  fence(network: NetworkKey): Promise<number>;
  close(): Promise<void>;
}
