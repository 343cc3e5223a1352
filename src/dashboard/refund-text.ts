/** Texts of pages about refunds: states, people's decisions, and payments. */
import { shownMinor } from '../acts/refund-words.ts';
import { approveRefund, redirectRefund, waitsForApproval } from '../acts/refunds.ts';
import type { RefundStatus } from '../core/refund.ts';
import type { Refund, RefundRoom } from '../database/refunds/refund.ts';
import { type Html, html } from '../lib/html.ts';
import type { DashboardDeps } from './deps.ts';
import { confirmedText } from './received.ts';
import { badge, data, type Tone, time } from './show.ts';
import type { Words } from './texts.ts';

export const statuses: readonly RefundStatus[] = ['pending', 'processing', 'completed', 'failed', 'canceled'];

/** Whether the payer has to name an address. */
export const waitsForAddress = ({ status, destination, claim }: Refund): boolean =>
  status === 'pending' && destination === null && claim !== null;

const tones: Readonly<Record<RefundStatus, Tone>> = {
  pending: 'wait',
  processing: 'wait',
  completed: 'good',
  failed: 'danger',
  canceled: 'wait',
};

/** Shows the status, and what it waits for. */
export function refundState(words: Words, refund: Refund): Html {
  const waits = [
    ...(refund.status === 'pending' && !refund.destination ? (['address'] as const) : []),
    ...(waitsForApproval(refund) ? (['approval'] as const) : []),
  ];
  return html`<span>${refundBadge(words, refund)}${waits.map((what) => html` ${badge(words.say(`refunds.needs_${what}`), 'attention')}`)}</span>`;
}

export const refundBadge = (words: Words, { status }: Pick<Refund, 'status'>): Html =>
  badge(words.say(`refunds.status_${status}`), tones[status]);

/** Writes what is left to refund, by coin: "6.00 USDT, 2.50 USDC". */
export const leftText = ({ coins }: RefundRoom): string =>
  coins.map(({ leftMinor, currency }) => `${shownMinor(leftMinor)} ${currency}`).join(', ');

const ENTRIES_MAX = 50;
/** So many entries of the audit log are looked at, of the time between a refund's creation and its end. */
const ENTRIES_READ_MAX = 5_000;
/** An act is recorded within this of the time that the refund itself keeps. */
const RECORDED_WITHIN_MS = 60_000;
const IN_DASHBOARD = ' (dashboard)';

/** Facts for an approver. `named`: by whom the address was named. */
type Background = Readonly<{ named: Html | null; facts: readonly (readonly [string, Html] | null)[] }>;

/** Returns who asked, who named the address, who approved, what the payment received, and what is left of it. */
export async function refundBackground(
  { database }: Pick<DashboardDeps, 'database'>,
  { words, nowMs }: Readonly<{ words: Words; nowMs: number }>,
  refund: Refund,
): Promise<Background> {
  const { requestedBy, heldKind, createdAtMs, approvedAtMs, destination } = refund;
  const whoDid = await readActs(database, words, refund);
  const person = (await database.people.list()).find(({ id }) => id === requestedBy);
  const asked = person?.name ?? words.say(heldKind === null ? 'your shop, through the API' : 'the operator');
  const namer = destination?.from === 'merchant' ? (whoDid(redirectRefund.name) ?? person?.name ?? null) : null;
  const approver = whoDid(approveRefund.name);
  const session = await database.sessions.find(refund.sessionId);
  const received = session && confirmedText(session);
  const room = heldKind === null ? await database.refunds.room(refund.sessionId, nowMs) : null;
  const at = (who: string, ms: number) => words.html('{person}, {time}', { person: who, time: time(ms) });
  return {
    named: destination && html`${namedBy(words, destination, namer)}`,
    facts: [
      [words.say('Asked for by'), at(asked, createdAtMs)],
      approvedAtMs === null
        ? null
        : [words.say('Approved by'), approver === null ? time(approvedAtMs) : at(approver, approvedAtMs)],
      received ? [words.say('The payment received'), data(received)] : null,
      room && [words.say('Left after all its refunds'), data(leftText(room) || '–')],
    ],
  };
}

/** Reads what the audit log has about a refund. @returns who did an act; null for one that nobody did */
async function readActs(database: DashboardDeps['database'], words: Words, refund: Refund) {
  const endMs = refund.processedAtMs ?? refund.canceledAtMs;
  const { entries } = await database.audit.search({
    ...{ who: null, what: refund.id, beforeId: null, limit: ENTRIES_MAX, entriesMax: ENTRIES_READ_MAX },
    fromMs: refund.createdAtMs - RECORDED_WITHIN_MS,
    toMs: endMs === null ? null : endMs + RECORDED_WITHIN_MS,
  });
  return (act: string): string | null => {
    const name = entries.find(({ command, target }) => target === refund.id && command === act)?.operator;
    if (name === undefined) return null;
    return name.endsWith(IN_DASHBOARD)
      ? name.slice(0, -IN_DASHBOARD.length)
      : words.say('the operator ({name})', { name });
  };
}

/** Says by whom the address was named: with the name if a person of the store did. */
function namedBy(words: Words, { from, isLinkSeen }: NonNullable<Refund['destination']>, named: string | null): string {
  if (isLinkSeen) return words.say('refunds.source_seen_link');
  return from === 'merchant' && named !== null
    ? words.say('named by {person}', { person: named })
    : words.say(`refunds.source_${from}`);
}
