/** The lists: each with its filters, its rows for people and for programs, and the newest first. */

import { keyJson } from '../../src/acts/keys.ts';
import { amountText } from '../../src/acts/refund-words.ts';
import { refundJson, whatNext } from '../../src/acts/refunds.ts';
import { stateOf } from '../../src/acts/store-decisions.ts';
import { endpointJson } from '../../src/acts/webhooks.ts';
import { heldKinds } from '../../src/core/held-money.ts';
import { paybackKinds } from '../../src/core/intent.ts';
import { delayOf, payoutStates } from '../../src/core/payout.ts';
import type { AuditEntry } from '../../src/database/audit-log.ts';
import type { AuditedState } from '../../src/database/column-values.ts';
import { alarmLines, alarmShown, isOpen } from './alarms.ts';
import {
  type Command,
  choiceOption,
  type Input,
  type Installation,
  moment,
  type Option,
  textOption,
  wholeOption,
} from './command.ts';
import { heldColumns, meanings } from './held.ts';
import { alteredLine, lastUse } from './key.ts';
import { networkOf } from './network-name.ts';
import { amountOf, kindText, shownPayout } from './payouts.ts';
import { findSession } from './session.ts';
import { readSince, sinceOption } from './since.ts';
import { storeJson } from './store.ts';
import { type Column, sheet } from './table.ts';
import { deliveryColumns } from './webhooks.ts';

const LISTED = 50;
const LISTED_MAX = 10_000;

const store: Option = { value: 'ID', help: 'only those of this store' };
const session: Option = { value: 'ID', help: 'only those of this session' };
const limit: Option = { value: 'N', help: `at most N (${LISTED}), up to ${LISTED_MAX}` };

/** Returns the lines of a table of things that an act describes for programs. */
const lines = <T>(rows: readonly T[], columns: readonly Column<T>[]): string[] => sheet(rows, columns).lines;

const limitOf = (input: Input): number => wholeOption(input, 'limit', 1, LISTED_MAX, LISTED);

/** Returns the filter that the options of a list give. */
async function filterOf(input: Input, { database }: Installation) {
  const [storeId, sessionId] = [textOption(input, 'store'), textOption(input, 'session')];
  return {
    ...(storeId !== undefined && { storeId }),
    ...(sessionId !== undefined && { sessionId: (await findSession(database.sessions, sessionId)).id }),
    limit: limitOf(input),
  };
}

/** Returns the choice that an option gives, by its name; nothing if it was not given. */
const chosen = <N extends string, T extends string>(input: Input, name: N, choices: readonly T[]) =>
  (input.options[name] === undefined ? {} : { [name]: choiceOption(input, name, choices) }) as { [K in N]?: T };

export const alarmList: Command = {
  name: 'alarm list',
  args: [],
  summary: 'List alarms, the open ones first: these end by themselves.',
  options: { open: { help: 'only those that are open' }, limit },
  async run(input, { database }) {
    const open = await database.alarms.listOpen();
    const newest = input.options.open ? [] : await database.alarms.list(limitOf(input));
    const shown = [...open.toReversed(), ...newest.filter((one) => !isOpen(one))];
    return {
      json: shown.map(alarmShown),
      lines: shown.length === 0 ? [input.options.open ? 'no open alarms' : 'no alarms'] : shown.flatMap(alarmLines),
    };
  },
};

export const auditList: Command = {
  name: 'audit list',
  args: [],
  summary: 'List what operators changed: who, when, what and why; newest first.',
  options: { limit, since: sinceOption, before: { value: 'ID', help: 'only older entries than this: the next page' } },
  async run(input, { database, clock }) {
    const sinceMs = readSince(input, clock.nowMs()) ?? 0;
    const beforeId = wholeOption(input, 'before', 1, Number.MAX_SAFE_INTEGER, 0);
    const entries = await database.audit.list(limitOf(input), { sinceMs, ...(beforeId > 0 && { beforeId }) });
    const oldest = entries.at(-1);
    return {
      json: entries.map(({ atMs, ...entry }) => ({ ...entry, at: moment(atMs) })),
      lines: [
        ...lines(entries, [
          ['AT', ({ atMs }) => moment(atMs)],
          ['OPERATOR', ({ operator }) => operator],
          ['COMMAND', ({ command }) => command],
          ['TARGET', ({ target }) => target],
          ['CHANGE', changeText],
          ['REASON', ({ reason }) => reason ?? ''],
        ]),
        ...(oldest && entries.length === limitOf(input) ? [`for older entries: --before ${oldest.id}`] : []),
      ],
    };
  },
};

/** Returns each changed value as `name: before → after`. */
function changeText({ before, after }: Pick<AuditEntry, 'before' | 'after'>): string {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const text = (state: AuditedState, name: string) => String(state?.[name] ?? '-');
  return names
    .filter((name) => text(before, name) !== text(after, name))
    .map((name) => `${name}: ${text(before, name)} → ${text(after, name)}`)
    .join('; ');
}

export const storeList: Command = {
  name: 'store list',
  args: [],
  summary: 'List the stores.',
  options: {},
  async run(_input, { database }) {
    const stores = await database.stores.list();
    return {
      json: stores.map(storeJson),
      lines: lines(stores, [
        ['ID', ({ id }) => id],
        ['STATUS', stateOf],
        ['SETTLES IN', ({ settings }) => settings.settlementCurrency],
        ['LATE', ({ settings }) => settings.latePolicy],
        ['CREATED', ({ createdAtMs }) => moment(createdAtMs)],
        ['NAME', ({ name }) => name],
      ]),
    };
  },
};

