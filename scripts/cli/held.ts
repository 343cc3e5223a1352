/** Held money for programs, and what its kinds mean. */
import { type HeldKind, openPar } from '../../src/core/held-money.ts';
import type { HeldMoney } from '../../src/database/held-money.ts';
import { moment, momentOrNull } from './command.ts';
import { parText } from './show-link.ts';

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

/** Returns held money for programs. */
export const heldJson = (held: HeldMoney) => ({
  id: held.id,
  kind: held.kind,
  state: heldState(held),
  amount: parText(openPar(held)),
  currency: held.currency,
  settled: parText(held.settledPar),
  session: held.sessionId,
  order: held.orderId,
  store: held.storeId,
  mode: held.mode,
  since: moment(held.openedAtMs),
  settled_at: momentOrNull(held.settledAtMs),
});

/** Returns the commands that decide about held money. */
export const heldAdvice = (id: string): string =>
  `\`quayside held accept ${id} --reason …\`, or \`quayside held return ${id} --to ADDRESS --reason …\``;
