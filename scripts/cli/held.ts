/**
 * Held money: lists and shows what counts for nothing, and takes an operator's decision.
 * @module
 */

import { englishOf } from '../../src/acts/act.ts';
import { acceptEffect, acceptHeld, acceptJson, heldAmount } from '../../src/acts/held.ts';
import { type HeldKind, type HeldState, heldKinds, openPar } from '../../src/core/held-money.ts';
import { formatUnits, MINOR_DECIMALS, PAR_DECIMALS } from '../../src/core/money.ts';
import type { Database } from '../../src/database/database.ts';
import type { HeldMoney } from '../../src/database/held-money.ts';
import { type Command, choiceOption, moment, notFound, operatorAct, textOption, wholeOption } from './command.ts';
import { findSession, paymentLines } from './session.ts';
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
    const all = await database.listHeldMoney({
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

export const heldShow: Command = {
  name: 'held show',
  args: ['id'],
  summary: 'Show held money: its session, its transfers, and what accepting it would do.',
  options: {},
  async run(input, { database, clock }) {
    const held = await findHeld(database, input.args[0] ?? '');
    const session = await findSession(database, held.sessionId);
    const tried =
      held.state === 'open'
        ? await database.acceptHeldMoney(held.id, operatorAct(acceptHeld, input, clock), true)
        : null;
    const accepting = tried?.kind === 'done' ? tried : null;
    return {
      json: {
        ...shown(held),
        accepting: accepting && acceptJson(accepting),
        returns: held.returns.map(({ id, status, amountMinor, currency, network, tx }) => {
          const amount = formatUnits(amountMinor, MINOR_DECIMALS, MINOR_DECIMALS);
          return { id, status, amount, currency, network, transaction_hash: tx };
        }),
      },
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
          ...held.returns.map((one) => [
            one.status === 'completed' ? 'returned' : 'return',
            `${formatUnits(one.amountMinor, MINOR_DECIMALS, MINOR_DECIMALS)} ${one.currency} on ${one.network}: ` +
              `${one.id} (${one.status}${one.tx === null ? '' : `, ${one.tx}`})`,
          ]),
        ]),
        '',
        ...paymentLines(session),
      ],
    };
  },
};

/** Returns what becomes of held money, with its returns. */
function stateText({ state, returns }: HeldMoney): string {
  if (state !== 'gone') return state;
  if (returns.some(({ status }) => status === 'pending' || status === 'processing')) return 'returning';
  return returns.some(({ status }) => status === 'completed') ? 'returned' : state;
}

const value = (par: bigint): string => formatUnits(par, PAR_DECIMALS, MINOR_DECIMALS);

/** @throws Fault permanent `not_found` */
async function findHeld(database: Pick<Database, 'findHeldMoney'>, id: string): Promise<HeldMoney> {
  const held = await database.findHeldMoney(id);
  if (held) return held;
  throw notFound(`there is no held money ${id}; \`quayside held list --state any\` shows all`);
}

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
