/** The lock of a refund on the chain, which its transaction allocates. */
import { invariant } from '../../../core/fault.ts';
import { isPayback } from '../../../core/intent.ts';
import { type SpendDraft, UnclearOutcome } from '../../spend.ts';
import type { ChainAccount } from '../account.ts';
import { solanaAddress } from '../address.ts';
import type { SolanaRpc } from './payout-rpc.ts';

/** Returns the address of the lock that shows whether a refund or return was paid, base58. */
export function lockAddressOf({ intent, lock }: SpendDraft): string {
  invariant(lock, `the draft of refund ${intent.id} names its lock`);
  return solanaAddress.format(lock);
}

/** Only the refund wallet can allocate data there. Anybody can send lamports. */
export const isSet = (account: ChainAccount | null): boolean => account !== null && account.data.length > 0;

/**
 * Checks that no lock is set in final state. The transaction that sets a lock pays its refund.
 * @throws UnclearOutcome if the lock of a refund is set although none of its attempts is known
 */
export async function refuseLocked(node: SolanaRpc, draft: SpendDraft): Promise<void> {
  if (!isPayback(draft.intent)) return;
  const address = lockAddressOf(draft);
  const [account = null] = await node.accounts([address], 'finalized');
  if (!isSet(account)) return;
  throw new UnclearOutcome(
    `${node.host} knows no transaction of refund ${draft.intent.id}, but its lock ${address} exists on the chain. The refund was paid, unless an explorer shows that a stranger sent the lock's first transaction. Use a node that keeps the lock's whole history, as rpc_url and as witness_url`,
    null,
  );
}
