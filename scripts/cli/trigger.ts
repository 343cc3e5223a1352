/**
 * Triggers a test event, to try a handler without paying.
 * @module
 */
import { eventTypes } from '../../src/core/event.ts';
import { type Command, storeOf, storeOption, textOption, usage } from './command.ts';

export const trigger: Command = {
  name: 'trigger',
  args: ['type'],
  summary: 'Send a test event to the endpoints of test mode and to `quayside listen`, without a payment.',
  options: {
    store: storeOption,
    session: { value: 'ID', help: 'the test session that it is about (the newest)' },
    override: { value: 'LIST', help: 'comma-separated fields of data.object, such as order_id=order-7,amount=500' },
  },
  notes: [
    `Types: ${eventTypes.join(', ')}.`,
    'The event has `"triggered": true` and `"livemode": false`. Nothing else changes: the session stays as it is.',
  ],
  async run(input, { database, clock }) {
    const type = eventTypes.find((one) => one === input.args[0]);
    if (!type) throw usage(`there is no event type "${input.args[0]}", expected ${eventTypes.join(', ')}`);
    const overrides = readOverrides(textOption(input, 'override'));
    const { id: storeId } = await storeOf(input, database);
    const sessionId = textOption(input, 'session') ?? null;
    const { id, body } = await database.triggerEvent({ storeId, sessionId, type, overrides, nowMs: clock.nowMs() });
    return { json: { id, body }, lines: [body, `\`quayside show ${id}\` shows where it was sent`] };
  },
};

function readOverrides(text: string | undefined): Record<string, string> {
  if (text === undefined) return {};
  return Object.fromEntries(
    text.split(',').map((pair) => {
      const [, name, value] = /^\s*(\w+)=(.*)$/s.exec(pair) ?? [];
      if (name === undefined || value === undefined) throw usage(`--override has "${pair}", expected name=value`);
      return [name, value];
    }),
  );
}
