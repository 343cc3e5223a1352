/**
 * Held money: lists and shows what counts for nothing, and takes an operator's decision.
 * @module
 */

import { permanent } from '../../src/core/fault.ts';
import { type HeldKind, type HeldState, heldKinds, openPar } from '../../src/core/held-money.ts';
import { formatUnits, MINOR_DECIMALS, PAR_DECIMALS } from '../../src/core/money.ts';
import type { Database } from '../../src/database/database.ts';
import type { AcceptHeldOutcome, HeldMoney, HeldSession } from '../../src/database/held-money.ts';
import {
  type Command,
  choiceOption,
  moment,
  notFound,
  operatorAct,
  reasonOption,
  textOption,
  wholeOption,
} from './command.ts';
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
      amountOf(held),
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
        ? await database.acceptHeldMoney(held.id, operatorAct(heldAccept, input, clock), true)
        : null;
    const effect = tried && effectText(tried);
    return {
      json: {
        ...shown(held),
        accepting: tried?.kind === 'done' ? change(tried) : null,
        returns: held.returns.map(({ id, status, amountMinor, currency, network, tx }) => {
          const amount = formatUnits(amountMinor, MINOR_DECIMALS, MINOR_DECIMALS);
          return { id, status, amount, currency, network, transaction_hash: tx };
        }),
      },
      lines: [
        ...table([
          ['held', `${held.id} (${stateText(held)})`],
          ['kind', `${held.kind}: ${meanings[held.kind]}`],
          ['amount', amountOf(held)],
          ['session', `${held.sessionId} (order ${held.orderId}), ${session.life.status}`],
          ['store', `${held.storeId} (${held.mode})`],
          ['due', `${value(session.terms.duePar)} in ${session.terms.accepts.join(' or ')}`],
          ['since', moment(held.openedAtMs)],
          ...(held.settledAtMs === null ? [] : [['settled', `${value(held.settledPar)}, ${moment(held.settledAtMs)}`]]),
          ...(effect === null ? [] : [['if accepted', effect]]),
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

export const heldAccept: Command = {
  name: 'held accept',
  args: ['id'],
  summary: 'Accept held money: the session is paid with it, or it is settled where nothing is left to pay.',
  options: {
    reason: reasonOption,
    'dry-run': { help: 'show what would change, and change nothing' },
  },
  notes: [
    'late, short: the session is paid with all that it received, however little, and payment.completed is sent.',
    'surplus: settled; nothing else changes. The merchant can refund it.',
    'wrong_token: counts one to one, if the price is in a stablecoin and the session is not paid yet; otherwise it is',
    '  settled, and nothing else changes.',
  ],
  async run(input, { database, clock }) {
    const isDryRun = input.options['dry-run'] === true;
    const id = input.args[0] ?? '';
    const outcome = await database.acceptHeldMoney(id, operatorAct(heldAccept, input, clock), isDryRun);
    if (outcome.kind === 'not_found') throw unknown(id);
    if (outcome.kind === 'not_open') {
      const why = whyNotOpen(outcome.held);
      throw permanent('refused', `${id} ${why}: \`quayside held show ${id}\``);
    }
    const { held } = outcome;
    return {
      json: { ...shown(held), ...change(outcome), dry_run: isDryRun },
      lines: [
        `${isDryRun ? 'would accept' : 'accepted'} ${amountOf(held)} (${held.kind}) of session ${held.sessionId}`,
        effectText(outcome) ?? '',
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

/** Returns why nothing can be decided about held money that is not open. */
export function whyNotOpen(held: HeldMoney): string {
  const state = stateText(held);
  if (state === 'returning') return 'is being returned';
  if (state === 'returned') return 'was returned';
  return state === 'settled' ? 'was decided about already' : 'counts by now, or a reorg took it';
}

const value = (par: bigint): string => formatUnits(par, PAR_DECIMALS, MINOR_DECIMALS);

/** Returns what is still to be decided about; if nothing is, what was. */
export const amountOf = (held: HeldMoney): string =>
  `${value(held.state === 'open' ? openPar(held) : held.settledPar)} ${held.currency}`;

/** @throws Fault permanent `not_found` */
export async function findHeld(database: Pick<Database, 'findHeldMoney'>, id: string): Promise<HeldMoney> {
  const held = await database.findHeldMoney(id);
  if (held) return held;
  throw unknown(id);
}

const unknown = (id: string) =>
  notFound(
    `there is no held money ${id}; \`quayside held list --state any\` shows all, with the ids (held_…) to use here`,
  );

function effectText(outcome: AcceptHeldOutcome): string | null {
  if (outcome.kind !== 'done') return null;
  const { effect, before, after } = outcome;
  switch (effect) {
    case 'paid':
      return `the session is paid${after.paidLate ? ' late' : ''} with ${value(after.confirmedPar)} of ${value(after.duePar)} (it was ${before.status})`;
    case 'credited':
      return `${value(after.confirmedPar)} of ${value(after.duePar)} count; the session stays ${after.status} until the rest comes or its time is up`;
    case 'acknowledged':
      return `settled; the session stays ${after.status} with ${value(after.confirmedPar)} of ${value(after.duePar)}`;
  }
}

const face = ({ status, confirmedPar, duePar, paidLate }: HeldSession) => ({
  status,
  confirmed: value(confirmedPar),
  due: value(duePar),
  paid_late: paidLate,
});

const change = ({ effect, before, after }: Extract<AcceptHeldOutcome, { kind: 'done' }>) => ({
  effect,
  before: face(before),
  after: face(after),
});

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
