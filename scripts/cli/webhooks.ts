/** Deliveries as a table. */
import type { Delivery } from '../../src/database/deliveries.ts';
import { moment, momentOrNull } from './command.ts';
import type { Column } from './table.ts';

export const deliveryColumns: readonly Column<Delivery>[] = [
  ['id', ({ id }) => id],
  ['type', ({ eventType }) => eventType],
  ['session', ({ sessionId }) => sessionId],
  ['state', ({ state }) => state],
  ['attempts', ({ attempts }) => attempts],
  ['next_attempt_at', ({ dueAtMs }) => momentOrNull(dueAtMs)],
  ['last_status', ({ lastStatus }) => lastStatus],
  ['last_error', ({ lastError }) => lastError],
  ['endpoint', ({ endpointId }) => endpointId, 'hidden'],
  ['event', ({ eventId }) => eventId, 'hidden'],
  ['created_at', ({ createdAtMs }) => moment(createdAtMs), 'hidden'],
];
