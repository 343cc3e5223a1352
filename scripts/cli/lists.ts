/** The lists: with the same filters and limit, JSON for programs and a table for people. */
import { alarmJson, alarmShown, isOpen } from '../../src/acts/alarms.ts';
import { heldJson, meanings } from '../../src/acts/held.ts';
import { keyJson } from '../../src/acts/keys.ts';
import { refundJson } from '../../src/acts/refunds.ts';
import { endpointJson } from '../../src/acts/webhooks.ts';
import { heldKinds } from '../../src/core/held-money.ts';
import { payoutStates } from '../../src/core/payout.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { AuditEntry } from '../../src/database/audit-log.ts';
import type { AuditedState } from '../../src/database/column-values.ts';
import {
  type Command,
  type Input,
  type Installation,
  moment,
  type Option,
  textOption,
  wholeOption,
} from './command.ts';
import { networkOf } from './networks.ts';
import { shownPayout } from './payouts.ts';
import { listLines } from './table.ts';

const LISTED = 50;
const LISTED_MAX = 10_000;

const scopes = {
  store: { value: 'ID', help: 'only those of this store' },
  network: { value: 'KEY', help: 'only those on this network, such as live:mychain' },
} as const satisfies Readonly<Record<string, Option>>;

const limit: Option = { value: 'N', help: `at most N (${LISTED}), up to ${LISTED_MAX}` };

/** The filters of a list. Without them it is complete. */
type Filter<State extends string> = Readonly<{
  storeId?: string;
  network?: NetworkKey;
  state?: State;
  limit: number;
}>;

/** `shown`: the members of a row that people see. `states`: words to choose rows by. */
type Reading<Row extends object, State extends string> = Pick<Command, 'name' | 'summary' | 'notes'> &
  Readonly<{
    by?: readonly (keyof typeof scopes)[];
    states?: readonly State[];
    shown: readonly (keyof Row & string)[];
    /** Returns rows as programs get them, the newest first. */
    load(filter: Filter<State>, installation: Installation): Promise<readonly Row[]>;
  }>;

/** Returns the command that lists. */
function readingOf<Row extends object, State extends string = never>(reading: Reading<Row, State>): Command {
  const { name, summary, notes, by = [], states, shown, load } = reading;
  return {
    name,
    summary,
    ...(notes && { notes }),
    options: {
      ...Object.fromEntries(by.map((scope) => [scope, scopes[scope]])),
      ...(states && { state: { choices: states, help: 'only in this state' } }),
      limit,
    },
    async run(input, installation) {
      const rows = await load(filterOf(input, installation), installation);
      return { json: rows, lines: rows.length === 0 ? ['none'] : listLines(rows, shown) };
    },
  };
}

/** Returns the filter that the options give. Its words were checked as choices already. */
function filterOf<State extends string>(input: Input, { config }: Installation): Filter<State> {
  const [storeId, network] = [textOption(input, 'store'), textOption(input, 'network')];
  const state = textOption(input, 'state') as State | undefined;
  return {
    ...(storeId !== undefined && { storeId }),
    ...(network !== undefined && { network: networkOf(config.networks, network).key }),
    ...(state && { state }),
    limit: wholeOption(input, 'limit', 1, LISTED_MAX, LISTED),
  };
}

export const alarmList = readingOf({
  name: 'alarm list',
  summary: 'List alarms, the open ones first: these end by themselves.',
  states: ['open'],
  shown: alarmShown,
  async load({ state, limit }, { database }) {
    const open = await database.alarms.listOpen();
    const newest = state === 'open' ? [] : await database.alarms.list(limit);
    return [...open.toReversed(), ...newest.filter((one) => !isOpen(one))].map(alarmJson);
  },
});

export const auditList = readingOf({
  name: 'audit list',
  summary: 'List what operators changed: who, when, what and why; newest first.',
  shown: ['at', 'operator', 'command', 'target', 'change', 'reason'],
  async load({ limit }, { database }) {
    const entries = await database.audit.list(limit);
    return entries.map(({ atMs, ...entry }) => ({ ...entry, at: moment(atMs), change: changeText(entry) }));
  },
});

/** Returns each changed value as `name: before → after`. */
function changeText({ before, after }: Pick<AuditEntry, 'before' | 'after'>): string {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const text = (state: AuditedState, name: string) => String(state?.[name] ?? '-');
  return names
    .filter((name) => text(before, name) !== text(after, name))
    .map((name) => `${name}: ${text(before, name)} → ${text(after, name)}`)
    .join('; ');
}

export const keyList = readingOf({
  name: 'key list',
  summary: 'List API keys, including revoked ones.',
  by: ['store'],
  shown: ['id', 'store', 'hint', 'scopes', 'created_at', 'last_used_at', 'revoked_at', 'altered'],
  load: async ({ storeId = null }, { database }) => (await database.keys.list(storeId)).map(keyJson),
});

export const heldList = readingOf({
  name: 'held list',
  summary: 'List held money: confirmed, but counting for nothing until you decide; newest first.',
  by: ['store'],
  states: ['open', 'settled', 'gone', 'any'],
  notes: ['Without --state: open.', ...heldKinds.map((kind) => `${kind}: ${meanings[kind]}`)],
  shown: ['id', 'kind', 'state', 'amount', 'currency', 'session', 'order', 'since'],
  load: async ({ state = 'open', ...filter }, { database }) =>
    (await database.held.list({ ...filter, ...(state !== 'any' && { state }) })).map(heldJson),
});

export const refundsList = readingOf({
  name: 'refund list',
  summary: 'List refunds and returns of held money.',
  by: ['store'],
  states: ['pending', 'processing', 'completed', 'failed', 'canceled'],
  shown: ['id', 'status', 'amount', 'currency', 'network', 'created_at', 'refund_id', 'needs'],
  load: async ({ state, ...filter }, { database }) =>
    (await database.refunds.list({ ...filter, ...(state && { status: state }) })).map(refundJson),
});

export const payoutsList = readingOf({
  name: 'payout list',
  summary: 'List payouts, newest first: refunds, returns of held money, sweeps, and gas and loans for them.',
  by: ['network'],
  states: payoutStates,
  shown: ['id', 'kind', 'network', 'state', 'amount', 'created_at', 'waits_for'],
  load: async (filter, { database, config }) =>
    (await database.payouts.list(filter)).map((payout) => shownPayout(payout, config)),
});

export const webhooksList = readingOf({
  name: 'webhook list',
  summary: 'List webhook endpoints; `show <endpoint>` has its newest answer.',
  by: ['store'],
  shown: ['id', 'store', 'mode', 'disabled_reason', 'url'],
  load: async ({ storeId = null }, { database }) => (await database.endpoints.list(storeId)).map(endpointJson),
});
