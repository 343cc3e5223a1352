/**
 * Lists webhook endpoints and deliveries.
 */

import { endpointJson } from '../../src/acts/webhooks.ts';
import type { Delivery, DeliveryState } from '../../src/database/deliveries.ts';
import { type Command, choiceOption, moment, textOption, wholeOption } from './command.ts';
import { table } from './table.ts';

const states: readonly DeliveryState[] = ['waiting', 'delivered', 'failed'];

export const webhooksList: Command = {
  name: 'webhook list',
  args: [],
  summary: 'List webhook endpoints and the newest deliveries.',
  options: {
    store: { value: 'ID', help: 'only endpoints and deliveries of this store' },
    session: { value: 'ID', help: 'only deliveries of this session' },
    state: { value: states.join('|'), help: 'only deliveries in this state' },
    limit: { value: 'N', help: 'at most N deliveries (50)' },
  },
  async run(input, { database }) {
    const storeId = textOption(input, 'store');
    const sessionId = textOption(input, 'session');
    const state = textOption(input, 'state') && choiceOption(input, 'state', states);
    const limit = wholeOption(input, 'limit', 1, 1000, 50);
    const endpoints = await database.endpoints.list(storeId ?? null);
    const deliveries = await database.deliveries.list({
      limit,
      ...(storeId && { storeId }),
      ...(sessionId && { sessionId }),
      ...(state && { state }),
    });
    return {
      json: { endpoints: endpoints.map(endpointJson), deliveries: deliveries.map(shownDelivery) },
      lines: [
        ...table([
          ['ENDPOINT', 'STORE', 'MODE', 'STATE', 'URL'],
          ...endpoints.map((one) => [one.id, one.storeId, one.mode, one.disabledReason ?? 'enabled', one.url]),
        ]),
        '',
        ...table([
          ['DELIVERY', 'EVENT', 'SESSION', 'STATE', 'ATTEMPTS', 'NEXT', 'LAST'],
          ...deliveries.map((one) => [
            one.id,
            one.eventType,
            one.sessionId,
            one.state,
            String(one.attempts),
            moment(one.dueAtMs),
            String(one.lastStatus ?? one.lastError ?? '-'),
          ]),
        ]),
      ],
    };
  },
};

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
