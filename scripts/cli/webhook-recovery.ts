/**
 * Sends again what did not arrive.
 */
import { eventIdAt } from '../../src/core/event.ts';
import { RECOVERY_PACE_MS, type RecoveryBatch, type RecoveryCursor } from '../../src/database/redelivery.ts';
import { type Answer, type Command, type Input, type Installation, moment, notFound, usage } from './command.ts';
import { openProgress } from './output.ts';
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
    `one every ${RECOVERY_PACE_MS} ms. Without an endpoint: of all endpoints. What was delivered is not sent again.`,
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
  if (isEvent) {
    const deliveries = (await database.deliveries.resendEvent(id, nowMs)) ?? [];
    return {
      json: { id, due: true, deliveries },
      lines: [`${deliveries.length} deliveries of ${id} are due now; ${shown}`],
    };
  }
  await database.deliveries.resend(id, nowMs);
  return { json: { id, due: true }, lines: [`${id} is due now; ${shown}`] };
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
  const first: RecoveryCursor = { eventId: eventIdAt(Math.floor(sinceMs / 1000)), endpointId: '' };
  const step = { nowMs, isDryRun };
  const again = await inBatches(first, (at) => database.deliveries.recoverSome({ ...step, ...at, endpointId }));
  const seconds = Math.ceil((again * RECOVERY_PACE_MS) / 1000);
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

/** Does one batch after the other, with progress. @returns how many deliveries were found */
async function inBatches(
  first: RecoveryCursor,
  doBatch: (at: Readonly<{ after: RecoveryCursor; position: number }>) => Promise<RecoveryBatch>,
): Promise<number> {
  let found = 0;
  let after: RecoveryCursor | null = first;
  const line = openProgress();
  try {
    while (after !== null) {
      line.show(`${found} deliveries so far, looking at those since ${momentOf(after.eventId)}`);
      const batch = await doBatch({ after, position: found });
      found += batch.found;
      after = batch.next;
    }
  } finally {
    line.end();
  }
  return found;
}

/** Returns when an event happened, which its id says. */
const momentOf = (eventId: string): string => moment(Number(BigInt(eventId.slice('evt_'.length)) / 1_000_000n));

const unknownEndpoint = (id: string) => notFound(`there is no endpoint ${id}; \`quayside webhook list\` shows all`);
