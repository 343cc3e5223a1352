/**
 * Shows how an endpoint does, and sends again what did not arrive.
 * @module
 */
import { refusalStatuses } from '../../src/core/endpoint.ts';
import { eventIdAt } from '../../src/core/event.ts';
import type { Attempt } from '../../src/database/database.ts';
import {
  RECENT_EVENTS,
  RECOVERY_PACE_MS,
  type RecoveryBatch,
  type RecoveryCursor,
  WAITING_COUNTED_MAX,
} from '../../src/database/redelivery.ts';
import { type Command, moment, notFound, usage } from './command.ts';
import { hairpinVerdict } from './hairpin.ts';
import { openProgressLine } from './progress.ts';
import { readSince, sinceOption } from './since.ts';
import { table } from './table.ts';

const ANSWERS_SHOWN = 5;
const TITLE_CHARACTERS_MAX = 100;

export const webhooksShow: Command = {
  name: 'webhooks show',
  args: ['endpoint'],
  summary: 'Show how an endpoint does: rate, failures, last answers, and what is wrong.',
  options: {},
  async run(input, { config, database }) {
    const id = input.args[0] ?? '';
    const health = await database.endpointHealth(id);
    if (!health) throw unknownEndpoint(id);
    const { recent, waiting, failingSinceMs, disabledAtMs, disabledReason, retiredAtMs, url, mode } = health;
    const countOf = (state: string) => recent.filter((one) => one.state === state).length;
    const [delivered, failed] = [countOf('delivered'), countOf('failed')];
    const tried = recent.filter(({ attempts, state }) => attempts > 0 || state === 'delivered').slice(0, ANSWERS_SHOWN);
    const answers: (Attempt & Readonly<{ eventType: string; wrong: string | null }>)[] = [];
    for (const { id: deliveryId, eventType } of tried) {
      const last = (await database.listAttempts(deliveryId)).at(-1);
      if (last) answers.push({ ...last, eventType, wrong: wrongWith(last) });
    }
    const rate = delivered + failed === 0 ? null : delivered / (delivered + failed);
    const waitingText = waiting < WAITING_COUNTED_MAX ? String(waiting) : `${WAITING_COUNTED_MAX} or more`;
    const isUnreachable = ['timeout', 'connect'].includes(answers[0]?.error ?? '');
    const hairpin = isUnreachable ? await hairpinVerdict(url, [config.baseUrl, config.checkoutUrl]) : null;
    const wrong = hairpin ?? answers[0]?.wrong ?? null;
    const again = refusalStatuses.includes(answers[0]?.status ?? 0)
      ? 'what it refuses is sent again once it accepts something newer, and one of it is tried from time to time'
      : `once it works, \`quayside webhooks recover ${id} --since 1d\` sends at once what failed or waits`;
    return {
      json: {
        id,
        url,
        mode,
        disabled_reason: disabledReason,
        retired_since: retiredAtMs === null ? null : moment(retiredAtMs),
        failing_since: failingSinceMs === null ? null : moment(failingSinceMs),
        recent: { delivered, failed, rate },
        waiting,
        wrong,
        answers: answers.map((one) => ({
          delivery: one.deliveryId,
          type: one.eventType,
          at: moment(one.startedAtMs),
          duration_ms: one.durationMs,
          status: one.status,
          error: one.error,
          wrong: one.wrong,
        })),
      },
      lines: [
        `${url} (${mode} mode)`,
        disabledAtMs !== null
          ? `disabled since ${moment(disabledAtMs)}: ${disabledReason ?? 'by the operator'}; \`quayside webhooks enable ${id}\` enables it`
          : failingSinceMs === null
            ? answers.length > 0
              ? 'its last answer was a success'
              : 'none of its recent events was tried yet'
            : `has accepted nothing since ${moment(failingSinceMs)}`,
        ...(retiredAtMs === null
          ? []
          : [`retired since ${moment(retiredAtMs)}: no session has named it for long; the next event ends that`]),
        `of the last ${RECENT_EVENTS} events: ${delivered} delivered, ${failed} failed for good${rate === null ? '' : ` (${Math.round(rate * 100)} % delivered)`}; waiting: ${waitingText}`,
        ...(wrong === null ? [] : [`what is wrong: ${wrong}`, again]),
        '',
        ...table([
          ['DELIVERY', 'EVENT', 'AT', 'TOOK', 'RESULT'],
          ...answers.map((one) => [
            one.deliveryId,
            one.eventType,
            moment(one.startedAtMs),
            `${one.durationMs} ms`,
            String(one.status ?? one.error ?? '-'),
          ]),
        ]),
      ],
      isBad: disabledAtMs !== null || failingSinceMs !== null,
    };
  },
};

const errorTexts: Readonly<Record<string, string>> = {
  timeout: 'it did not answer in time; a handler must answer before it does its work',
  tls: 'TLS failed: its certificate is invalid, has expired, or is for another name',
  dns: 'its name was not found; look at the DNS of the host',
  connect: 'no connection: nothing listens there, or a firewall drops it',
  blocked_address: 'its address is private, and not in webhooks.allow_cidrs',
  too_large: 'the headers of its answer are too large',
  http: 'what answers there is not HTTP',
};

/** Returns in words what is wrong with an answer; null for a success. */
export function wrongWith({
  status,
  error,
  responseExcerpt,
}: Pick<Attempt, 'status' | 'error' | 'responseExcerpt'>): string | null {
  if (status === null) return errorTexts[error ?? ''] ?? `no answer: ${error}`;
  if (status >= 200 && status < 300) return null;
  const title = titleOf(responseExcerpt);
  const page = title === null ? '' : `, with the page "${title}"`;
  if (status >= 300 && status < 400) return `it redirects (${status}): register the URL that it redirects to`;
  if (status === 401 || status === 403) {
    return title === null
      ? `it refuses (${status}): the handler’s check of the signature, or something before it`
      : `a firewall or login page answers (${status})${page}: let these requests through to the handler`;
  }
  if (status === 404 || status === 405) return `no handler at this URL takes a POST (${status})${page}`;
  if (status === 410) return `it says that it is gone (410)${page}`;
  if (status === 429) return 'it asks for fewer requests (429)';
  return status >= 500 ? `the handler or its server fails (${status})${page}` : `it refuses (${status})${page}`;
}

/** Returns the title of an HTML page without control characters, or null. */
function titleOf(excerpt: string | null): string | null {
  const [, title = ''] = /<title[^>]{0,200}>([^<]{1,500})/i.exec(excerpt ?? '') ?? [];
  const text = title
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
    .slice(0, TITLE_CHARACTERS_MAX);
  return text === '' ? null : text;
}

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
