/** One endpoint: how it does, its last deliveries, and what people do about it. */
import { type Refusal, refuse, type Sentence, say } from '../../acts/act.ts';
import { removeEndpoint, resendWebhooks, rotateSecret, setEndpoint } from '../../acts/webhooks.ts';
import { sendErrors } from '../../core/delivery.ts';
import type { Endpoint } from '../../database/endpoints.ts';
import { RECENT_EVENTS, type ShownHealth, WAITING_COUNTED_MAX } from '../../database/events.ts';
import { type Html, html } from '../../lib/html.ts';
import { facts, list, section } from '../../web/list.ts';
import { browserAct, formOf, pageWith } from '../act-form.ts';
import type { DashboardDeps, TestAnswer } from '../deps.ts';
import { failingText, findEndpoint } from '../endpoints.ts';
import { may, type Page, pathIn, type Reply, type StoreAt, type Visit } from '../page.ts';
import { badge, data, plainText, time } from '../show.ts';
import type { Words } from '../texts.ts';
import { alwaysSent, deliveryColumns, eventsText, LOOK_MAX, secretHint } from './webhooks.ts';

const RECENT_SHOWN = 20;
const PATH = '/s/:store/:mode/webhooks/:endpoint';

/** An endpoint's answer to a test event. */
type TestPlan = Readonly<{ endpoint: Endpoint; sent: TestAnswer | null }>;

const testEndpoint = browserAct({
  name: 'webhook test',
  needs: 'webhooks:resend',
  fields: { endpoint: { label: say('Endpoint'), isArgument: true } },
  async plan({ database, visit: { at } }, { endpoint: id }): Promise<TestPlan | Refusal> {
    const endpoint = at && (await findEndpoint(database, at, id));
    return endpoint ? { endpoint, sent: null } : gone;
  },
  target: ({ endpoint }) => endpoint.id,
  async before({ deps }, { endpoint }) {
    const sent = await deps.sendTestEvent(endpoint);
    return sent ? { endpoint, sent } : gone;
  },
  async run({ database, act }, { endpoint, sent }) {
    if (!sent) return gone;
    const { isDelivered, status, error, detail, answer, durationMs } = sent;
    const entry = { target: endpoint.id, before: null, after: { answer: status ?? error ?? 'none' } };
    await database.audit.record(act, entry);
    return {
      made: say('Test event'),
      said: adviceOn(sent),
      json: {},
      facts: [
        [say('State'), say(isDelivered ? 'general.delivery_delivered' : 'not delivered')],
        [say('URL'), endpoint.url],
        [say('Answer'), status ?? say('none')],
        [say('Took'), `${durationMs} ms`],
        ...(detail === null ? [] : [[say('What happened'), plainText(detail)] as const]),
        ...(answer === null ? [] : [[say('It said'), plainText(answer)] as const]),
      ],
    };
  },
});

const gone = refuse('not_found', say('Its endpoint was removed.'));

/** Says what an answer to a test means, and what to do next. */
function adviceOn({ isDelivered, status, error }: TestAnswer): Sentence {
  if (isDelivered) return say('general.delivery_delivered');
  if (status !== null) return say('webhook-changes.error_status', { status: String(status) });
  const known = sendErrors.find((one) => one === error);
  return say(known === undefined ? 'not delivered' : `webhook-changes.error_${known}`);
}

const testing = formOf(testEndpoint, { path: `${PATH}/test` });
const recovering = formOf(resendWebhooks, {
  ...{ path: `${PATH}/recover`, fills: { what: 'endpoint' }, inputs: ['since'], needs: 'webhooks:manage' },
});
const rotating = formOf(rotateSecret, { path: `${PATH}/secret`, inputs: ['rotate'], below: secretHint });
const changing = formOf(setEndpoint, { path: `${PATH}/change`, inputs: ['events', 'state'] });
const removing = formOf(removeEndpoint, { path: `${PATH}/remove`, back: '/s/:store/:mode/webhooks' });

export const endpointPages = (deps: DashboardDeps): readonly Page[] =>
  pageWith(deps, { path: PATH, needs: 'webhooks:read', answer: (visit) => endpointPage(deps, visit) }, [
    ...[testing, recovering, rotating, changing, removing],
  ]);

