/** Webhook endpoints: added with a secret of their own, changed, removed; and the secrets that sign, rotated. */
import { STORE_ENDPOINTS_MAX } from '../core/endpoint.ts';
import { type ExtendedEventType, extendedEvents } from '../core/event.ts';
import type { Mode } from '../core/transfer.ts';
import type { Database } from '../database/database.ts';
import type { Endpoint, RotationOutcome, RotationStep, WebhookSecret } from '../database/endpoints.ts';
import { RESEND_PACE_MS } from '../database/events.ts';
import { newWebhookSecret } from '../lib/id.ts';
import {
  type Context,
  defineAct,
  type Fact,
  type Field,
  isRefusal,
  oneOf,
  type Refusal,
  refuse,
  type Sentence,
  say,
  textOf,
} from './act.ts';
import { modeField, modes, modeWords, readMode } from './keys.ts';
import { storeField, storeOf } from './stores.ts';
import { parseTime } from './times.ts';

const URL_CHARS_MAX = 2_048;

function readEvents(text: string): readonly ExtendedEventType[] | Sentence {
  const names = text === 'none' ? [] : text.split(',').flatMap((name) => name.trim() || []);
  const unknown = names.find((name) => !extendedEvents.some((event) => event === name));
  if (unknown !== undefined) {
    return say('"{name}" is no event to add, expected {events}', { name: unknown, events: extendedEvents.join(', ') });
  }
  return extendedEvents.filter((event) => names.includes(event));
}

const eventsField = {
  label: say('More events'),
  help: `comma-separated: ${extendedEvents.join(', ')}; or none`,
  value: 'LIST',
  isList: true,
  offers: Object.fromEntries(extendedEvents.map((event) => [event, null])),
  read: readEvents,
} as const satisfies Field;
const eventsText = (events: readonly ExtendedEventType[]) => events.join(', ') || say('none');
export const endpointField = {
  label: say('Endpoint'),
  help: 'its id, we_…',
  isArgument: true,
} as const satisfies Field;

/** Returns an endpoint for programs. */
export const endpointJson = (one: Endpoint) => ({
  id: one.id,
  store: one.storeId,
  mode: one.mode,
  url: one.url,
  extended_events: one.extendedEvents,
  per_session: one.perSession,
  ...(one.dialect && { dialect: one.dialect, pid: one.pid }),
  disabled_reason: one.disabledReason,
  created_at: textOf({ atMs: one.createdAtMs }),
});

export const unknownEndpoint = (id: string): Refusal =>
  refuse('not_found', say('there is no endpoint {id}; `quayside webhook list` shows all', { id }));

/** Returns the endpoint that the page, or the operator, may change. */
export async function endpointOf({ database, scope }: Context, id: string): Promise<Endpoint | Refusal> {
  const all = await database.endpoints.list(scope?.storeId ?? null);
  return all.find((one) => one.id === id && (!scope || one.mode === scope.mode)) ?? unknownEndpoint(id);
}

export const addEndpoint = defineAct({
  name: 'webhook add',
  summary: 'Send a store’s events of one mode to a URL, and print the secret that signs them.',
  needs: 'webhooks:manage',
  asks: 'second factor',
  fields: {
    url: {
      label: say('URL'),
      help: 'where events are sent',
      isArgument: true,
      charsMax: URL_CHARS_MAX,
      example: 'https://shop.example/quayside',
    },
    store: storeField,
    mode: modeField('the mode of the events to send'),
    events: eventsField,
  },
  async plan(context, { url, store: storeId, mode, events = [] }) {
    const store = await storeOf(context, storeId);
    if (isRefusal(store)) return store;
    const id = `we_${context.newId}`;
    const plan = { id, url, storeId: store.id, mode, events };
    const own = (await context.database.endpoints.list(store.id)).filter(
      ({ perSession, dialect }) => !perSession && dialect === null,
    );
    if (own.some((one) => one.id === id)) return plan;
    if (own.length >= STORE_ENDPOINTS_MAX) {
      return refuse(
        'refused',
        say('A store has at most {count} endpoints. Remove one first.', { count: STORE_ENDPOINTS_MAX }),
      );
    }
    const why = await context.checkWebhookUrl(url, mode);
    return why === null ? plan : refuse('usage', say('That URL cannot be used: {why}', { why }));
  },
  review: ({ id, url, mode, events }) => ({
    title: say('Send events there?'),
    target: id,
    facts: [
      [say('URL'), url],
      [say('Mode'), modeWords[mode]],
      [say('More events'), eventsText(events)],
    ],
    button: say('Add the endpoint'),
  }),
  async run({ database, act, issue, nowMs }, { id, url, storeId, mode, events }) {
    if (await database.endpoints.find(id)) {
      const said = say('This endpoint was added already. Its secret was shown then.');
      return { said, json: { id }, isRepeated: true };
    }
    const endpoint = { ...issue.endpoint(storeId, mode, url, events, nowMs), id };
    const added = await database.endpoints.add(endpoint, act);
    if (added.kind === 'other_mode') {
      return refuse(
        'refused',
        say('That URL already receives events of the other mode. Use a URL of its own for each mode.'),
      );
    }
    return {
      ...shownOnce(endpoint.secret),
      json: { ...endpointJson(added.endpoint), webhook_secret: endpoint.secret },
      next: `webhook test ${id}`,
    };
  },
});

