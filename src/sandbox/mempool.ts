/**
 * Which of the transactions that wait go into the next block, and what becomes of them there.
 * @module
 */
import type { Accounts } from './accounts.ts';
import type { SignedTransaction, WorldTransaction } from './transaction.ts';

/** Where the next block stands. */
export type NextBlock = Readonly<{ number: number; timeS: number; parentTimeS: number }>;

/**
 * `fail`: it stands in the block and does nothing but cost its fee. `wait`: not yet. `drop`: never. Where only the
 * block decides what it costs and how it ends: the transaction as it stands there.
 */
export type Admission = 'take' | 'fail' | 'wait' | 'drop' | SignedTransaction;

/**
 * A family's rules for what was signed.
 * @param accounts as they are in front of the candidate, in the block that is being made
 */
export type Admit = (candidate: SignedTransaction, accounts: Accounts, next: NextBlock) => Admission;

export const isSigned = (transaction: WorldTransaction): transaction is SignedTransaction =>
  transaction.signed !== undefined;

/** Unsigned payments go first, as they came; what a wallet signed follows in the order of its sequence numbers. */
export function chooseForBlock(
  waiting: readonly WorldTransaction[],
  { countMax, accounts, admit, next }: { countMax: number; accounts: Accounts; admit: Admit; next: NextBlock },
): Readonly<{ taken: WorldTransaction[]; left: WorldTransaction[] }> {
  const taken: WorldTransaction[] = [];
  const left: WorldTransaction[] = [];
  const take = (transaction: WorldTransaction) => {
    accounts.add(transaction);
    taken.push(transaction);
  };
  const [payments, signed] = [waiting.filter((one) => !isSigned(one)), waiting.filter(isSigned)];
  payments.slice(0, countMax).forEach(take);
  left.push(...payments.slice(countMax));
  for (const candidate of signed.sort((a, b) => (a.signed.sequence ?? 0) - (b.signed.sequence ?? 0))) {
    const admission = taken.length < countMax ? admit(candidate, accounts, next) : 'wait';
    if (admission === 'take') take(candidate);
    if (admission === 'fail') take({ ...candidate, succeeded: false });
    if (admission === 'wait') left.push(candidate);
    if (typeof admission === 'object') take(admission);
  }
  return { taken, left };
}
