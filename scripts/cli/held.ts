/** Held money as a table, and what its kinds mean. */
import { type HeldKind, openPar } from '../../src/core/held-money.ts';
import type { HeldMoney } from '../../src/database/held-money.ts';
import { moment, momentOrNull } from './command.ts';
import { parText } from './show-scene.ts';
import type { Column } from './table.ts';

export const meanings: Readonly<Record<HeldKind, string>> = {
  late: 'came after the deadline, or after a cancel',
  short: 'the session ended with too little',
  surplus: 'more than was due',
  wrong_token: 'in a coin that the session does not take',
};

/** Returns what becomes of held money, with its returns. */
export function heldState({ state, returns }: HeldMoney): string {
  if (state !== 'gone') return state;
  if (returns.some(({ status }) => status === 'pending' || status === 'processing')) return 'returning';
  return returns.some(({ status }) => status === 'completed') ? 'returned' : state;
}

export const heldColumns: readonly Column<HeldMoney>[] = [
  ['id', ({ id }) => id],
  ['kind', ({ kind }) => kind],
  ['state', heldState],
  ['amount', (held) => parText(openPar(held))],
  ['currency', ({ currency }) => currency],
  ['settled', ({ settledPar }) => parText(settledPar), 'hidden'],
  ['session', ({ sessionId }) => sessionId],
  ['order', ({ orderId }) => orderId],
  ['store', ({ storeId }) => storeId, 'hidden'],
  ['mode', ({ mode }) => mode, 'hidden'],
  ['since', ({ openedAtMs }) => moment(openedAtMs)],
  ['settled_at', ({ settledAtMs }) => momentOrNull(settledAtMs), 'hidden'],
];

/** Returns the commands that decide about held money. */
export const heldAdvice = (id: string): string =>
  `\`quayside held accept ${id} --reason …\`, or \`quayside held return ${id} --to ADDRESS --reason …\``;
