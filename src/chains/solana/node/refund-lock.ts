/**
 * The locks of a refund on the chain: the one that its transaction allocates, and, for refunds that are older than
 * these, the account that older versions created.
 *
 * @module
 */
import { invariant } from '../../../core/fault.ts';
import { isLockable } from '../../../core/intent.ts';
import { type SentAttempt, type SpendDraft, UnclearOutcome } from '../../spend.ts';
import type { ChainAccount } from '../account.ts';
import { solanaAddress } from '../address.ts';
import { lockAddress, olderLockSeed } from '../lock.ts';
import { isDust } from './older-lock.ts';
import type { SolanaRpc } from './payout-rpc.ts';

/** `address` is base58. */
type Lock = Readonly<{ address: string; isOlder: boolean }>;

/** Returns the locks that show whether a refund or return was paid. */
export function locksOf({ intent, payer, lock }: SpendDraft, attempts: readonly SentAttempt[]): readonly Lock[] {
  invariant(lock, `the draft of refund ${intent.id} names its lock`);
  const own = { address: solanaAddress.format(lock.key), isOlder: false };
  const hasOlder = lock.hasOlder || attempts.some(({ terms }) => terms.lock_lamports !== undefined);
  if (!hasOlder) return [own];
  return [own, { address: solanaAddress.format(lockAddress(payer, olderLockSeed(intent.id))), isOlder: true }];
}

/**
 * Returns the lock whose account shows that the refund was paid. Only the refund wallet can allocate data there;
 * anybody can send lamports. An older lock has no data: it counts unless each node proves that it is dust.
 * @param accounts those of the locks
 */
export async function findSet(
  nodes: readonly SolanaRpc[],
  locks: readonly Lock[],
  accounts: readonly (ChainAccount | null)[],
  payer: string,
): Promise<Lock | null> {
  for (const [at, lock] of locks.entries()) {
    const account = accounts[at] ?? null;
    if (account === null || (!lock.isOlder && account.data.length === 0)) continue;
    if (!lock.isOlder) return lock;
    const proved = await Promise.all(nodes.map((node) => isDust(node, lock.address, solanaAddress.format(payer))));
    if (!proved.every(Boolean)) return lock;
  }
  return null;
}

/** Returns the lock of a refund that is set in final state: whoever set it was paid. */
export async function findLock(
  node: SolanaRpc,
  draft: SpendDraft,
  attempts: readonly SentAttempt[] = [],
): Promise<string | null> {
  if (!isLockable(draft.intent)) return null;
  const locks = locksOf(draft, attempts);
  const accounts = await node.accounts(
    locks.map(({ address }) => address),
    'finalized',
  );
  const lock = await findSet([node], locks, accounts, draft.payer);
  return lock ? `lock ${lock.address}` : null;
}

/**
 * Checks that no lock is set.
 * @throws Fault transient if the lock of a refund is set although none of its attempts is known
 */
export async function refuseLocked(
  node: SolanaRpc,
  draft: SpendDraft,
  attempts: readonly SentAttempt[],
): Promise<void> {
  const lock = await findLock(node, draft, attempts);
  if (lock === null) return;
  throw new UnclearOutcome(
    `${node.host} knows no transaction of refund ${draft.intent.id}, but its ${lock} exists on the chain: it was paid, unless the lock's first transaction in an explorer is a stranger's. Use a node that keeps the lock's whole history, as rpc_url and as witness_url`,
    null,
  );
}
