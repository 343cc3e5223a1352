/**
 * Events that a developer triggers. They take the way of every event: the outbox, and from there to each endpoint.
 */
import type { EventType } from '../core/event.ts';
import { permanent } from '../core/fault.ts';
import type { Overrides } from '../core/triggered-event.ts';
import { triggeredBody } from '../core/triggered-event.ts';
import { toSeconds } from '../lib/clock.ts';
import type { Db } from './engine/open.ts';
import type { Outbox } from './outbox.ts';
import { dueOf } from './session.ts';
import type { FindSessionRow } from './sessions.ts';

/** The newest sessions, among which one of the store's test mode is looked for. */
const SESSIONS_SEARCHED_MAX = 10_000;

export function triggerCommands(db: Db, findSession: FindSessionRow, outbox: Outbox) {
  const newest = (storeId: string): string | undefined =>
    db.client
      .prepare(
        `SELECT id FROM (SELECT id, store_id, mode FROM sessions ORDER BY id DESC LIMIT ${SESSIONS_SEARCHED_MAX})
         WHERE store_id = :storeId AND mode = 'test' LIMIT 1`,
      )
      .pluck()
      .get({ storeId }) as string | undefined;
  return {
    /**
     * Saves an event that a developer triggers, and its deliveries; the session stays as it is.
     * @param input `sessionId` null: the store's newest session of test mode
     * @throws Fault permanent `not_found` without such a session, `usage` for an override that is wrong
     */
    async trigger({
      storeId,
      sessionId,
      type,
      overrides,
      nowMs,
    }: Readonly<{
      storeId: string;
      sessionId: string | null;
      type: EventType;
      overrides: Overrides;
      nowMs: number;
    }>): Promise<Readonly<{ id: string; body: string }>> {
      return db.write(() => {
        const row = findSession(sessionId ?? newest(storeId) ?? '');
        if (row?.storeId !== storeId || row.mode !== 'test') {
          throw permanent(
            'not_found',
            sessionId === null
              ? 'the store has no test session yet that the event can be about: create one with a test key first'
              : `this store has no test session ${sessionId}; without --session the event is about the newest`,
          );
        }
        const { id, orderId, terms, networks } = row;
        const exchangeRate = terms.conversion?.rate ?? null;
        const sum = dueOf(row);
        const subject = { sessionId: id, orderId, exchangeRate, sum, network: networks[0] ?? 'test:none' };
        let posted = { id: '', body: '' };
        outbox.post(row, type, nowMs, (eventId) => {
          const event = { id: eventId, type, createdAtS: toSeconds(nowMs) };
          posted = { id: eventId, body: triggeredBody(event, subject, overrides) };
          return posted.body;
        });
        return posted;
      });
    },
  };
}
