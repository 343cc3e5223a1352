/**
 * What people do about webhooks: add, change, disable and remove endpoints, test them, rotate their secrets, and send
 * again what failed.
 */
import { sendErrors } from '../../core/delivery.ts';
import { STORE_ENDPOINTS_MAX } from '../../core/endpoint.ts';
import { eventIdAt, extendedEvents } from '../../core/event.ts';
import type { Mode } from '../../core/transfer.ts';
import type { Database } from '../../database/database.ts';
import type { Endpoint } from '../../database/endpoints.ts';
import { RECOVERY_PACE_MS, type RecoveryCursor } from '../../database/redelivery.ts';
import type { RotationOutcome, RotationStep } from '../../database/webhook-secrets.ts';
import { type Html, html } from '../../lib/html.ts';
import { newWebhookSecret } from '../../lib/id.ts';
import { type Planned, storeChange } from '../change.ts';
import { actOf, type DashboardDeps, type TestAnswer } from '../deps.ts';
import { idOfForm } from '../once.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';
import { badge, copyCode, data, facts, plainText } from '../show.ts';
import { findEndpoint, storeEndpoints } from '../store-endpoints.ts';
import type { Words } from '../texts.ts';
import { endpointPage, eventsText, findDelivery, recoverySpans, webhooksPage, webhooksPath } from './webhooks.ts';

const HOUR_S = 3600;

type PlanOf = (deps: DashboardDeps, visit: Visit<StoreAt>, endpoint: Endpoint) => Promise<Planned>;

export const webhookChanges = (deps: DashboardDeps): readonly StorePage[] => [
  storeChange(deps, {
    path: '/s/:store/:mode/webhooks',
    needs: 'webhooks:manage',
    plan: (visit) => planEndpoint(deps, visit),
  }),
  storeChange(deps, {
    path: '/s/:store/:mode/webhooks/deliveries/:delivery/resend',
    needs: 'webhooks:resend',
    plan: (visit) => planResend(deps, visit),
  }),
  ...(
    [
      ['test', 'webhooks:resend', planTest],
      ['recover', 'webhooks:manage', planRecovery],
      ['secret', 'webhooks:manage', planSecret],
      ['events', 'webhooks:manage', planEvents],
      ['enable', 'webhooks:manage', planEnabling],
      ['remove', 'webhooks:manage', planRemoval],
    ] as const
  ).map(([act, needs, planOf]) =>
    storeChange(deps, {
      path: `/s/:store/:mode/webhooks/:endpoint/${act}`,
      needs,
      async plan(visit) {
        const endpoint = await findEndpoint(deps, visit);
        return endpoint && planOf(deps, visit, endpoint);
      },
    }),
  ),
];

const pathOf = (at: StoreAt, { id }: Pick<Endpoint, 'id'>): string => `${webhooksPath(at)}/${id}`;

const chosenEvents = ({ form }: Visit<StoreAt>) => extendedEvents.filter((name) => form[name] === 'on');

const shownOnce = ({ at, words }: Visit<StoreAt>, id: string, secret: string): Reply => ({
  title: words.say('webhook-changes.secret_title'),
  content: html`<section class="card"><p class="message attention">${words.say('webhook-changes.save_now')}</p>
${facts([[words.say('general.secret'), copyCode(secret)]])}
<p class="hint">${words.html('webhook-changes.checks')}</p>
<p><a class="button" href="${pathOf(at, { id })}">${words.say('webhook-changes.saved')}</a></p></section>`,
});

async function planEndpoint(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
  const { at, form, visitor, nowMs, words } = visit;
  const url = (form.url ?? '').trim();
  const id = `we_${idOfForm(visitor, form.once, nowMs)}`;
  const isMade: Reply = { to: pathOf(at, { id }), said: words.say('webhook-changes.made_already') };
  if (await deps.database.findEndpoint(id)) return isMade;
  const again = (fault: Html | string) => webhooksPage(deps, visit, fault);
  const ofMode = (mode: Mode) => storeEndpoints(deps.database, { ...at, mode }, STORE_ENDPOINTS_MAX);
  const all = [...(await ofMode('live')), ...(await ofMode('test'))];
  if (all.length >= STORE_ENDPOINTS_MAX) {
    return again(words.say('webhook-changes.too_many', { count: STORE_ENDPOINTS_MAX }));
  }
  const refusal = await deps.checkWebhookUrl(url, at.mode);
  if (refusal !== null) return again(data(refusal));
  const events = chosenEvents(visit);
  return {
    command: 'add webhook endpoint',
    target: id,
    review: {
      title: words.say('webhook-changes.add_title'),
      consequence: facts([
        [words.say('general.url'), data(url)],
        [words.say('frame.mode'), words.say(`general.mode_${at.mode}`)],
        [words.say('general.events'), eventsText(events)],
      ]),
      button: words.say('webhook-changes.add_button'),
      back: webhooksPath(at),
      needsSudo: true,
    },
    async act(database) {
      const endpoint = { ...deps.issue.endpoint(at.storeId, at.mode, url, events, nowMs), id };
      const added = await database.addEndpoint(endpoint);
      if (added.kind === 'added') return shownOnce(visit, id, endpoint.secret);
      return again(words.say('webhook-changes.other_mode'));
    },
  };
}