async function endpointPage({ database }: DashboardDeps, visit: Visit<StoreAt>): Promise<Reply> {
  const { at, params, words } = visit;
  const endpoint = await findEndpoint(database, at, params.endpoint ?? '');
  const health = endpoint && (await database.endpoints.health(endpoint.id));
  if (!endpoint || !health) return null;
  const secret = await database.endpoints.findSecret(endpoint.id, endpoint.mode);
  const search = { endpointId: endpoint.id, state: null };
  const page = { after: null, limit: RECENT_SHOWN, lookMax: LOOK_MAX };
  const { deliveries } = await database.deliveries.ofStore(at, search, page);
  const table = list({
    caption: words.say('Deliveries'),
    columns: deliveryColumns(visit, null),
    rows: deliveries,
    empty: words.say('Nothing was sent to it yet.'),
  });
  const test = testing.show(visit, { button: words.say('Send a test event') });
  return {
    title: words.say('Endpoint'),
    content: html`<p><a href="${pathIn(at, 'webhooks')}">${words.say('All webhooks')}</a></p>
${section('url', data(endpoint.url), html`${healthFacts(words, endpoint, health)}${test}`)}
${section('recent', words.say('Recent deliveries'), table, 'plain')}
${may(visit, 'webhooks:manage') ? manageForms(visit, endpoint, (secret?.nextSecret ?? null) !== null) : null}`,
  };
}

function stateOf(words: Words, { recent, failingSinceMs, disabledAtMs, disabledReason }: ShownHealth): Html {
  if (disabledAtMs !== null) {
    return words.html('{state} since {time}: {reason}. Its events wait.', {
      state: badge(words.say('disabled'), 'attention'),
      time: time(disabledAtMs),
      reason: disabledReason === null ? html`${words.say('by a person')}` : data(disabledReason),
    });
  }
  if (failingSinceMs !== null) return failingText(words, failingSinceMs);
  return recent.some(({ attempts, state }) => attempts > 0 || state === 'delivered')
    ? badge(words.say('answers'), 'good')
    : badge(words.say('not tested yet'), 'wait');
}

function healthFacts(words: Words, { id, extendedEvents: more }: Endpoint, health: ShownHealth): Html {
  const { recent, waiting } = health;
  const countOf = (state: string) => recent.filter((one) => one.state === state).length;
  return facts([
    [words.say('State'), stateOf(words, health)],
    [words.say('Endpoint id'), html`<code>${id}</code>`],
    [words.say('Events'), eventsText(more)],
    [
      words.say('Of the last {count} events', { count: RECENT_EVENTS }),
      words.say('{delivered} delivered, {failed} failed for good', {
        delivered: countOf('delivered'),
        failed: countOf('failed'),
      }),
    ],
    [
      words.say('Waiting'),
      waiting < WAITING_COUNTED_MAX ? String(waiting) : words.say('{count} or more', { count: WAITING_COUNTED_MAX }),
    ],
  ]);
}

function manageForms(visit: Visit<StoreAt>, endpoint: Endpoint, isRotating: boolean): Html {
  const { words } = visit;
  const step = (rotate: string, button: string) => rotating.show(visit, { button, given: { rotate } });
  const secret = isRotating
    ? html`<p>${words.say('Two secrets are valid. Once your shop checks the new one, finish.')}</p><div class="actions">${step('finish', words.say('Finish: only the new secret'))}
${step('cancel', words.say('Cancel: keep the old secret'))}</div>`
    : html`<p>${words.say('A new secret is shown once; both are valid until you finish.')}</p>${step('start', words.say('Make a new secret'))}`;
  const recover = recovering.show(visit, { button: words.say('Go on'), texts: { since: '24h' } });
  const change = changing.show(visit, {
    button: words.say('Save'),
    texts: { events: endpoint.extendedEvents.join(','), state: endpoint.disabledAtMs === null ? 'on' : 'off' },
    above: alwaysSent(words),
  });
  return html`${section('recover', words.say('Send again what failed'), html`${recover}`)}
${section('secret', words.say('Secret'), secret)}
${section(
  'change',
  words.say('Change it'),
  html`${change}${removing.show(visit, { button: words.say('Remove') })}
<p class="hint">${words.say('For another URL, add it and then remove this one.')}</p>`,
)}`;
}
