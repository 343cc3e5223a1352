/**
 * Whether an older lock is only dust: lamports that a stranger sent to its address, which anybody can compute.
 *
 * The transaction that paid a refund created the account, which the System program does only while it has no lamports,
 * and the refund wallet signed it. Whatever is there stays there, because only the refund wallet could move it. So a
 * final transaction without that wallet's signature that found the account empty, and left lamports in it, proves that
 * the refund was not paid before, and that no older attempt can pay it after. A node that has forgotten the beginning
 * shows no such transaction, and proves nothing.
 *
 * Sources: `system_processor.rs` (`create_account`) of Agave, https://solana.com/docs/rpc/http/getsignaturesforaddress.
 *
 * @module
 */
import { isFields } from '../../../core/fields.ts';
import { nonsense } from '../../json-rpc.ts';
import type { SolanaRpc } from './payout-rpc.ts';

const PAGE_ROWS = 1_000;
/** Whoever wants to hide the first transaction below more than these pays some SOL for it. */
const PAGES_MAX = 200;
/** Of the same slot, whose order is not relied on. */
const COMPARED_MAX = 50;

type Listed = Readonly<{ signature: string; slot: number; succeeded: boolean }>;

/** What a transaction did to an account. `signers` are addresses. */
type Touch = Readonly<{ before: number; after: number; signers: readonly string[] }>;

/**
 * Returns whether a node proves that a lock is dust.
 * @param lock address of the lock, base58
 * @param wallet address of the refund wallet, base58
 * @throws Fault transient
 */
export async function isDust(node: SolanaRpc, lock: string, wallet: string): Promise<boolean> {
  let before: string | null = null;
  for (let page = 0; page < PAGES_MAX; page++) {
    const rows: readonly Listed[] = await listTransactions(node, lock, before);
    const listed = rows.filter(({ succeeded }) => succeeded);
    const [last, oldest] = [rows.at(-1), listed.at(-1)];
    const touch = oldest && (await touchOf(node, lock, oldest.signature));
    const isBelow = touch !== undefined && (touch === null || (touch.before > 0 && rows.length === PAGE_ROWS));
    if (oldest && !isBelow) return hasForeignFunding(node, listed, lock, wallet);
    if (!last || rows.length < PAGE_ROWS) return false;
    before = last.signature;
  }
  return false;
}

/** @param listed successful transactions, newest first; the oldest that left lamports is looked for */
async function hasForeignFunding(
  node: SolanaRpc,
  listed: readonly Listed[],
  lock: string,
  wallet: string,
): Promise<boolean> {
  let [low, high] = [0, listed.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const touch = await touchOf(node, lock, listed[middle]?.signature ?? '');
    if (touch && touch.after > 0) low = middle;
    else high = middle - 1;
  }
  const found = listed[low];
  if (!found) return false;
  const beside = listed.filter((one) => one.slot === found.slot && one !== found).slice(0, COMPARED_MAX);
  for (const { signature } of [found, ...beside]) {
    const touch = await touchOf(node, lock, signature);
    if (touch?.before === 0 && touch.after > 0) return !touch.signers.includes(wallet);
  }
  return false;
}

/** Returns final transactions that name an address, newest first, below one of them if named. */
async function listTransactions(
  { rpc, host }: SolanaRpc,
  address: string,
  before: string | null,
): Promise<readonly Listed[]> {
  const origin = { method: 'getSignaturesForAddress', host };
  const settings = { commitment: 'finalized', limit: PAGE_ROWS, ...(before !== null && { before }) };
  const answer = await rpc.call(origin.method, [address, settings]);
  if (!Array.isArray(answer)) throw nonsense(origin, 'answered without a list of signatures');
  return answer.map((row) => {
    const { signature, slot, err } = isFields(row) ? row : {};
    if (typeof signature !== 'string' || !Number.isSafeInteger(slot) || err === undefined) {
      throw nonsense(origin, 'answered with a signature without its slot or its error');
    }
    return { signature, slot: Number(slot), succeeded: err === null };
  });
}

/** Returns what a final transaction did to an account; null if the node no longer has it. */
async function touchOf({ rpc, host }: SolanaRpc, address: string, signature: string): Promise<Touch | null> {
  const origin = { method: 'getTransaction', host };
  const settings = { encoding: 'json', commitment: 'finalized', maxSupportedTransactionVersion: 1 };
  const answer = await rpc.call(origin.method, [signature, settings]);
  if (answer === null) return null;
  const { meta, transaction } = isFields(answer) ? answer : {};
  const { message, signatures } = isFields(transaction) ? transaction : {};
  if (!isFields(meta) || !isFields(message) || !isFields(message.header) || rowsOf(signatures)[0] !== signature) {
    throw nonsense(origin, `answered with a transaction other than ${signature}`);
  }
  const loaded = isFields(meta.loadedAddresses) ? meta.loadedAddresses : {};
  const own = rowsOf(message.accountKeys);
  const at = [own, loaded.writable, loaded.readonly].flatMap(rowsOf).indexOf(address);
  const [before, after] = [rowsOf(meta.preBalances)[at], rowsOf(meta.postBalances)[at]];
  const count = message.header.numRequiredSignatures;
  if (typeof before !== 'number' || typeof after !== 'number' || !Number.isSafeInteger(count)) {
    throw nonsense(origin, `answered with ${signature} without the balances of ${address}, which it is listed for`);
  }
  // Beyond 2^53 a number is rounded, but never to zero.
  return { before, after, signers: own.slice(0, Number(count)).map(String) };
}

const rowsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