export const keyList: Command = {
  name: 'key list',
  args: [],
  summary: 'List API keys, including revoked ones.',
  options: { store },
  async run(input, { database }) {
    const keys = await database.keys.list(textOption(input, 'store') ?? null);
    const altered = keys.filter(({ isAltered }) => isAltered);
    return {
      json: keys.map(keyJson),
      lines: [
        ...lines(keys, [
          ['ID', ({ id, isAltered }) => (isAltered ? `${id} ALTERED` : id)],
          ['STORE', ({ storeId }) => storeId],
          ['KEY', ({ hint }) => hint],
          ['SCOPES', ({ scopes }) => scopes.join(',')],
          ['FROM', ({ sources }) => sources.join(',') || 'anywhere'],
          ['CREATED', ({ createdAtMs }) => moment(createdAtMs)],
          ['BY', ({ createdBy }) => createdBy ?? 'unknown'],
          ['LAST USED', lastUse],
          ['EXPIRES', ({ expiresAtMs }) => (expiresAtMs === null ? 'never' : moment(expiresAtMs))],
          ['REVOKED', ({ revokedAtMs }) => moment(revokedAtMs)],
        ]),
        ...altered.map(alteredLine),
      ],
      isBad: altered.length > 0,
    };
  },
};

const heldStates = ['open', 'settled', 'gone', 'any'] as const;

export const heldList: Command = {
  name: 'held list',
  args: [],
  summary: 'List held money: confirmed, but counting for nothing until you decide; newest first.',
  options: { store, session, state: { choices: heldStates, help: 'only in this state (open)' }, limit },
  notes: heldKinds.map((kind) => `${kind}: ${meanings[kind]}`),
  async run(input, installation) {
    const state = choiceOption(input, 'state', heldStates, 'open');
    const filter = await filterOf(input, installation);
    const all = await installation.database.held.list({ ...filter, ...(state !== 'any' && { state }) });
    const { json, lines: shown } = sheet(all, heldColumns);
    return { json, lines: all.length === 0 ? ['no held money'] : shown };
  },
};

const refundStatuses = ['pending', 'processing', 'completed', 'failed', 'canceled'] as const;

export const refundsList: Command = {
  name: 'refund list',
  args: [],
  summary: 'List refunds and returns of held money (rt_…), newest first.',
  options: { store, session, state: { choices: refundStatuses, help: 'only in this state' }, limit },
  async run(input, installation) {
    const filter = await filterOf(input, installation);
    const { state: status } = chosen(input, 'state', refundStatuses);
    const refunds = await installation.database.refunds.list({ ...filter, ...(status && { status }) });
    return {
      json: refunds.map(refundJson),
      lines: lines(refunds, [
        ['ID', ({ id }) => id],
        ['STATUS', ({ status }) => status],
        ['AMOUNT', amountText],
        ['NETWORK', ({ network }) => network],
        ['CREATED', ({ createdAtMs }) => moment(createdAtMs)],
        ['MERCHANT’S ID', ({ refundId }) => refundId],
        ['NOTE', whatNext],
      ]),
    };
  },
};

const payoutKinds = [...paybackKinds, 'sweep', 'gas'] as const;

export const payoutsList: Command = {
  name: 'payout list',
  args: [],
  summary: 'List payouts, newest first: refunds, returns of held money, sweeps, and gas and loans for them.',
  options: {
    network: { value: 'KEY', help: 'only payouts on this network, such as live:mychain' },
    state: { choices: payoutStates, help: 'only in this state' },
    kind: { choices: payoutKinds, help: 'only of this kind' },
    limit,
  },
  async run(input, { database, config }) {
    const network = textOption(input, 'network');
    const payouts = await database.payouts.list({
      ...(network !== undefined && { network: networkOf(config.networks, network).key }),
      ...chosen(input, 'state', payoutStates),
      ...chosen(input, 'kind', payoutKinds),
      limit: limitOf(input),
    });
    return {
      json: payouts.map((payout) => shownPayout(payout, config)),
      lines: lines(payouts, [
        ['ID', ({ id }) => id],
        ['KIND', ({ intent }) => kindText(intent)],
        ['NETWORK', (payout) => payout.network],
        ['STATE', ({ state }) => state],
        ['AMOUNT', (payout) => amountOf(payout, config)],
        ['CREATED', ({ createdAtMs }) => moment(createdAtMs)],
        ['WAITING FOR', (payout) => delayOf(payout)?.code ?? ''],
      ]),
    };
  },
};

const deliveryStates = ['waiting', 'delivered', 'failed'] as const;

export const webhooksList: Command = {
  name: 'webhook list',
  args: [],
  summary: 'List webhook endpoints and the newest deliveries.',
  options: { store, session, state: { choices: deliveryStates, help: 'only deliveries in this state' }, limit },
  async run(input, installation) {
    const { database } = installation;
    const endpoints = await database.endpoints.list(textOption(input, 'store') ?? null);
    const filter = await filterOf(input, installation);
    const deliveries = await database.deliveries.list({ ...filter, ...chosen(input, 'state', deliveryStates) });
    const shown = sheet(deliveries, deliveryColumns);
    return {
      json: { endpoints: endpoints.map(endpointJson), deliveries: shown.json },
      lines: [
        ...lines(endpoints, [
          ['ENDPOINT', ({ id }) => id],
          ['STORE', ({ storeId }) => storeId],
          ['MODE', ({ mode }) => mode],
          ['STATE', ({ disabledReason }) => disabledReason ?? 'enabled'],
          ['URL', ({ url }) => url],
        ]),
        '',
        ...shown.lines,
      ],
    };
  },
};
