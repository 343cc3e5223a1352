/**
 * The outcome of a payout's attempts on Solana, from one node's final state.
 *
 * An attempt can be included up to the block height in its terms. It is dead once that height is final and no final
 * block contains it. A refund is dead only if its lock is not set either, because the transaction that sets the lock
 * pays the refund.
 */
import { invariant, transient } from '../../../core/fault.ts';
import { isFields } from '../../../core/fields.ts';
import { isPayback } from '../../../core/intent.ts';
import { unitsOf } from '../../../core/ledger.ts';
import type { Outcome } from '../../../core/spend.ts';
import type { Token } from '../../../core/transfer.ts';
import { nonsense, type Origin, readResult } from '../../json-rpc.ts';
import { type PaidBy, type SentAttempt, type SpendDraft, UnclearOutcome } from '../../spend.ts';
import { solanaAddress } from '../address.ts';
import { solanaErrors } from '../rpc-errors.ts';
import type { SolanaRpc } from './payout-rpc.ts';
import { refuseLocked } from './refund-lock.ts';

type Status = Readonly<{ slot: number; isFinal: boolean; failed: boolean }>;

/**
 * Determines the outcome according to one node.
 * @throws Fault transient
 */
export async function askOutcome(
  node: SolanaRpc,
  draft: SpendDraft,
  attempts: readonly SentAttempt[],
): Promise<Outcome> {
  await node.expectChain();
  // The height is read first, so that an attempt that is missing afterwards was in no block up to it.
  const finalHeight = await node.whole('getBlockHeight', [{ commitment: 'finalized' }]);
  const statuses = await askStatuses(node, attempts);
  const final = attempts.flatMap(({ tx }, at) => (statuses[at]?.isFinal ? [{ tx, status: statuses[at] }] : []));
  // A refund's attempts exclude each other by its lock. If one failed, another may have succeeded.
  const paid = final.find(({ status }) => !status?.failed) ?? final[0];
  if (paid?.status && (!paid.status.failed || isOver(attempts, finalHeight))) {
    return readOutcome(node, draft, paid.tx, paid.status);
  }
  const seen = attempts.findIndex((_, at) => statuses[at] !== null);
  const included = statuses[seen];
  const tx = attempts[seen]?.tx;
  if (included && tx !== undefined) return { kind: 'waiting', included: { tx, number: included.slot } };
  if (!isOver(attempts, finalHeight)) return { kind: 'waiting', included: null };
  await refuseLocked(node, draft);
  return { kind: 'dead' };
}

/**
 * Returns the cost of a final transaction that paid the draft, according to one node; null if it failed or is not final
 * on the node.
 * @throws Fault transient
 */
export async function askCost(node: SolanaRpc, draft: SpendDraft, tx: string): Promise<PaidBy | null> {
  await node.expectChain();
  const [status] = await askStatuses(node, [{ tx }]);
  if (!status?.isFinal || status.failed) return null;
  const outcome = await readOutcome(node, draft, tx, status);
  return outcome.kind === 'succeeded' ? { feeUnits: outcome.feeUnits, nonce: null } : null;
}

const isOver = (attempts: readonly SentAttempt[], finalHeight: number): boolean =>
  attempts.every(({ terms }) => finalHeight > Number(terms.last_valid_block_height));

async function askStatuses(
  { rpc, host }: SolanaRpc,
  attempts: readonly Pick<SentAttempt, 'tx'>[],
): Promise<(Status | null)[]> {
  const origin = { method: 'getSignatureStatuses', host };
  const answer = await rpc.call(origin.method, [attempts.map(({ tx }) => tx), { searchTransactionHistory: true }]);
  const { value } = isFields(answer) ? answer : {};
  if (!Array.isArray(value) || value.length !== attempts.length) {
    throw nonsense(origin, `answered with something that is not ${attempts.length} statuses`);
  }
  return value.map((status) => readStatus(status, origin));
}

function readStatus(value: unknown, origin: Origin): Status | null {
  if (value === null) return null;
  const { slot, confirmationStatus, err } = isFields(value) ? value : {};
  if (!Number.isSafeInteger(slot) || typeof confirmationStatus !== 'string' || err === undefined) {
    throw nonsense(origin, 'answered with a status without its slot, its certainty or its error');
  }
  return { slot: Number(slot), isFinal: confirmationStatus === 'finalized', failed: err !== null };
}

