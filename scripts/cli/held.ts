/**
 * Held money: lists and shows what counts for nothing until it is decided.
 */

import { englishOf } from '../../src/acts/act.ts';
import { acceptEffect, acceptHeld, acceptJson, heldAmount } from '../../src/acts/held.ts';
import { type HeldKind, type HeldState, heldKinds, openPar } from '../../src/core/held-money.ts';
import { formatUnits, MINOR_DECIMALS, PAR_DECIMALS } from '../../src/core/money.ts';
import type { HeldMoney } from '../../src/database/held-money.ts';
import {
  type Command,
  choiceOption,
  type Input,
  type Installation,
  moment,
  operatorAct,
  textOption,
  wholeOption,
} from './command.ts';
import { findSession, paymentLines } from './session.ts';
import { link, type Shown } from './show-link.ts';
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
      stateText(held),
      held.sessionId,
      held.orderId,
      moment(held.openedAtMs),
    ]);
    const lines = table([['ID', 'KIND', 'AMOUNT', 'STATE', 'SESSION', 'ORDER', 'SINCE'], ...rows]);
    return { json: all.map(shown), lines: all.length === 0 ? ['no held money'] : lines };
  },
};

/** Shows held money: its session, its transfers, and what accepting it would do. */
export async function heldShown({ database, clock }: Installation, input: Input, id: string): Promise<Shown | null> {
  const held = await database.held.find(id);
  if (!held) return null;
  const session = await findSession(database, held.sessionId);
  const isOpen = held.state === 'open';
  const tried = isOpen ? await database.held.accept(held.id, operatorAct(acceptHeld, input, clock), true) : null;
  const accepting = tried?.kind === 'done' ? tried : null;
  const returns = held.returns.map(({ id: returnId, status, amountMinor, currency, network, tx }) => {
    const amount = formatUnits(amountMinor, MINOR_DECIMALS, MINOR_DECIMALS);
    return { id: returnId, status, amount, currency, network, transaction_hash: tx };
  });
  const advice = `\`quayside held accept ${id} --reason …\`, or \`quayside held return ${id} --to ADDRESS --reason …\``;
  return {
    kind: 'held',
    json: { ...shown(held), held_kind: held.kind, accepting: accepting && acceptJson(accepting), returns },
    lines: [
      ...table([
        ['held', `${held.id} (${stateText(held)})`],
        ['kind', `${held.kind}: ${meanings[held.kind]}`],
        ['amount', heldAmount(held)],
        ['session', `${held.sessionId} (order ${held.orderId}), ${session.life.status}`],
        ['store', `${held.storeId} (${held.mode})`],
        ['due', `${value(session.terms.duePar)} in ${session.terms.accepts.join(' or ')}`],
        ['since', moment(held.openedAtMs)],
        ...(held.settledAtMs === null ? [] : [['settled', `${value(held.settledPar)}, ${moment(held.settledAtMs)}`]]),
        ...(accepting ? [['if accepted', englishOf(acceptEffect(accepting))]] : []),
        ...returns.map((one) => [
          one.status === 'completed' ? 'returned' : 'return',
          `${one.amount} ${one.currency} on ${one.network}: ${one.id} (${one.status}${one.transaction_hash === null ? '' : `, ${one.transaction_hash}`})`,
        ]),
      ]),
      '',
      ...paymentLines(session),
    ],
    links: isOpen ? [link('credit', 'waiting', `${heldAmount(held)} waits for your decision`, advice)] : [],
  };
}

/** Returns what becomes of held money, with its returns. */
function stateText({ state, returns }: HeldMoney): string {
  if (state !== 'gone') return state;
  if (returns.some(({ status }) => status === 'pending' || status === 'processing')) return 'returning';
  return returns.some(({ status }) => status === 'completed') ? 'returned' : state;
}

const value = (par: bigint): string => formatUnits(par, PAR_DECIMALS, MINOR_DECIMALS);

const shown = (held: HeldMoney) => ({
  id: held.id,
  kind: held.kind,
  state: stateText(held),
  amount: value(openPar(held)),
  settled: value(held.settledPar),
  currency: held.currency,
  session: held.sessionId,
  order: held.orderId,
  store: held.storeId,
  mode: held.mode,
  since: moment(held.openedAtMs),
  settled_at: held.settledAtMs === null ? null : moment(held.settledAtMs),
});
