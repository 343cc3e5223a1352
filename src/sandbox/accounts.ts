/**
 * What accounts hold and have sent, counted from a chain's blocks each time it is asked for: a reorg needs no undoing.
 * @module
 */
import type { WorldBlock } from './block-tree.ts';
import type { WorldTransaction } from './transaction.ts';

export type Accounts = Readonly<{
  /** Base units of a token: what came in less what went out; never below zero, because strangers' wallets are bottomless. */
  token(token: string, account: string): bigint;
  /** Base units of the native coin, likewise. */
  native(account: string): bigint;
  /** The sequence number of the account's next signed transaction, where the family counts them. */
  sequence(account: string): number;
  /** Counts one more transaction. */
  add(transaction: WorldTransaction): void;
}>;

const floored = (units: bigint | undefined): bigint => (units !== undefined && units > 0n ? units : 0n);

/** @param blocks oldest first */
export function accountsOf(blocks: Iterable<Pick<WorldBlock, 'transactions'>>): Accounts {
  const natives = new Map<string, bigint>();
  const tokens = new Map<string, bigint>();
  const sequences = new Map<string, number>();
  const move = (ledger: Map<string, bigint>, place: string, units: bigint) =>
    ledger.set(place, (ledger.get(place) ?? 0n) + units);

  function add({ sender, succeeded, entries, native = [], signed }: WorldTransaction): void {
    if (signed) {
      move(natives, sender, -signed.feeUnits);
      if (signed.sequence !== null) sequences.set(sender, signed.sequence + 1);
    }
    if (!succeeded) return;
    for (const { from, to, units } of native) {
      move(natives, from, -units);
      move(natives, to, units);
    }
    for (const { kind, token, from, to, units } of entries) {
      if (kind !== 'transfer') continue;
      move(tokens, token + from, -units);
      move(tokens, token + to, units);
    }
  }

  for (const { transactions } of blocks) transactions.forEach(add);
  return {
    token: (token, account) => floored(tokens.get(token + account)),
    native: (account) => floored(natives.get(account)),
    sequence: (account) => sequences.get(account) ?? 0,
    add,
  };
}
