/**
 * Selects the pending transactions that go into the next block, and their effect there.
 */
import type { Accounts } from './accounts.ts';
import type { SignedTransaction, WorldTransaction } from './transaction.ts';

/** The position of the next block; `price` as in `WorldBlock`. */
export type NextBlock = Readonly<{ number: number; timeS: number; parentTimeS: number; price?: bigint }>;

/**
 * `fail`: it is included, and has no effect but its fee. `wait`: not yet. `drop`: never. A transaction, where only the
 * block decides its cost and result: as it is included.
 */
type Admission = 'take' | 'fail' | 'wait' | 'drop' | SignedTransaction;

/**
 * A family's rules for signed transactions.
 * @param accounts the state before the candidate, in the block being made
 */
export type Admit = (candidate: SignedTransaction, accounts: Accounts, next: NextBlock) => Admission;

export const isSigned = (transaction: WorldTransaction): transaction is SignedTransaction =>
  transaction.signed !== undefined;

/** Unsigned payments come first, in order of arrival; signed transactions follow in the order of their nonces. */
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
