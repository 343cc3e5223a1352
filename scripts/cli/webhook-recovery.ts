/**
 * Sends again what did not arrive.
 * @module
 */
import { eventIdAt } from '../../src/core/event.ts';
import { RECOVERY_PACE_MS, type RecoveryBatch, type RecoveryCursor } from '../../src/database/redelivery.ts';
import { type Command, moment, notFound, usage } from './command.ts';
import { openProgressLine } from './progress.ts';
import { readSince, sinceOption } from './since.ts';

export const webhooksRecover: Command = {
  name: 'webhooks recover',
  args: [],
  optionalArgs: ['endpoint'],
  summary: 'Send again what failed or is being retried, in order, at a pace that a shop can take.',
  options: {
    since: sinceOption,
    missing: { help: 'send the endpoint also the events that it never had, such as those from before it was added' },
    'dry-run': { help: 'say how many deliveries it would send, and change nothing' },
  },
  notes: [
    'Every delivery since then that failed for good or waits after a failure starts a new schedule, oldest event first,',
    `one every ${RECOVERY_PACE_MS} ms. Without an endpoint: of all endpoints. What was delivered is not sent again.`,
    'An endpoint gets the events from its addition on; --missing sends it earlier ones, and needs the endpoint.',
  ],
  async run(input, { database, clock }) {
    const endpointId = input.args[0] ?? null;
    const isMissing = input.options.missing === true;
    const nowMs = clock.nowMs();
    const sinceMs = readSince(input, nowMs);
    if (sinceMs === null) throw usage('--since is missing: say from when on, such as --since 2h');
    if (isMissing && endpointId === null) throw usage('--missing needs an endpoint: say which is to get the events');
    const health = endpointId === null ? null : await database.endpointHealth(endpointId);
    if (endpointId !== null && health === null) throw unknownEndpoint(endpointId);
    const isDryRun = input.options['dry-run'] === true;
    const first: RecoveryCursor = { eventId: eventIdAt(Math.floor(sinceMs / 1000)), endpointId: '' };
    const step = { nowMs, isDryRun };
    const again = await inBatches(first, 0, (at) => database.recoverSome({ ...step, ...at, endpointId }));
    let missing = 0;
    if (isMissing && endpointId !== null) {
      missing = await inBatches(first, again, async (at) => {
        const batch = await database.sendMissingSome({ ...step, ...at, endpointId });
        if (!batch) throw usage(`${endpointId} gets only events of sessions that named its URL: leave out --missing`);
        return batch;
      });
    }
    const seconds = Math.ceil(((again + missing) * RECOVERY_PACE_MS) / 1000);
    const verb = isDryRun ? 'would be' : 'are';
    const ofMissing = isMissing ? `, and ${missing} events that it never had ${verb} sent` : '';
    const isOff = (health?.disabledAtMs ?? null) !== null;
    const isLater = health !== null && !isMissing && health.createdAtMs > sinceMs;
    return {
      json: {
        endpoint: endpointId,
        since: moment(sinceMs),
        deliveries: again,
        missing: isMissing ? missing : null,
        dry_run: isDryRun,
        seconds,
      },
      lines: [
        `${again} deliveries ${verb} sent again${ofMissing}, over ${seconds} s${isDryRun ? '; nothing was changed' : ''}`,
        ...(isLater
          ? [`${endpointId} was added at ${moment(health.createdAtMs)}: --missing also sends it the events from before`]
          : []),
        ...(isOff ? [`${endpointId} is disabled: \`quayside webhooks enable ${endpointId}\` starts them`] : []),
      ],
    };
  },
};

/** Does one batch after the other, with progress. @param before how many were found already @returns how many now */
async function inBatches(
  first: RecoveryCursor,
  before: number,
  doBatch: (at: Readonly<{ after: RecoveryCursor; position: number }>) => Promise<RecoveryBatch>,
): Promise<number> {
  let found = 0;
  let after: RecoveryCursor | null = first;
  const line = openProgressLine(process.stderr);
  try {
    while (after !== null) {
      line.show(`${before + found} deliveries so far, looking at those since ${momentOf(after.eventId)}`);
      const batch = await doBatch({ after, position: before + found });
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

const unknownEndpoint = (id: string) => notFound(`there is no endpoint ${id}; \`quayside webhooks list\` shows all`);
