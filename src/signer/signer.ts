/**
 * The interface of the signer. The signing service implements it, the payout engine calls it; `protocol.ts` has its
 * form on the socket.
 */
import type { SignedSpend } from '../chains/spend.ts';
import type { Intent } from '../core/intent.ts';
import type { FormerWallet } from '../core/outgoing.ts';
import type { Terms } from '../core/spend.ts';
import type { NetworkKey } from '../core/transfer.ts';

/** An approver's ed25519 signature (hex) of an `ApprovalText`: a refund above the caps, or the end of a freeze. */
export type Approval = Readonly<{ approver: string; untilS: number; signature: string }>;

/**
 * One attempt to sign. For the same (intent id, generation, attempt), the signer always returns the bytes that it
 * stored the first time, whatever the rest of the request says.
 */
export type SignRequest = Readonly<{
  /** The engine's fence on this network; the signer serves only the highest it has seen. */
  fence: number;
  intent: Intent;
  /** Increases only when all attempts of the generation before are `failed` or `dead` at finality, as in `proof`. */
  generation: number;
  /** Increases within a generation, for replacements with the same sequence number and higher fees. */
  attempt: number;
  proof: 'failed' | 'dead' | null;
  terms: Terms;
  /** Approvals of a refund above the caps, of which one that is valid is enough. */
  approvals: readonly Approval[];
  /**
   * Address key of the wallet that the engine expects to pay the fee; absent, the first of its role. The signer decides
   * which one pays, by its policy and its journal, and refuses a request that expects another.
   */
  payer?: string | undefined;
}>;

/**
 * Address keys of the wallets that pay on a network, and of its treasury. `former`: those of each role with a lower
 * index, oldest first.
 */
export type SignerWallets = Readonly<{
  refund: string;
  gas: string;
  treasury: string;
  former: readonly FormerWallet[];
  /** The most that a transaction may cost by its policy, in base units of the native coin. */
  feeUnitsMax: bigint;
}>;

/** One signature in the signer's journal. */
export type JournalEntry = SignedSpend &
  Readonly<{
    id: number;
    intent: Intent;
    generation: number;
    attempt: number;
    terms: Terms;
    signedAtMs: number;
    /** Address key of the wallet that pays the fee. */
    payer: string;
  }>;

/**
 * The signer, as its callers see it. Faults: transient `signer_unreachable` and `signer_storage_unavailable` (the
 * journal cannot be written; nothing was signed); permanent `signer_refused_*`. Of these, `_approval` needs an
 * approver's signature, `_cap` needs time or, of a refund, that signature, `_frozen` means that an approver has to end
 * a freeze, `_fence` that another engine or a later state of the database was served before, `_mac` that the intent was
 * altered, and `_wallet` that another wallet pays since the policy was changed. The others mean that the request breaks
 * a rule: `_request`, `_policy`, `_intent`, `_generation`, `_attempt`, `_nonce`, `_terms`, `_check`.
 */
export interface Signer {
  wallets(network: NetworkKey): Promise<SignerWallets>;
  /** Returns deposit addresses (keys), to compare with the database. */
  addresses(network: NetworkKey, indices: readonly number[]): Promise<readonly string[]>;
  /**
   * Returns the address key of the account that marks a refund or return as paid, where the family has one.
   * @param index of the refund wallet that pays it
   */
  refundLock(network: NetworkKey, id: string, index?: number): Promise<string>;
  sign(request: SignRequest): Promise<SignedSpend>;
  /** Returns entries of the journal with ids above `after`, oldest first. */
  journal(network: NetworkKey, after: number, limit: number): Promise<readonly JournalEntry[]>;
  /** Returns the highest fence that the signer has served on the network; 0 before the first. */
  fence(network: NetworkKey): Promise<number>;
  close(): Promise<void>;
}

/** A freeze of the signer. `nonce` is random; the texts have no control characters. */
export type SignerFreeze = Readonly<{
  number: number;
  nonce: string;
  reason: string;
  frozenBy: string;
  frozenAtMs: number;
}>;

/** The open freeze, if there is one, and the names of those who can end it. `fingerprint` is that of the seed. */
export type FreezeState = Readonly<{
  fingerprint: string;
  freeze: SignerFreeze | null;
  approvers: readonly string[];
  /** The hash (SHA-256, hex) of the policy in force. */
  policyHash: string;
}>;

/** What operators ask of the signer besides. It raises the same faults. */
export interface SignerControl {
  freezeState(): Promise<FreezeState>;
  /** Makes the signer sign nothing more, on any network, until `thaw`. A frozen signer keeps its first freeze. */
  freeze(reason: string, frozenBy: string): Promise<FreezeState>;
  /** Ends the freeze with an approver's signature of `thawText`. @throws Fault permanent `signer_refused_approval` */
  thaw(approval: Approval): Promise<FreezeState>;
  /**
   * Yields an encrypted file with the journal and the policy in force, part by part; see `backup.ts`. Every other call
   * is served meanwhile.
   * @throws Fault transient `signer_unreachable`, also within the file; `backup_running`, `backup_blocked`
   */
  backup(): AsyncGenerator<Uint8Array, void>;
}
