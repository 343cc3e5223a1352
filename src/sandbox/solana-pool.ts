/**
 * The transactions that a simulated Solana node accepts, and the rules of its blocks: token transfers, and the
 * instructions that create their accounts. Rules and texts are those of Agave (`rpc.rs`, `transaction_error.rs`) and of
 * the System and token programs.
 */

import { LOCK_BYTES } from '../chains/solana/lock.ts';
import { type CalledInstruction, readTransactionBytes, type SignedMessage } from '../chains/solana/message.ts';
import { COMPUTE_BUDGET, SYSTEM, TOKEN_ACCOUNTS, TOKENS } from '../chains/solana/programs.ts';
import { tokenAccountOf } from '../chains/solana/token-account.ts';
import type { Accounts } from './accounts.ts';
import { invalidParams } from './json-rpc.ts';
import type { Admit } from './mempool.ts';
import { preflightFailure, type TransactionError } from './solana-errors.ts';
import type { Entry, NativeTransfer, SignedTransaction } from './transaction.ts';
import type { World } from './world.ts';

const LAMPORTS_PER_SIGNATURE = 5_000n;
/** Blocks, not slots, for which a block's hash is valid. */
export const BLOCKHASH_BLOCKS = 150;
/** Returns an account's deposit: its bytes and 128 of overhead, at 5,080 lamports a byte. */
export const depositOf = (bytes: number): bigint => BigInt(128 + bytes) * 5_080n;
export const TOKEN_ACCOUNT_BYTES = 165;

const TRANSFER = 2;
const ALLOCATE_WITH_SEED = 9;
const TRANSFER_CHECKED = 12;
const SET_UNIT_LIMIT = 2;
const SET_UNIT_PRICE = 3;
const MICRO = 1_000_000n;
const UNITS_DEFAULT = 200_000n;

/** The owner of a token account; null for an address that is not one the chain has seen. */
type AccountOwner = Readonly<{ owner: string; mint: string }>;

type TokenAccounts = ReturnType<typeof openTokenAccounts>;

/**
 * Indexes the token accounts of everybody who was paid (their addresses are derived from owner and mint, but not the
 * other way round), and those who pay.
 */
export function openTokenAccounts(world: World, tokens: readonly string[]) {
  const known = new Map<string, AccountOwner>();
  const seen = new Set<string>();
  const payers = new Set<string>();
  let readSerial = -1;

  function learn(owner: string, mint: string): void {
    const place = owner + mint;
    if (seen.has(place)) return;
    seen.add(place);
    known.set(Buffer.from(tokenAccountOf(Buffer.from(owner, 'hex'), Buffer.from(mint, 'hex'))).toString('hex'), {
      owner,
      mint,
    });
  }

  function readOn(): void {
    let newest = readSerial;
    for (const { serial, transactions } of world.canonical()) {
      if (serial <= readSerial) continue;
      newest = Math.max(newest, serial);
      for (const { entries, succeeded, sender, signed } of transactions) {
        if (!signed && entries.length > 0) payers.add(sender);
        if (!succeeded) continue;
        for (const { kind, token, to } of entries) if (kind === 'transfer' && tokens.includes(token)) learn(to, token);
      }
    }
    readSerial = newest;
  }

  return {
    find(address: string): AccountOwner | null {
      readOn();
      return known.get(address) ?? null;
    },
    /** Whether the account sent a payment that the world made up: such wallets never run dry. */
    isPayer(key: string): boolean {
      readOn();
      return payers.has(key);
    },
  };
}

type Effect = Readonly<{ entries: readonly Entry[]; native: readonly NativeTransfer[] }>;

const uint = (bytes: Uint8Array): bigint => bytes.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n);

