/**
 * Sends one signed test event to an endpoint now, or an event of any type to all of test mode, without a payment.
 */

import { eventTypes } from '../../src/core/event.ts';
import { createUrlGuard } from '../../src/lib/guard.ts';
import { attemptLimits, createSender } from '../../src/webhooks/sender.ts';
import { sendTestEvent, TEST_EVENT_TYPE } from '../../src/webhooks/test-event.ts';
import {
  type Answer,
  type Command,
  type Input,
  type Installation,
  notFound,
  storeOf,
  storeOption,
  textOption,
  usage,
} from './command.ts';
import { wrongWith } from './show-webhook.ts';

export const webhooksTest: Command = {
  name: 'webhook test',
  args: [],
  optionalArgs: ['endpoint'],
  summary: 'Send a signed test event to an endpoint now and show its answer; with --event, to all of test mode.',
  options: {
    event: { choices: eventTypes, help: 'an event of this type goes to the endpoints of test mode' },
    store: storeOption,
    session: { value: 'ID', help: 'with --event: the test session that it is about (the newest)' },
    override: { value: 'LIST', help: 'with --event: fields of data.object, such as order_id=order-7,amount=500' },
  },
  notes: [
    `To an endpoint: the event has the type \`${TEST_EVENT_TYPE}\`, the mode of the endpoint and no payment. It is sent once,`,
    'also to an endpoint that is disabled, and is not kept. The exit code is 1 unless the answer is 2xx.',
    'With --event: it has `"triggered": true` and `"livemode": false`, and the session stays as it is.',
  ],
  async run(input, installation) {
    const [id] = input.args;
    const type = textOption(input, 'event');
    if ((id === undefined) === (type === undefined)) throw usage('name an endpoint, or an event with --event');
    return id === undefined ? triggered(input, installation) : tested(id, installation);
  },
};

/** Sends one event to an endpoint, and waits for its answer. */
async function tested(id: string, { config, database, clock }: Installation): Promise<Answer> {
  const endpoint = (await database.endpoints.list(null)).find((one) => one.id === id);
  const sender = createSender(createUrlGuard(config.webhooks.allowCidrs), attemptLimits, clock);
  const sent = endpoint ? await sendTestEvent({ database, sender, clock }, endpoint) : null;
  sender.abort();
  if (!endpoint || !sent) throw notFound(`there is no endpoint ${id}; \`quayside webhook list\` shows all`);
  const { url, mode } = endpoint;
  const { eventId, status, error, durationMs, answer, isDelivered } = sent;
  const wrong = wrongWith({ status, error, responseExcerpt: answer });
  return {
    json: {
      endpoint: id,
      url,
      mode,
      event: eventId,
      delivered: isDelivered,
      status,
      error,
      duration_ms: durationMs,
      answer,
      wrong,
    },
    lines: [
      `${url} (${mode} mode) ${status === null ? `gave no answer: ${error}` : `answered ${status}`} after ${durationMs} ms`,
      ...(sent.detail ? [sent.detail] : []),
      ...(answer === null ? [] : [`answer: ${answer}`]),
      ...(isDelivered
        ? ['delivered']
        : ['not delivered: an event is delivered when the answer is 2xx', `what is wrong: ${wrong}`]),
    ],
    isBad: !isDelivered,
  };
}

/** Makes an event of a type, which goes the way of real ones. */
async function triggered(input: Input, { database, clock }: Installation): Promise<Answer> {
  const type = eventTypes.find((one) => one === textOption(input, 'event'));
  if (!type) throw usage(`--event must be one of ${eventTypes.join(', ')}`);
  const overrides = readOverrides(textOption(input, 'override'));
  const { id: storeId } = await storeOf(input, database);
  const sessionId = textOption(input, 'session') ?? null;
  const { id, body } = await database.events.trigger({ storeId, sessionId, type, overrides, nowMs: clock.nowMs() });
  return { json: { id, body }, lines: [body, `\`quayside show ${id}\` shows where it was sent`] };
}

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