/** Returns the outcome of a final transaction. Its own record must agree with its status. */
async function readOutcome({ rpc, host }: SolanaRpc, draft: SpendDraft, tx: string, status: Status): Promise<Outcome> {
  const origin = { method: 'getTransaction', host };
  const settings = { encoding: 'json', commitment: 'finalized', maxSupportedTransactionVersion: 1 };
  const bytes = await rpc.raw(origin.method, [tx, settings]);
  const value = readResult(bytes, origin, solanaErrors);
  const { slot, meta, transaction } = isFields(value) ? value : {};
  const { signatures } = isFields(transaction) ? transaction : {};
  if (!isFields(meta) || !Array.isArray(signatures) || signatures[0] !== tx || slot !== status.slot) {
    throw transient(
      'node_inconsistent',
      `${host} reports ${tx} as final in slot ${status.slot} but does not have it there. It is asked again`,
    );
  }
  if ((meta.err !== null) !== status.failed) throw nonsense(origin, `contradicts itself on whether ${tx} failed`);
  const [before, after] = [lamportsIn(bytes, 'preBalances', origin), lamportsIn(bytes, 'postBalances', origin)];
  const gained = (place: number): bigint => (after[place] ?? 0n) - (before[place] ?? 0n);
  // The payer's loss is the fee and the deposits that it paid.
  const lost = -gained(0);
  if (status.failed) return { kind: 'failed', tx, number: status.slot, feeUnits: lost };
  if (draft.token && hasPaid(meta, draft, draft.token, origin))
    return { kind: 'succeeded', tx, number: status.slot, feeUnits: lost };
  const units = unitsOf(draft.intent);
  if (!draft.token && gained(placeOf(transaction, draft.to, origin)) === units)
    return { kind: 'succeeded', tx, number: status.slot, feeUnits: lost - units };
  throw new UnclearOutcome(
    `${tx} is final on ${host} and succeeded, but does not show that ${unitsOf(draft.intent)} units went to ${solanaAddress.format(draft.to)}: this payout waits until its outcome is clear. Look at the transaction in an explorer`,
    draft.token && lost,
  );
}

/**
 * Returns the accounts' balances. They are read from the answer's text, because `JSON.parse` rounds numbers above 2^53.
 */
function lamportsIn(bytes: Uint8Array, name: 'preBalances' | 'postBalances', origin: Origin): bigint[] {
  const [, list] =
    new RegExp(`"${name}"\\s*:\\s*\\[\\s*(\\d+(?:\\s*,\\s*\\d+)*)\\s*\\]`).exec(Buffer.from(bytes).toString()) ?? [];
  if (list === undefined) throw nonsense(origin, 'answered with a transaction without its balances');
  return list.split(',').map((text) => BigInt(text.trim()));
}

/** Returns the place of an account among those of the transaction; -1 if it is not among them. */
function placeOf(transaction: unknown, key: string, origin: Origin): number {
  const { message } = isFields(transaction) ? transaction : {};
  const { accountKeys } = isFields(message) ? message : {};
  if (!Array.isArray(accountKeys)) throw nonsense(origin, 'answered with a transaction without its accounts');
  return accountKeys.indexOf(solanaAddress.format(key));
}

/**
 * Returns whether exactly the draft's units left each owner's accounts of the token, and all of them reached the
 * payee's.
 */
function hasPaid(
  meta: Readonly<Record<string, unknown>>,
  { owners, to, intent }: SpendDraft,
  token: Token,
  origin: Origin,
): boolean {
  invariant(intent.kind !== 'gas', 'no address needs coins here');
  const before = unitsByOwner(meta.preTokenBalances, token.address, origin);
  const after = unitsByOwner(meta.postTokenBalances, token.address, origin);
  const gained = (key: string): bigint => {
    const owner = solanaAddress.format(key);
    return (after.get(owner) ?? 0n) - (before.get(owner) ?? 0n);
  };
  const wanted = isPayback(intent) ? [intent.units] : intent.from.map(({ units }) => units);
  return owners.every((owner, at) => gained(owner) === -(wanted[at] ?? 0n)) && gained(to) === unitsOf(intent);
}

function unitsByOwner(rows: unknown, mint: string, origin: Origin): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  if (!Array.isArray(rows)) throw nonsense(origin, 'answered with a transaction without its token balances');
  for (const row of rows) {
    const { mint: of, owner, uiTokenAmount } = isFields(row) ? row : {};
    if (of !== mint) continue;
    const { amount } = isFields(uiTokenAmount) ? uiTokenAmount : {};
    if (typeof owner !== 'string' || typeof amount !== 'string' || !/^\d{1,20}$/.test(amount)) {
      throw nonsense(origin, 'answered with a token balance without its owner or amount');
    }
    sums.set(owner, (sums.get(owner) ?? 0n) + BigInt(amount));
  }
  return sums;
}