/** Returns the effect of the message's instructions; null for any that this chain does not support. */
function effectOf(
  { accounts: [payer = ''], instructions }: SignedMessage,
  owners: TokenAccounts,
  accounts: Accounts,
): Effect | null {
  const entries: Entry[] = [];
  const native: NativeTransfer[] = [];
  const made = new Map<string, AccountOwner>();
  for (const { program, accounts: named, data } of instructions) {
    if (program === COMPUTE_BUDGET) continue;
    if (program === SYSTEM && data[0] === TRANSFER) {
      native.push({ from: named[0] ?? '', to: named[1] ?? '', units: uint(data.subarray(4, 12)) });
    } else if (program === SYSTEM && data[0] === ALLOCATE_WITH_SEED) {
      native.push({ from: payer, to: named[0] ?? '', units: 0n, makes: 'data' });
    } else if (program === TOKEN_ACCOUNTS) {
      const [from = '', account = '', owner = '', mint = ''] = named;
      made.set(account, { owner, mint });
      const isThere = owners.find(account) !== null || accounts.native(account) > 0n;
      if (!isThere) native.push({ from, to: account, units: depositOf(TOKEN_ACCOUNT_BYTES) });
    } else if (program === TOKENS && data[0] === TRANSFER_CHECKED) {
      const entry = transferOf(named, data, (account) => made.get(account) ?? owners.find(account));
      if (!entry) return null;
      entries.push(entry);
    } else return null;
  }
  return entries.length + native.length > 0 && payer !== '' ? { entries, native } : null;
}

function transferOf(
  [source = '', mint = '', target = '', owner = '']: readonly string[],
  data: Uint8Array,
  find: (account: string) => AccountOwner | null,
): Entry | null {
  const [from, to] = [find(source), find(target)];
  if (from?.owner !== owner || from.mint !== mint || to?.mint !== mint) return null;
  return { kind: 'transfer', token: mint, from: owner, to: to.owner, units: uint(data.subarray(1, 9)) };
}

function feeOf(count: number, instructions: readonly CalledInstruction[]): bigint {
  const budget = (kind: number): bigint | null => {
    const found = instructions.find(({ program, data }) => program === COMPUTE_BUDGET && data[0] === kind);
    return found ? uint(found.data.subarray(1)) : null;
  };
  const priority = (budget(SET_UNIT_LIMIT) ?? UNITS_DEFAULT) * (budget(SET_UNIT_PRICE) ?? 0n);
  return BigInt(count) * LAMPORTS_PER_SIGNATURE + (priority + MICRO - 1n) / MICRO;
}

/**
 * Why a transaction fails: an account exists that it creates, its payer runs out of native coin for the deposit
 * `at`, an owner has too few tokens, or an account is left with less than its deposit.
 */
type Failure =
  | Readonly<{ kind: 'exists' | 'tokens' }>
  | Readonly<{ kind: 'coins'; at: number }>
  | Readonly<{ kind: 'rent'; account: string }>;

/** Returns why a transaction would fail; null if it would not. */
function whyNot(
  { entries, native = [] }: Pick<SignedTransaction, 'entries' | 'native'>,
  sender: string,
  feeUnits: bigint,
  accounts: Accounts,
): Failure | null {
  // The System program allocates no data where there is some.
  if (native.some(({ makes, to }) => makes === 'data' && accounts.hasData(to))) return { kind: 'exists' };
  let left = accounts.native(sender) - feeUnits;
  for (const [at, { units }] of native.entries()) {
    left -= units;
    if (left < 0n) return { kind: 'coins', at };
  }
  const needs = new Map<string, bigint>();
  for (const { token, from, units } of entries) needs.set(token + from, (needs.get(token + from) ?? 0n) + units);
  const isCovered = entries.every(({ token, from }) => accounts.token(token, from) >= (needs.get(token + from) ?? 0n));
  if (!isCovered) return { kind: 'tokens' };
  const hasRent = (units: bigint): boolean => units === 0n || units >= depositOf(0);
  // An account that was too poor before may stay so.
  if (!hasRent(left) && hasRent(accounts.native(sender))) return { kind: 'rent', account: sender };
  const poor = native.find(({ to }) => {
    const given = native.filter((one) => one.to === to);
    const bytes = given.some(({ makes }) => makes === 'data') ? LOCK_BYTES : 0;
    const total = given.reduce((sum, { units }) => sum + units, accounts.native(to));
    return total > 0n && total < depositOf(bytes);
  });
  return poor ? { kind: 'rent', account: poor.to } : null;
}

