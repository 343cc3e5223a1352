/**
 * The interface of the signer. The signing service implements it, the payout engine calls it; `protocol.ts` has the
 * parameters and results, in their form on the socket.
 */
import type { SignedSpend } from '../chains/spend.ts';
import type { NetworkKey } from '../core/transfer.ts';
import type { Approval, FreezeState, JournalEntry, SignerWallets, SignRequest } from './protocol.ts';

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
   * @throws Fault transient `signer_unreachable`, also within the file; `backup_running`
   */
  backup(): AsyncGenerator<Uint8Array, void>;
}
