/** Sends one signed test event to an endpoint now, without a payment. */
import { permanent } from '../../src/core/fault.ts';
import { createUrlGuard } from '../../src/lib/guard.ts';
import { createSender } from '../../src/lib/sender.ts';
import { attemptLimits } from '../../src/webhooks/format.ts';
import { sendTestEvent, TEST_EVENT_TYPE } from '../../src/webhooks/test-event.ts';
import { type Command, notFound } from './command.ts';
import { wrongWith } from './show-webhook.ts';

export const webhooksTest: Command = {
  name: 'webhook test',
  args: '<endpoint>',
  summary: 'Send a signed test event to an endpoint now and show its answer.',
  notes: [
    `The event has the type \`${TEST_EVENT_TYPE}\`, the mode of the endpoint and no payment. It is sent once, also to an`,
    'endpoint that is disabled, and is not kept. The exit code is 1 unless the answer is 2xx.',
  ],
  async run(input, { config, database, clock }) {
    const id = String(input.args[0]);
    const endpoint = (await database.endpoints.list(null)).find((one) => one.id === id);
    if (endpoint?.dialect)
      throw permanent('refused', 'a door gets no test event: make a small order in the panel, and pay it');
    const sender = createSender(createUrlGuard(config.webhooks.allowCidrs), attemptLimits, clock);
    const sent = endpoint ? await sendTestEvent({ database, sender, clock }, endpoint) : null;
    sender.abort();
    if (!endpoint || !sent) throw notFound(`there is no endpoint ${id}; \`quayside webhook list\` shows all`);
    const { url, mode } = endpoint;
    const { eventId: event, status, error, durationMs, answer, detail, isDelivered: delivered } = sent;
    const wrong = wrongWith({ status, error, responseExcerpt: answer });
    return {
      json: { endpoint: id, url, mode, event, delivered, status, error, duration_ms: durationMs, answer, wrong },
      lines: [
        `${url} (${mode} mode) ${status === null ? 'gave no answer' : `answered ${status}`} after ${durationMs} ms`,
        ...(detail ? [detail] : []),
        ...(answer === null ? [] : [`answer: ${answer}`]),
        delivered ? 'delivered' : `not delivered, because the answer is not 2xx: ${wrong}`,
      ],
      isBad: !delivered,
    };
  },
};