/** Returns a failure as the node names it, with the place of the instruction or account. */
function errorOf(failure: Failure | null, { accounts, instructions }: SignedMessage): TransactionError {
  const placeOf = (program: string, nth = 0): number =>
    instructions.flatMap((one, at) => (one.program === program ? [at] : []))[nth] ?? 0;
  const custom = (at: number, code: number): TransactionError => ({ InstructionError: [at, { Custom: code }] });
  switch (failure?.kind) {
    case undefined:
      return { InstructionError: [placeOf(TOKENS), 'InvalidAccountData'] };
    case 'exists':
      return custom(
        instructions.findIndex(({ program, data }) => program === SYSTEM && data[0] !== TRANSFER),
        0,
      );
    case 'coins': {
      const made = instructions.flatMap(({ program }, at) =>
        program === SYSTEM || program === TOKEN_ACCOUNTS ? [at] : [],
      );
      return custom(made[failure.at] ?? 0, 1);
    }
    case 'tokens':
      return custom(placeOf(TOKENS), 1);
    case 'rent':
      return { InsufficientFundsForRent: { account_index: accounts.indexOf(failure.account) } };
  }
}

/**
 * Opens the pool.
 * @param lastSlotFor returns the last slot whose block may include a transaction that names this block, or null for an
 * unknown block
 * @param idOf returns the world's id of a signature
 */
export function openSolanaPool(
  world: World,
  owners: TokenAccounts,
  lastSlotFor: (blockhash: string) => number | null,
  idOf: (signature: string) => string,
) {
  return {
    /**
     * Returns the transaction as it would be pending.
     * @throws RpcError with Agave's text
     */
    check(bytes: Uint8Array): SignedTransaction {
      const read = readTransactionBytes(bytes);
      if (!read) throw invalidParams('failed to deserialize: io error: failed to fill whole buffer');
      const { signed, length, isSigned } = read;
      if (!isSigned) throw preflightFailure('SignatureFailure');
      // Before the look at what is on the chain: there too, an old transaction is only one with an old block hash.
      const lastNumber = lastSlotFor(signed.blockhash);
      if (lastNumber === null || world.tip().number >= lastNumber) throw preflightFailure('BlockhashNotFound');
      const id = idOf(signed.id);
      const isKnown = world.find(id) !== undefined || world.pending().some((other) => other.id === id);
      if (isKnown) throw preflightFailure('AlreadyProcessed');
      const [sender = ''] = signed.accounts;
      const accounts = world.accounts();
      const feeUnits = feeOf(signed.signers.length, signed.instructions);
      if (accounts.native(sender) === 0n) throw preflightFailure('AccountNotFound');
      if (accounts.native(sender) < feeUnits) throw preflightFailure('InsufficientFundsForFee');
      const effect = effectOf(signed, owners, accounts);
      const failure = effect && whyNot(effect, sender, feeUnits, accounts);
      if (!effect || failure) throw preflightFailure(errorOf(failure, signed));
      return {
        id,
        sender,
        target: TOKENS,
        succeeded: true,
        ...effect,
        signed: { bytes: Buffer.from(bytes.subarray(0, length)).toString('hex'), sequence: null, feeUnits, lastNumber },
      };
    },
  };
}

/** A block includes what is still valid and can pay its fee; what would fail is included and costs its fee. */
export const solanaAdmit: Admit = (candidate, accounts, next) => {
  const { sender, signed, succeeded } = candidate;
  if (next.number > (signed.lastNumber ?? 0) || accounts.native(sender) < signed.feeUnits) return 'drop';
  return succeeded && whyNot(candidate, sender, signed.feeUnits, accounts) === null ? 'take' : 'fail';
};
