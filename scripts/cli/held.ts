/**
 * Held money: lists and shows what counts for nothing until it is decided.
 */

import { heldAmount } from '../../src/acts/held.ts';
import { type HeldKind, type HeldState, heldKinds, openPar } from '../../src/core/held-money.ts';
import type { HeldMoney } from '../../src/database/held-money.ts';
import { type Command, choiceOption, moment, textOption, wholeOption } from './command.ts';
import { findSession } from './session.ts';
import { parText } from './show-scene.ts';
import { table } from './table.ts';

const LISTED_MAX = 1000;
const states = ['open', 'settled', 'gone', 'any'] as const satisfies readonly (HeldState | 'any')[];

export const meanings: Readonly<Record<HeldKind, string>> = {
  late: 'came after the deadline, or after a cancel',
  short: 'the session ended with too little',
  surplus: 'more than was due',
  wrong_token: 'in a coin that the session does not take',
};

export const heldList: Command = {
  name: 'held list',
  args: [],
  summary: 'List held money: confirmed, but counting for nothing until you decide; newest first.',
  options: {
    store: { value: 'ID', help: 'only that of this store' },
    session: { value: 'ID', help: 'only that of this session' },
    state: { value: 'STATE', help: `${states.join(', ')} (open)` },
    limit: { value: 'N', help: `at most N (50), up to ${LISTED_MAX}` },
  },
  notes: heldKinds.map((kind) => `${kind}: ${meanings[kind]}`),
  async run(input, { database }) {
    const state = choiceOption(input, 'state', states, 'open');
    const storeId = textOption(input, 'store');
    const sessionId = textOption(input, 'session');
    const all = await database.held.list({
      ...(storeId !== undefined && { storeId }),
      ...(sessionId !== undefined && { sessionId: (await findSession(database, sessionId)).id }),
      ...(state !== 'any' && { state }),
      limit: wholeOption(input, 'limit', 1, LISTED_MAX, 50),
    });
    const rows = all.map((held) => [
      held.id,
      held.kind,
      heldAmount(held),
      heldState(held),
      held.sessionId,
      held.orderId,
      moment(held.openedAtMs),
    ]);
    const lines = table([['ID', 'KIND', 'AMOUNT', 'STATE', 'SESSION', 'ORDER', 'SINCE'], ...rows]);
    return { json: all.map(heldJson), lines: all.length === 0 ? ['no held money'] : lines };
  },
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
  settled: parText(held.settledPar),
  currency: held.currency,
  session: held.sessionId,
  order: held.orderId,
  store: held.storeId,
  mode: held.mode,
  since: moment(held.openedAtMs),
  settled_at: held.settledAtMs === null ? null : moment(held.settledAtMs),
});

/** Returns the commands that decide about held money. */
export const heldAdvice = (id: string): string =>
  `\`quayside held accept ${id} --reason …\`, or \`quayside held return ${id} --to ADDRESS --reason …\``;
