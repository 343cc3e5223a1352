/** What an approver has to know about a refund: who asked, who named its address, what was paid, and what is left. */
import type { Refund } from '../database/refunds/refund.ts';
import { type Html, html } from '../lib/html.ts';
import type { DashboardDeps } from './deps.ts';
import { confirmedText } from './received.ts';
import { leftText } from './refund-text.ts';
import { data, time } from './show.ts';
import type { Words } from './texts.ts';

const ENTRIES_MAX = 50;
/** So many entries of the audit log are looked at, of the time between a refund's creation and its end. */
const ENTRIES_READ_MAX = 5_000;
/** An act is recorded within this of the time that the refund itself keeps. */
const RECORDED_WITHIN_MS = 60_000;
const IN_DASHBOARD = ' (dashboard)';

/** `named`: who named the present address, if a person did; `approved`: null as well if no person approved it. */
type RefundPeople = Readonly<{ asked: string; named: string | null; approved: string | null }>;

/** Returns who did what about a refund, each as the page says it. */
export async function readRefundPeople(
  { database }: Pick<DashboardDeps, 'database'>,
  words: Words,
  refund: Refund,
): Promise<RefundPeople> {
  const { id, requestedBy, heldKind, createdAtMs, processedAtMs, canceledAtMs, destination } = refund;
  const endMs = processedAtMs ?? canceledAtMs;
  const { entries } = await database.audit.search({
    ...{ who: null, what: id, beforeId: null, limit: ENTRIES_MAX, entriesMax: ENTRIES_READ_MAX },
    fromMs: createdAtMs - RECORDED_WITHIN_MS,
    toMs: endMs === null ? null : endMs + RECORDED_WITHIN_MS,
  });
  const nameOf = (operator: string): string =>
    operator.endsWith(IN_DASHBOARD)
      ? operator.slice(0, -IN_DASHBOARD.length)
      : words.say('refunds.by_operator', { name: operator });
  const whoDid = (isAct: (command: string) => boolean): string | null => {
    const entry = entries.find(({ command, target }) => target === id && isAct(command));
    return entry ? nameOf(entry.operator) : null;
  };
  const person =
    requestedBy === null ? undefined : (await database.people.list()).find((one) => one.id === requestedBy);
  const asked = person?.name ?? words.say(heldKind === null ? 'refunds.by_api' : 'refunds.by_installation');
  const renamed = whoDid((command) => /destination|redirect/.test(command));
  const named = destination?.from === 'merchant' ? (renamed ?? person?.name ?? null) : null;
  return { asked, named, approved: whoDid((command) => /approve/.test(command)) };
}

type Destination = NonNullable<Refund['destination']>;

/** Says by whom the address was named: with the name if a person of the store did. */
export function namedBy(words: Words, { from, isLinkSeen }: Destination, named: string | null): string {
  if (isLinkSeen) return words.say('refunds.source_seen_link');
  return from === 'merchant' && named !== null
    ? words.say('refunds.named_by', { person: named })
    : words.say(`refunds.source_${from}`);
}

/** Says who asked, who approved, what the payment received and what is left of it besides this refund. */
export async function refundBackground(
  { database }: Pick<DashboardDeps, 'database'>,
  words: Words,
  refund: Refund,
  { asked, approved }: RefundPeople,
  nowMs: number,
): Promise<readonly (readonly [string, Html])[]> {
  const session = await database.sessions.find(refund.sessionId);
  const room = await database.refunds.room(refund.sessionId, nowMs);
  const received = session && confirmedText(session);
  const at = (who: string, ms: number) => html`${words.html('refunds.person_at', { person: who, time: time(ms) })}`;
  return [
    [words.say('refunds.asked_by'), at(asked, refund.createdAtMs)],
    ...(refund.approvedAtMs === null
      ? []
      : [
          [
            words.say('refunds.approved_by'),
            approved === null ? time(refund.approvedAtMs) : at(approved, refund.approvedAtMs),
          ] as const,
        ]),
    ...(received ? [[words.say('refunds.paid'), data(received)] as const] : []),
    ...(room && refund.heldKind === null
      ? [[words.say('refunds.left_besides'), data(leftText(room) || '–')] as const]
      : []),
  ];
}