const shownOnce = (secret: string) => ({
  made: say('The endpoint’s secret'),
  said: say('Save it now: it is not shown again.'),
  facts: [[say('Secret'), { code: secret }]] satisfies Fact[],
});

const onOff = ['on', 'off'] as const;
const readOnOff = oneOf(onOff);

export const setEndpoint = defineAct({
  name: 'webhook set',
  summary: 'Enable or disable an endpoint, or change the events that it gets.',
  needs: 'webhooks:manage',
  fields: {
    endpoint: endpointField,
    events: eventsField,
    state: {
      label: say('State'),
      help: 'whether events are sent to it',
      choices: onOff,
      offers: { on: say('enabled'), off: say('disabled') },
      read: readOnOff,
    },
  },
  async plan(context, { endpoint: id, events, state }) {
    const endpoint = await endpointOf(context, id);
    if (isRefusal(endpoint)) return endpoint;
    if (events === undefined && state === undefined) return refuse('usage', say('Say what to change.'));
    const isSame = (state === 'on') === (endpoint.disabledAtMs === null);
    const isKept = events === undefined || events.join() === endpoint.extendedEvents.join();
    // A form says all that it shows; a command enables again what is enabled.
    const isChanged = state !== undefined && !(isSame && context.scope);
    return { endpoint, events: isKept ? null : events, isOn: isChanged ? state === 'on' : null };
  },
  asks: ({ isOn }) => (isOn === null ? 'nothing' : 'confirmation'),
  review: ({ endpoint: { id, url }, events, isOn }) => ({
    title: isOn === false ? say('Disable the endpoint?') : say('Enable the endpoint?'),
    target: id,
    facts: events === null ? [] : [[say('More events'), eventsText(events)]],
    notes: [
      ...(isOn === true ? [say('What waits for {url} is sent now.', { url })] : []),
      ...(isOn === false ? [say('Nothing is sent to {url} until it is enabled; its events wait.', { url })] : []),
    ],
    button: isOn === false ? say('Disable') : say('Enable'),
  }),
  async run({ database, act, nowMs }, { endpoint: { id }, events, isOn }) {
    if (events !== null) await database.endpoints.setEvents(id, events, act);
    const why = isOn ? null : `disabled by ${act.operator}`;
    if (isOn !== null) await database.endpoints.enable(id, isOn, why, nowMs, act);
    const now = await database.endpoints.find(id);
    if (!now) return unknownEndpoint(id);
    const saved = events === null ? say('Nothing was changed.') : say('The events are saved.');
    const said = isOn === null ? saved : isOn ? say('It is enabled.') : say('It is disabled.');
    return { said, json: endpointJson(now) };
  },
});

export const removeEndpoint = defineAct({
  name: 'webhook remove',
  summary: 'Remove an endpoint; deliveries that wait for it are not sent.',
  needs: 'webhooks:manage',
  asks: 'second factor',
  fields: { endpoint: endpointField },
  plan: (context, { endpoint }) => endpointOf(context, endpoint),
  review: ({ id, url }) => ({
    title: say('Remove the endpoint?'),
    target: id,
    notes: [say('Nothing is sent to {url} any more, also not what waits for it. Its secret ends.', { url })],
    button: say('Remove'),
    isDangerous: true,
  }),
  async run({ database, act }, { id }) {
    const isRemoved = await database.endpoints.remove(id, act);
    return isRemoved ? { said: say('The endpoint is removed.'), json: { removed: true } } : unknownEndpoint(id);
  },
});

