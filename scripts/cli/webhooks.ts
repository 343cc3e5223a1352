import type { Delivery } from '../../src/database/deliveries.ts';
import { moment } from './command.ts';

/** Returns a delivery for programs. */
export const shownDelivery = (one: Delivery) => ({
  id: one.id,
  endpoint: one.endpointId,
  event: one.eventId,
  type: one.eventType,
  session: one.sessionId,
  state: one.state,
  attempts: one.attempts,
  next_attempt_at: one.dueAtMs === null ? null : moment(one.dueAtMs),
  last_status: one.lastStatus,
  last_error: one.lastError,
  created_at: moment(one.createdAtMs),
});
