/**
 * What people do about webhooks: add, change, disable and remove endpoints, test them, rotate their secrets, and send
 * again what failed.
 * @module
 */
import { eventIdAt, extendedEvents } from '../../core/event.ts';
import type { Database, Endpoint } from '../../database/database.ts';
import { RECOVERY_PACE_MS, type RecoveryCursor } from '../../database/redelivery.ts';
import type { RotationOutcome, RotationStep } from '../../database/webhook-secrets.ts';
import { html } from '../../lib/html.ts';
import { newWebhookSecret } from '../../lib/id.ts';
import { type Planned, type Review, storeChange } from '../change.ts';
import { actOf, type DashboardDeps, type TestAnswer } from '../deps.ts';
import { idOfForm } from '../once.ts';
import type { Reply, StoreAt, StorePage, Visit } from '../page.ts';
import { badge, facts, plainText } from '../show.ts';
import { endpointPage, findDelivery, findEndpoint, recoverySpans, webhooksPage, webhooksPath } from './webhooks.ts';

const ENDPOINTS_MAX = 20;
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

const shownOnce = (at: StoreAt, id: string, secret: string): Reply => ({
  title: 'The endpoint’s secret',
  content: html`<section class="card"><p class="message attention">Save it now: it is not shown again.</p>
${facts([['Secret', html`<code>${secret}</code>`]])}
<p class="hint">Your shop checks <code>X-Service-Signature</code> or <code>webhook-signature</code> with it.</p>
<p><a class="button" href="${pathOf(at, { id })}">I have saved it</a></p></section>`,
});

async function planEndpoint(deps: DashboardDeps, visit: Visit<StoreAt>): Promise<Planned> {
  const { at, form, visitor, nowMs } = visit;
  const url = (form.url ?? '').trim();
  const id = `we_${idOfForm(visitor, form.once, nowMs)}`;
  const all = await deps.database.listEndpoints(at.storeId);
  const isMade: Reply = { to: pathOf(at, { id }), said: 'This endpoint was added already. Its secret was shown then.' };
  if (all.some((one) => one.id === id)) return isMade;
  const again = (fault: string) => webhooksPage(deps, visit, fault);
  if (all.filter(({ perSession }) => !perSession).length >= ENDPOINTS_MAX) {
    return again(`A store has at most ${ENDPOINTS_MAX} endpoints. Remove one first.`);
  }
  const refusal = await deps.checkWebhookUrl(url, at.mode);
  if (refusal !== null) return again(refusal);
  const events = chosenEvents(visit);
  return {
    command: 'add webhook endpoint',
    target: id,
    review: {
      title: 'Send events there?',
      consequence: facts([
        ['URL', url],
        ['Mode', at.mode],
        ['Events', ['the usual ones', ...events].join(', ')],
      ]),
      button: 'Add the endpoint',
      back: webhooksPath(at),
      needsSudo: true,
    },
    async act(database) {
      const endpoint = { ...deps.issue.endpoint(at.storeId, at.mode, url, events, nowMs), id };
      const added = await database.addEndpoint(endpoint);
      if (added.kind === 'added') return shownOnce(at, id, endpoint.secret);
      return again('That URL already receives events of the other mode. Use a URL of its own for each mode.');
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
        said: isDue ? 'It is sent again now. Reload to see the answer.' : 'Its endpoint was removed.',
      };
    },
  };
}

/** Sends outside of the database's turn: the endpoint may take long to answer. */
const planTest: PlanOf = async (deps, { at, visitor }, endpoint) => {
  const sent = await deps.sendTestEvent(endpoint);
  if (!sent) return null;
  const after = { answer: sent.status ?? sent.error ?? 'none' };
  const act = actOf(visitor.person, 'send test webhook', deps.clock);
  await deps.database.recordAct(act, { target: endpoint.id, before: null, after });
  return testPage(at, endpoint, sent);
};