async function planResend(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
  const found = await findDelivery(deps, visit);
  if (!found) return null;
  const { delivery } = found;
  const path = `${webhooksPath(visit.at)}/deliveries/${delivery.id}`;
  return {
    command: 'resend webhook',
    target: delivery.id,
    review: null,
    async act(database) {
      const isDue = await database.resendDelivery(delivery.id, visit.nowMs);
      return {
        to: path,
        said: visit.words.say(isDue ? 'webhook-changes.resent' : 'webhook-changes.endpoint_removed'),
      };
    },
  };
}

/** Sends outside of the database's turn: the endpoint may take long to answer. */
const planTest: PlanOf = async (deps, visit, endpoint) => {
  const sent = await deps.sendTestEvent(endpoint);
  if (!sent) return null;
  const after = { answer: sent.status ?? sent.error ?? 'none' };
  const act = actOf(visit.visitor.person, 'send test webhook', deps.clock);
  await deps.database.audit.record(act, { target: endpoint.id, before: null, after });
  return testPage(visit, endpoint, sent);
};

const noneOr = (words: Words, value: string | number | null): Html | string =>
  value === null ? words.say('general.none') : data(value);

/** Says what a failed test means, and what to do next. */
const adviceOn = (words: Words, { isDelivered, status, error }: TestAnswer): Html | null => {
  if (isDelivered) return null;
  if (status !== null) return html`<p>${words.html('webhook-changes.error_status', { status })}</p>`;
  const known = sendErrors.find((one) => one === error);
  return known === undefined ? null : html`<p>${words.html(`webhook-changes.error_${known}`)}</p>`;
};

const testPage = ({ at, words }: Visit<StoreAt>, endpoint: Endpoint, sent: TestAnswer): Reply => ({
  title: words.say('webhook-changes.test_title'),
  content: html`<section class="card" aria-labelledby="result"><h2 id="result">${sent.isDelivered ? badge(words.say('general.delivery_delivered'), 'good') : badge(words.say('webhook-changes.not_delivered'), 'danger')}</h2>
${adviceOn(words, sent)}${facts([
  [words.say('general.url'), data(endpoint.url)],
  [words.say('webhooks.answer'), noneOr(words, sent.status)],
  [words.say('general.took'), data(`${sent.durationMs} ms`)],
  ...(sent.detail === null ? [] : [[words.say('webhook-changes.why'), data(plainText(sent.detail))] as const]),
  ...(sent.answer === null
    ? []
    : [[words.say('webhook-changes.it_said'), html`<code>${plainText(sent.answer)}</code>`] as const]),
])}<p><a href="${pathOf(at, endpoint)}">${words.say('webhook-changes.back')}</a></p></section>`,
});

/** Goes through all deliveries of an endpoint since a time. @returns how many were found */
async function recover(
  database: Database,
  input: Readonly<{ endpointId: string; sinceS: number; nowMs: number; isDryRun: boolean }>,
): Promise<number> {
  const { endpointId, sinceS, nowMs, isDryRun } = input;
  let found = 0;
  let after: RecoveryCursor | null = { eventId: eventIdAt(sinceS), endpointId: '' };
  while (after !== null) {
    const batch = await database.recoverSome({ endpointId, after, position: found, nowMs, isDryRun });
    found += batch.found;
    after = batch.next;
  }
  return found;
}

const planRecovery: PlanOf = async (deps, visit, endpoint) => {
  const { at, form, nowMs, words } = visit;
  const hours = recoverySpans.find((one) => one === form.hours);
  if (!hours) return endpointPage(deps, visit, endpoint, words.say('webhook-changes.choose_span'));
  const input = { endpointId: endpoint.id, sinceS: Math.floor(nowMs / 1000) - Number(hours) * HOUR_S, nowMs };
  const count = await recover(deps.database, { ...input, isDryRun: true });
  if (count === 0) return endpointPage(deps, visit, endpoint, words.say('webhook-changes.nothing_failed'));
  return {
    command: 'recover webhooks',
    target: endpoint.id,
    review: {
      title: words.say('webhook-changes.recover_title', { count }),
      consequence: html`<p>${words.say('webhook-changes.recover_text', {
        span: words.say(`webhooks.span_${hours}`),
        seconds: Math.ceil((count * RECOVERY_PACE_MS) / 1000),
      })}</p>`,
      button: words.say('webhook-changes.recover_button'),
      back: pathOf(at, endpoint),
      needsSudo: false,
    },
    async act(database) {
      const found = await recover(database, { ...input, isDryRun: false });
      return { to: pathOf(at, endpoint), said: words.say('webhook-changes.recovered', { count: found }) };
    },
  };
};

