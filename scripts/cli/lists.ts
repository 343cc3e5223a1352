/** The lists, each with what people see of a row and how its rows are read. */
import { alarmJson, alarmShown, isOpen } from '../../src/acts/alarms.ts';
import { heldJson, meanings } from '../../src/acts/held.ts';
import { keyJson } from '../../src/acts/keys.ts';
import { refundJson } from '../../src/acts/refunds.ts';
import { endpointJson } from '../../src/acts/webhooks.ts';
import { heldKinds } from '../../src/core/held-money.ts';
import { payoutStates } from '../../src/core/payout.ts';
import type { AuditEntry } from '../../src/database/audit-log.ts';
import type { AuditedState } from '../../src/database/column-values.ts';
import { moment } from './command.ts';
import { shownPayout } from './payouts.ts';
import { readingOf } from './reading.ts';

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
