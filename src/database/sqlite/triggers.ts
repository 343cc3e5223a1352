/**
 * Events that a developer triggers. They take the way of every event: the outbox, and from there to each endpoint.
 */
import { permanent } from '../../core/fault.ts';
import { triggeredBody } from '../../core/triggered-event.ts';
import { toSeconds } from '../../lib/clock.ts';
import type { TriggerDatabase } from '../events.ts';
import type { Db } from './open.ts';
import type { Outbox } from './outbox.ts';
import type { FindSessionRow } from './sessions.ts';

/** The newest sessions, among which one of the store's test mode is looked for. */
const SESSIONS_SEARCHED_MAX = 10_000;

import { dueOf } from './session-row.ts';

export function triggerCommands(db: Db, findSession: FindSessionRow, outbox: Outbox): TriggerDatabase {
  const newest = (storeId: string): string | undefined =>
    db.client
      .prepare(
        `SELECT id FROM (SELECT id, store_id, mode FROM sessions ORDER BY id DESC LIMIT ${SESSIONS_SEARCHED_MAX})
         WHERE store_id = :storeId AND mode = 'test' LIMIT 1`,
      )
      .pluck()
      .get({ storeId }) as string | undefined;
  return {
    async triggerEvent({ storeId, sessionId, type, overrides, nowMs }) {
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
