/**
 * Sends again what did not arrive.
 */
import { RESEND_PACE_MS } from '../../src/database/deliveries.ts';
import { type Answer, type Command, type Input, type Installation, moment, notFound, usage } from './command.ts';
import { readSince, sinceOption } from './since.ts';

export const webhooksResend: Command = {
  name: 'webhook resend',
  args: [],
  optionalArgs: ['delivery|event|endpoint'],
  summary: 'Send a delivery or an event again now; with --since, what failed or is being retried, paced and in order.',
  options: {
    since: sinceOption,
    'dry-run': { help: 'say how much would be sent, and change nothing' },
  },
  notes: [
    'A delivery (`dlv_…`) is sent whatever its state; of an event (`evt_…`), every delivery.',
    '--since: every delivery since then that failed for good or waits after a failure starts a new schedule, oldest event first,',
    `one every ${RESEND_PACE_MS} ms. Without an endpoint: of all endpoints. What was delivered is not sent again.`,
    'An endpoint gets the events from its addition on; the API has earlier ones (GET /api/v1/events).',
  ],
  async run(input, installation) {
    const [id] = input.args;
    if (input.options.since !== undefined) return resendSince(input, id ?? null, installation);
    if (id === undefined || id.startsWith('we_'))
      throw usage('--since is missing: say from when on, such as --since 2h');
    return resendOne(id, input.options['dry-run'] === true, installation);
  },
};

/** Makes a delivery, or all of an event, due now. */
async function resendOne(id: string, isDryRun: boolean, { database, clock }: Installation): Promise<Answer> {
  const isEvent = id.startsWith('evt_');
  const found = isEvent ? await database.events.find(id) : (await database.deliveries.list({ id, limit: 1 }))[0];
  if (!found)
    throw notFound(`there is no ${isEvent ? 'event' : 'delivery'} ${id}; \`quayside webhook list\` shows the newest`);
  if (isDryRun)
    return { json: { id, due: false, dry_run: true }, lines: [`${id} would be sent again; nothing was changed`] };
  const nowMs = clock.nowMs();
  const shown = `\`quayside show ${id}\` shows the result`;
  const deliveries = await database.deliveries.resend(isEvent ? { eventId: id } : { deliveryId: id }, nowMs);
  const what = isEvent ? `${deliveries} deliveries of ${id} are due` : `${id} is due`;
  return { json: { id, due: deliveries > 0, deliveries }, lines: [`${what} now; ${shown}`] };
}

/** Sends again what did not arrive since a time. */
async function resendSince(
  input: Input,
  endpointId: string | null,
  { database, clock }: Installation,
): Promise<Answer> {
  const nowMs = clock.nowMs();
  const sinceMs = readSince(input, nowMs);
  if (sinceMs === null) throw usage('--since is missing');
  const health = endpointId === null ? null : await database.endpoints.health(endpointId);
  if (endpointId !== null && health === null) throw unknownEndpoint(endpointId);
  const isDryRun = input.options['dry-run'] === true;
  const again = await database.deliveries.resend({ sinceMs, endpointId }, nowMs, isDryRun);
  const seconds = Math.ceil((again * RESEND_PACE_MS) / 1000);
  const verb = isDryRun ? 'would be' : 'are';
  const isOff = (health?.disabledAtMs ?? null) !== null;
  return {
    json: {
      endpoint: endpointId,
      since: moment(sinceMs),
      deliveries: again,
      dry_run: isDryRun,
      seconds,
    },
    lines: [
      `${again} deliveries ${verb} sent again, over ${seconds} s${isDryRun ? '; nothing was changed' : ''}`,
      ...(isOff ? [`${endpointId} is disabled: \`quayside webhook set ${endpointId} --state on\` starts them`] : []),
    ],
  };
}

const unknownEndpoint = (id: string) => notFound(`there is no endpoint ${id}; \`quayside webhook list\` shows all`);