const stepTexts = {
  start: { title: 'webhook-changes.start_title', button: 'webhooks.start', says: 'webhook-changes.start_says' },
  finish: {
    title: 'webhook-changes.finish_title',
    button: 'webhook-changes.finish_button',
    says: 'webhook-changes.finish_says',
  },
  cancel: {
    title: 'webhook-changes.cancel_title',
    button: 'webhook-changes.cancel_button',
    says: 'webhook-changes.cancel_says',
  },
} as const satisfies Readonly<Record<RotationStep['kind'], unknown>>;

const planSecret: PlanOf = async (deps, visit, endpoint) => {
  const { at, form, words } = visit;
  const kind = (['start', 'finish', 'cancel'] as const).find((one) => one === form.step);
  if (!kind) return endpointPage(deps, visit, endpoint, words.say('webhook-changes.choose_step'));
  const { title, button, says } = stepTexts[kind];
  const rotation: RotationStep = kind === 'start' ? { kind, secret: newWebhookSecret() } : { kind };
  return {
    command: `${kind} secret rotation`,
    target: endpoint.id,
    review: {
      title: words.say(title),
      consequence: html`<p>${words.html(says)}</p>`,
      button: words.say(button),
      back: pathOf(at, endpoint),
      needsSudo: true,
    },
    async act(database, act) {
      const input = { id: endpoint.id, mode: endpoint.mode, step: rotation, act, isDryRun: false };
      const done: RotationOutcome = await database.rotateWebhookSecret(input);
      if (done.kind !== 'done') {
        const isUnderWay = done.kind === 'under_way';
        const said = words.say(isUnderWay ? 'webhook-changes.rotation_begun' : 'webhook-changes.no_rotation');
        return { to: pathOf(at, endpoint), said };
      }
      if (rotation.kind === 'start') return shownOnce(visit, endpoint.id, rotation.secret);
      return { to: pathOf(at, endpoint), said: words.say('webhook-changes.rotated') };
    },
  };
};

const planEvents: PlanOf = async (_deps, visit, endpoint) => ({
  command: 'change webhook events',
  target: endpoint.id,
  review: null,
  async act(database) {
    await database.setEndpointEvents(endpoint.id, chosenEvents(visit));
    return { to: pathOf(visit.at, endpoint), said: visit.words.say('webhook-changes.events_saved') };
  },
});

const planEnabling: PlanOf = async (_deps, { at, form, visitor, nowMs, words }, endpoint) => {
  const isOn = form.step === 'on';
  return {
    command: isOn ? 'enable webhook endpoint' : 'disable webhook endpoint',
    target: endpoint.id,
    review: {
      title: words.say(isOn ? 'webhook-changes.enable_title' : 'webhook-changes.disable_title'),
      consequence: html`<p>${words.html(isOn ? 'webhook-changes.enable_text' : 'webhook-changes.disable_text', {
        url: html`<code>${endpoint.url}</code>`,
      })}</p>`,
      button: words.say(isOn ? 'webhooks.enable' : 'webhooks.disable'),
      back: pathOf(at, endpoint),
      needsSudo: false,
    },
    async act(database) {
      await database.enableEndpoint(endpoint.id, isOn, isOn ? null : `disabled by ${visitor.person.name}`, nowMs);
      return {
        to: pathOf(at, endpoint),
        said: words.say(isOn ? 'webhook-changes.is_enabled' : 'webhook-changes.is_disabled'),
      };
    },
  };
};

const planRemoval: PlanOf = async (_deps, { at, words }, endpoint) => ({
  command: 'remove webhook endpoint',
  target: endpoint.id,
  review: {
    title: words.say('webhook-changes.remove_title'),
    consequence: html`<p>${words.html('webhook-changes.remove_text', { url: html`<code>${endpoint.url}</code>` })}</p>`,
    button: words.say('general.remove'),
    back: pathOf(at, endpoint),
    needsSudo: true,
    typed: new URL(endpoint.url).host,
    isDangerous: true,
  },
  async act(database) {
    await database.removeEndpoint(endpoint.id);
    return { to: webhooksPath(at), said: words.say('webhook-changes.removed') };
  },
});