const testPage = (at: StoreAt, endpoint: Endpoint, sent: TestAnswer): Reply => ({
  title: 'Test event',
  content: html`<section class="card" aria-labelledby="result"><h2 id="result">${sent.isDelivered ? badge('delivered', 'good') : badge('not delivered', 'danger')}</h2>
${facts([
  ['URL', endpoint.url],
  ['Answer', String(sent.status ?? sent.error ?? 'none')],
  ['Took', `${sent.durationMs} ms`],
  ...(sent.detail === null ? [] : [['Why', plainText(sent.detail)] as const]),
  ...(sent.answer === null ? [] : [['It said', html`<code>${plainText(sent.answer)}</code>`] as const]),
])}<p><a href="${pathOf(at, endpoint)}">Back to the endpoint</a></p></section>`,
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
  const { at, form, nowMs } = visit;
  const span = recoverySpans.find(([hours]) => hours === form.hours);
  if (!span) return endpointPage(deps, visit, endpoint, 'Choose how far back.');
  const [hours, text] = span;
  const input = { endpointId: endpoint.id, sinceS: Math.floor(nowMs / 1000) - Number(hours) * HOUR_S, nowMs };
  const count = await recover(deps.database, { ...input, isDryRun: true });
  if (count === 0) return endpointPage(deps, visit, endpoint, 'Nothing failed in that time.');
  return {
    command: 'recover webhooks',
    target: endpoint.id,
    review: {
      title: `Send ${count} deliveries again?`,
      consequence: html`<p>Of ${text}: everything that failed for good, or waits after a failure, oldest first, over
${Math.ceil((count * RECOVERY_PACE_MS) / 1000)} s. What was delivered is not sent again.</p>`,
      button: 'Send them again',
      back: pathOf(at, endpoint),
      needsSudo: false,
    },
    async act(database) {
      const found = await recover(database, { ...input, isDryRun: false });
      return { to: pathOf(at, endpoint), said: `${found} deliveries are sent again.` };
    },
  };
};

const steps: Readonly<Record<RotationStep['kind'], Pick<Review, 'title' | 'button'> & Readonly<{ says: string }>>> = {
  start: {
    title: 'Make a new secret?',
    button: 'Make a new secret',
    says: 'Both secrets are valid until you finish: webhook-signature then holds a signature with each, X-Service-Signature is made with the old one.',
  },
  finish: {
    title: 'End the old secret?',
    button: 'End the old secret',
    says: 'From now on everything is signed with the new secret alone. A receiver that knows only the old one refuses every event.',
  },
  cancel: {
    title: 'Keep the old secret?',
    button: 'Keep the old secret',
    says: 'The new secret ends. A receiver that knows only the new one refuses every event.',
  },
};

const planSecret: PlanOf = async (deps, visit, endpoint) => {
  const { at, form } = visit;
  const kind = (['start', 'finish', 'cancel'] as const).find((one) => one === form.step);
  if (!kind) return endpointPage(deps, visit, endpoint, 'Choose what to do with the secret.');
  const { says, ...review } = steps[kind];
  const rotation: RotationStep = kind === 'start' ? { kind, secret: newWebhookSecret() } : { kind };
  return {
    command: `${kind} secret rotation`,
    target: endpoint.id,
    review: { ...review, consequence: html`<p>${says}</p>`, back: pathOf(at, endpoint), needsSudo: true },
    async act(database, act) {
      const input = { id: endpoint.id, mode: endpoint.mode, step: rotation, act, isDryRun: false };
      const done: RotationOutcome = await database.rotateWebhookSecret(input);
      if (done.kind !== 'done') {
        const isUnderWay = done.kind === 'under_way';
        const said = isUnderWay ? 'A new secret was made already.' : 'No rotation is under way.';
        return { to: pathOf(at, endpoint), said };
      }
      if (rotation.kind === 'start') return shownOnce(at, endpoint.id, rotation.secret);
      return { to: pathOf(at, endpoint), said: 'One secret is valid now.' };
    },
  };
};

const planEvents: PlanOf = async (_deps, visit, endpoint) => ({
  command: 'change webhook events',
  target: endpoint.id,
  review: null,
  async act(database) {
    await database.setEndpointEvents(endpoint.id, chosenEvents(visit));
    return { to: pathOf(visit.at, endpoint), said: 'The events are saved.' };
  },
});

const planEnabling: PlanOf = async (_deps, { at, form, visitor, nowMs }, endpoint) => {
  const isOn = form.step === 'on';
  return {
    command: isOn ? 'enable webhook endpoint' : 'disable webhook endpoint',
    target: endpoint.id,
    review: {
      title: isOn ? 'Enable the endpoint?' : 'Disable the endpoint?',
      consequence: isOn
        ? html`<p>What waits for <code>${endpoint.url}</code> is sent now.</p>`
        : html`<p>Nothing is sent to <code>${endpoint.url}</code> until it is enabled; its events wait.</p>`,
      button: isOn ? 'Enable' : 'Disable',
      back: pathOf(at, endpoint),
      needsSudo: false,
    },
    async act(database) {
      await database.enableEndpoint(endpoint.id, isOn, isOn ? null : `disabled by ${visitor.person.name}`, nowMs);
      return { to: pathOf(at, endpoint), said: isOn ? 'It is enabled.' : 'It is disabled.' };
    },
  };
};

const planRemoval: PlanOf = async (_deps, { at }, endpoint) => ({
  command: 'remove webhook endpoint',
  target: endpoint.id,
  review: {
    title: 'Remove the endpoint?',
    consequence: html`<p>Nothing is sent to <code>${endpoint.url}</code> any more, also not what waits for it. Its secret ends.</p>`,
    button: 'Remove',
    back: pathOf(at, endpoint),
    needsSudo: true,
    typed: new URL(endpoint.url).host,
    isDangerous: true,
  },
  async act(database) {
    await database.removeEndpoint(endpoint.id);
    return { to: webhooksPath(at), said: 'The endpoint is removed.' };
  },
});