/** How far back failed deliveries are sent again. */
const spans: Readonly<Record<string, Sentence>> = {
  '1h': say('the last hour'),
  '6h': say('the last 6 hours'),
  '24h': say('the last day'),
  '3d': say('the last 3 days'),
  '7d': say('the last week'),
};

/** `count`: how many deliveries failed since; null for what is sent again whether it failed or not. */
type ResendPlan = Readonly<{
  which: Parameters<Database['deliveries']['resend']>[0];
  target: string;
  count: number | null;
  span: Sentence | string;
}>;

export const resendWebhooks = defineAct({
  name: 'webhook resend',
  summary: 'Send a delivery again now; with --since, what failed or is being retried, paced and in order.',
  needs: 'webhooks:resend',
  fields: {
    what: { label: say('Delivery'), help: 'a delivery, or an endpoint', isArgument: 'optional' },
    since: {
      label: say('Since'),
      help: 'from this time on: `2h`, `3d`, `2026-11-23` or `2026-11-23T10:00:00Z` (UTC)',
      value: 'TIME',
      offers: spans,
    },
  },
  async plan(context, { what, since }): Promise<ResendPlan | Refusal> {
    if (since === undefined) return what === undefined ? needsSince : planOne(context, what);
    const { database, nowMs, scope } = context;
    const endpoint = what === undefined ? null : await endpointOf(context, what);
    if (endpoint !== null && isRefusal(endpoint)) return endpoint;
    const sinceMs = parseTime(since, nowMs);
    if (!(sinceMs >= 0 && sinceMs <= nowMs)) {
      const because = say('“{since}” is no time in the past, such as 2h, 3d or 2026-11-23T10:00:00Z.', { since });
      return { ...refuse('usage', because), field: 'since' };
    }
    const which = { sinceMs, endpointId: endpoint?.id ?? null };
    const count = await database.deliveries.resend(which, nowMs, { isDryRun: true });
    if (count === 0 && scope) return refuse('refused', say('Nothing failed in that time.'));
    return { which, target: endpoint?.id ?? 'every endpoint', count, span: spans[since] ?? since };
  },
  asks: ({ count }) => (count === null ? 'nothing' : 'confirmation'),
  review: ({ target, count, span }) => ({
    title: count === null ? say('Send it again?') : say('Send {count} deliveries again?', { count }),
    target,
    notes:
      count === null
        ? []
        : [
            say(
              'Of {span}: everything that failed for good, or waits after a failure, oldest first, over {seconds} s. Delivered events are not sent again.',
              { span, seconds: secondsOf(count) },
            ),
          ],
    button: say('Send them again'),
  }),
  async run({ database, nowMs, act }, { which, target, count: planned }) {
    const count = await database.deliveries.resend(which, nowMs, { act });
    const json = { deliveries: count, ...(planned === null ? { due: count > 0 } : { seconds: secondsOf(count) }) };
    if (planned !== null) return { said: say('{count} deliveries are sent again.', { count }), json };
    return count > 0
      ? { said: say('It is sent again now.'), json, next: `show ${target}` }
      : refuse('refused', say('Its endpoint was removed.'));
  },
});

const secondsOf = (count: number): number => Math.ceil((count * RESEND_PACE_MS) / 1000);

const needsSince = { ...refuse('usage', say('Say from when on, such as 2h.')), field: 'since' };

/** Plans to send one delivery, whatever its state. */
async function planOne({ database, scope }: Context, id: string): Promise<ResendPlan | Refusal> {
  if (id.startsWith('we_')) return needsSince;
  const [delivery] = await database.deliveries.list({ id, limit: 1 });
  const event = delivery && (await database.events.find(delivery.eventId));
  const isOurs = event && (!scope || (event.storeId === scope.storeId && event.mode === scope.mode));
  if (!isOurs) {
    return refuse(
      'not_found',
      say('there is no delivery {id}; `quayside show` with its endpoint, event or session shows it', { id }),
    );
  }
  return { which: { deliveryId: id }, target: id, count: null, span: '' };
}

const steps = ['start', 'finish'] as const;
const readStep = oneOf(steps);
type Step = RotationStep['kind'];

type SecretPlan = Readonly<{ secret: WebhookSecret; mode: Mode; step: RotationStep | null }>;

