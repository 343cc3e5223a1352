/** A delivery's page: each attempt with its answer, the body, and a button that sends it again. */
import { resendWebhooks } from '../../acts/webhooks.ts';
import type { Attempt } from '../../database/events.ts';
import { type Html, html } from '../../lib/html.ts';
import { facts, list, section } from '../../web/list.ts';
import { formOf, pageWith } from '../act-form.ts';
import type { DashboardDeps } from '../deps.ts';
import { deliveryState } from '../endpoints.ts';
import { type Page, pathIn, type Reply, type StoreAt, type Visit } from '../page.ts';
import { data, plainText, time } from '../show.ts';
import type { Words } from '../texts.ts';

const PATH = '/s/:store/:mode/webhooks/deliveries/:delivery';

const resending = formOf(resendWebhooks, { path: `${PATH}/resend`, fills: { what: 'delivery' } });

export const deliveryPages = (deps: DashboardDeps): readonly Page[] =>
  pageWith(deps, { path: PATH, needs: 'webhooks:read', answer: (visit) => deliveryPage(deps, visit) }, [resending]);

/** Returns the delivery that the path names, with its event; null where the store has none in this mode. */
async function findDelivery({ database }: DashboardDeps, { at, params }: Visit<StoreAt>) {
  const [delivery] = await database.deliveries.list({ id: params.delivery ?? '', limit: 1 });
  const event = delivery ? await database.events.find(delivery.eventId) : null;
  return delivery && event?.storeId === at.storeId && event.mode === at.mode ? { delivery, event } : null;
}

async function deliveryPage(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Reply> {
  const found = await findDelivery(deps, visit);
  if (!found) return null;
  const { at, words } = visit;
  const { delivery, event } = found;
  const { endpointId, dueAtMs } = delivery;
  const attempts = attemptTable(words, await deps.database.deliveries.attempts(delivery.id));
  const resend = resending.show(visit, { button: words.say('Send it again'), look: 'main' });
  const described = facts([
    [words.say('Event'), html`<code>${event.id}</code>`],
    [words.say('Created'), time(event.createdAtMs)],
    [words.say('Payment'), html`<a href="${pathIn(at, `payments/${event.sessionId}`)}">${data(event.sessionId)}</a>`],
    [words.say('Endpoint'), html`<a href="${pathIn(at, `webhooks/${endpointId}`)}">${data(endpointId)}</a>`],
    dueAtMs === null ? null : [words.say('Next try'), time(dueAtMs)],
  ]);
  // The bytes that are sent have no line breaks; this is for reading.
  const body = html`<pre tabindex="0"><code>${JSON.stringify(JSON.parse(event.body), null, 2)}</code></pre>`;
  return {
    title: words.say('Event {event}', { event: event.type }),
    content: html`<p><a href="${pathIn(at, 'webhooks')}">${words.say('All webhooks')}</a></p>
${section('state', deliveryState(words, delivery), html`${described}${resend}`)}
${section('attempts', words.say('Attempts'), attempts, 'plain')}
${section('body', words.say('What is sent'), body)}`,
  };
}

const attemptTable = (words: Words, attempts: readonly Attempt[]): Html =>
  list<Attempt>({
    caption: words.say('Attempts'),
    columns: [
      [words.say('Started'), ({ startedAtMs }) => time(startedAtMs)],
      [words.say('Took'), ({ durationMs }) => data(`${durationMs} ms`), 'number'],
      [words.say('Result'), ({ status, error }) => data(status ?? error ?? '–'), 'lead'],
      [
        words.say('Answer'),
        ({ responseExcerpt: excerpt }) => (excerpt === null ? '–' : html`<code>${plainText(excerpt)}</code>`),
      ],
    ],
    rows: attempts,
    empty: words.say('It was not tried yet.'),
  });
