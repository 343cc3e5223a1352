/**
 * Account balances, nonces and used allowances, computed from a chain's blocks on each request: a reorg needs no undo.
 */
import type { WorldBlock } from './block-tree.ts';
import type { WorldTransaction } from './transaction.ts';

/** The used part of the daily allowances. */
type UsedUp = Readonly<{ energy: number; bytes: number }>;

export type Accounts = Readonly<ReturnType<typeof accountsOf>>;

const DAY_S = 86_400;

const floored = (units: bigint | undefined): bigint => (units !== undefined && units > 0n ? units : 0n);

/** Running sums; keys are accounts, with the token or the other account before them where there is one. */
type Sums = Readonly<{
  natives: Map<string, bigint>;
  withData: Set<string>;
  tokens: Map<string, bigint>;
  loans: Map<string, bigint>;
  usables: Map<string, bigint>;
  sequences: Map<string, number>;
  uses: Map<string, UsedUp & Readonly<{ timeS: number }>>;
}>;

/** @param blocks oldest first */
export function accountsOf(blocks: Iterable<Pick<WorldBlock, 'transactions'>>) {
  const sums: Sums = {
    natives: new Map(),
    withData: new Set(),
    tokens: new Map(),
    loans: new Map(),
    usables: new Map(),
    sequences: new Map(),
    uses: new Map(),
  };
  const { natives, withData, tokens, loans, usables, sequences } = sums;
  for (const { transactions } of blocks) for (const transaction of transactions) count(sums, transaction);
  return {
    /** Base units of a token: received less sent; never below zero, because strangers' wallets are bottomless. */
    token: (token: string, account: string) => floored(tokens.get(token + account)),
    /** Base units of the native coin, likewise. */
    native: (account: string) => floored(natives.get(account)),
    /** Whether native coin was ever received or sent: on some chains an account exists only then. */
    isKnown: (account: string) => natives.has(account),
    /** Whether data was allocated in the account. */
    hasData: (account: string) => withData.has(account),
    /** Native coin of one account whose resources another may use; to itself, what is staked and not lent. */
    lent: (from: string, to: string) => floored(loans.get(from + to)),
    /** Native coin, staked by this account or another one, whose resources the account may use. */
    usable: (account: string) => floored(usables.get(account)),
    /** The used part of the account's allowances; it regenerates evenly within a day. */
    usedUp: (account: string, timeS: number) => usedUp(sums, account, timeS),
    /** The nonce of the account's next signed transaction, where the family has nonces. */
    sequence: (account: string) => sequences.get(account) ?? 0,
    /** Applies one more transaction. */
    add: (transaction: WorldTransaction) => count(sums, transaction),
  };
}

const move = (ledger: Map<string, bigint>, place: string, units: bigint) =>
  ledger.set(place, (ledger.get(place) ?? 0n) + units);

function usedUp({ uses }: Sums, account: string, timeS: number): UsedUp {
  const last = uses.get(account);
  if (!last) return { energy: 0, bytes: 0 };
  const left = Math.max(0, 1 - (timeS - last.timeS) / DAY_S);
  return { energy: Math.floor(last.energy * left), bytes: Math.floor(last.bytes * left) };
}

function count(sums: Sums, transaction: WorldTransaction): void {
  const { natives, withData, tokens, loans, usables, sequences, uses } = sums;
  const { sender, succeeded, entries, native = [], lent = [], signed } = transaction;
  if (signed) {
    move(natives, sender, -signed.feeUnits);
    if (signed.sequence !== null) sequences.set(sender, signed.sequence + 1);
  }
  if (signed?.execution) {
    const { allowedEnergy, allowedBytes, timeS } = signed.execution;
    const { energy, bytes } = usedUp(sums, sender, timeS);
    uses.set(sender, { energy: energy + allowedEnergy, bytes: bytes + allowedBytes, timeS });
  }
  if (!succeeded) return;
  for (const { from, to, units, makes } of native) {
    move(natives, from, -units);
    move(natives, to, units);
    if (makes === 'data') withData.add(to);
  }
  for (const { from, to, units } of lent) {
    move(loans, from + to, units);
    move(usables, to, units);
  }
  for (const { kind, token, from, to, units } of entries) {
    if (kind !== 'transfer') continue;
    move(tokens, token + from, -units);
    move(tokens, token + to, units);
  }
}