const stepWords: Readonly<Record<Step, Readonly<{ title: Sentence; note: Sentence; button: Sentence }>>> = {
  start: {
    title: say('Make a new secret?'),
    note: say(
      'Both secrets are valid until you finish: `webhook-signature` then holds a signature with each, `X-Service-Signature` is made with the old one.',
    ),
    button: say('Make a new secret'),
  },
  finish: {
    title: say('End the old secret?'),
    note: say(
      'From now on everything is signed with the new secret alone. A receiver that knows only the old one refuses every event.',
    ),
    button: say('End the old secret'),
  },
};

export const rotateSecret = defineAct({
  name: 'webhook secret',
  summary: 'Print the secret that signs for an endpoint, or replace it: both are valid until the end of the rotation.',
  needs: 'webhooks:manage',
  asks: 'second factor',
  fields: {
    endpoint: { label: say('Endpoint'), help: 'an endpoint, or a store', isArgument: true },
    mode: {
      label: say('Mode'),
      help: 'of a store, which has a secret for each mode (live)',
      choices: modes,
      read: readMode,
    },
    rotate: {
      label: say('Rotation'),
      help: 'start a rotation, or finish it',
      isArgument: 'optional',
      choices: steps,
      read: readStep,
    },
  },
  async plan(context, { endpoint: owner, mode = 'live', rotate }): Promise<SecretPlan | Refusal> {
    if (context.scope) {
      const own = await endpointOf(context, owner);
      if (isRefusal(own)) return own;
    }
    const secret = await context.database.endpoints.findSecret(owner, mode);
    if (!secret) return refusalOf(owner, (await context.database.endpoints.find(owner))?.dialect ? 'door' : 'unknown');
    if (rotate === undefined) return { secret, mode, step: null };
    const step: RotationStep = rotate === 'start' ? { kind: rotate, secret: newWebhookSecret() } : { kind: rotate };
    const tried = await context.database.endpoints.rotateSecret({
      id: owner,
      mode,
      step,
      act: context.act,
      isDryRun: true,
    });
    return tried.kind === 'done' ? { secret, mode, step } : refusalOf(owner, tried.kind);
  },
  review({ secret, step }) {
    const words = step && stepWords[step.kind];
    return {
      title: words?.title ?? say('Show the secret'),
      target: secret.owner,
      notes: words ? [words.note] : [],
      button: words?.button ?? say('Show the secret'),
    };
  },
  async run({ database, act }, { secret, mode, step }) {
    const { owner } = secret;
    if (step === null) return { said: say('It signs for {owner}.', { owner }), ...shownSecrets(secret) };
    const done = await database.endpoints.rotateSecret({ id: owner, mode, step, act, isDryRun: false });
    if (done.kind !== 'done') return refusalOf(owner, done.kind);
    const shown = shownSecrets(done.secret);
    return step.kind === 'start'
      ? { ...shownOnce(step.secret), json: shown.json, next: `webhook secret ${owner} finish` }
      : { said: say('One secret is valid now.'), json: shown.json };
  },
});

const shownSecrets = ({ owner, mode, secret, nextSecret, rotatedAtMs }: WebhookSecret) => ({
  json: {
    owner,
    mode,
    webhook_secret: secret,
    next_webhook_secret: nextSecret,
    rotated_at: rotatedAtMs === null ? null : textOf({ atMs: rotatedAtMs }),
  },
  facts: [
    [say('Secret'), { code: secret }],
    ...(nextSecret === null ? [] : [[say('Next secret'), { code: nextSecret }] as const]),
  ] satisfies Fact[],
});

/** Says why nothing of a secret was changed. */
function refusalOf(owner: string, kind: Exclude<RotationOutcome['kind'], 'done'>): Refusal {
  switch (kind) {
    case 'unknown':
      return refuse(
        'not_found',
        say('there is no endpoint or store {owner}; `quayside webhook list` and `quayside status` show them', {
          owner,
        }),
      );
    case 'one_off':
      return refuse(
        'refused',
        say('Single sessions have named {owner}, and the secret of its store signs for it: rotate that one.', {
          owner,
        }),
      );
    case 'door':
      return refuse('refused', say('The key of a door is shown once. Add another door, and remove this one.'));
    case 'under_way':
      return refuse('refused', say('A new secret was made already.'));
    case 'not_under_way':
      return refuse('refused', say('No rotation is under way.'));
  }
}
