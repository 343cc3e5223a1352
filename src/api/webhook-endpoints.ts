/** Webhook endpoints by API, so that a plugin sets itself up: create, list, delete. */
import * as z from 'zod';
import { extendedEvents } from '../core/event.ts';
import { otherMode } from '../core/transfer.ts';
import type { OperatorAct } from '../database/audit-log.ts';
import type { Endpoint as WebhookEndpoint } from '../database/endpoints.ts';
import { toSeconds } from '../lib/clock.ts';
import { type ApiDeps, type Call, type Caller, type Endpoint, endpoint } from './endpoint.ts';
import { refuse } from './errors.ts';
import { examples } from './examples.ts';
import { replayOf } from './json.ts';
import { pageSchema } from './list.ts';
import { webhookUrl } from './session-input.ts';

const PATH = '/api/v1/webhook_endpoints';

const bodySchema = z
  .object({
    url: webhookUrl('Where events are sent: https, at a public host.'),
    extended_events: z
      .array(z.enum(extendedEvents, `must be one of ${extendedEvents.join(', ')}`), 'must be an array')
      .max(extendedEvents.length, `must have at most ${extendedEvents.length} items`)
      .nullish()
      .meta({ description: 'Events to send besides the usual ones; none by default.' }),
  })
  .meta({ id: 'CreateWebhookEndpoint' });

const fields = {
  object: z.literal('webhook_endpoint').meta({ description: 'Always `webhook_endpoint`.' }),
  id: z.string().meta({ description: 'The endpoint’s id.', example: examples.endpoint.id }),
};

const endpointSchema = z
  .object({
    ...fields,
    url: z.string().meta({ description: 'Where events are sent.' }),
    extended_events: z.array(z.enum(extendedEvents)).meta({ description: 'Events that are sent besides the usual.' }),
    enabled: z.boolean().meta({ description: 'False once it was disabled; its events wait.' }),
    disabled_reason: z.string().optional().meta({ description: 'Why it is disabled, for people.' }),
    created_at: z.int().meta({ description: 'Creation, Unix seconds.' }),
  })
  .meta({ id: 'WebhookEndpoint' });

const createdSchema = endpointSchema
  .extend({
    secret: z.string().meta({ description: 'Signs what is sent to the endpoint. Keep it: no other call shows it.' }),
  })
  .meta({ id: 'CreatedWebhookEndpoint' });

const deletedSchema = z
  .object({ ...fields, deleted: z.literal(true).meta({ description: 'Always true.' }) })
  .meta({ id: 'DeletedWebhookEndpoint' });

const shown = (one: WebhookEndpoint): z.infer<typeof endpointSchema> => ({
  object: 'webhook_endpoint',
  id: one.id,
  url: one.url,
  extended_events: [...one.extendedEvents],
  enabled: one.disabledAtMs === null,
  ...(one.disabledReason !== null && { disabled_reason: one.disabledReason }),
  created_at: toSeconds(one.createdAtMs),
});

/** Returns the endpoints of this part of the API; what they list, add and delete are endpoints of webhooks. */
export const webhookEndpointEndpoints = (deps: ApiDeps): readonly Endpoint[] => [
  createEndpoint(deps),
  listEndpoints(deps),
  deleteEndpoint(deps),
];

/** The actor, for the audit log. */
const actOf = ({ clock }: ApiDeps, { keyId }: Caller, command: string): OperatorAct => ({
  atMs: clock.nowMs(),
  operator: `API key ${keyId}`,
  command,
  reason: null,
});

const createEndpoint = (deps: ApiDeps): Endpoint =>
  endpoint({
    method: 'post',
    path: PATH,
    scope: 'webhooks:write',
    status: 201,
    operationId: 'createWebhookEndpoint',
    tag: 'Webhook endpoints',
    summary: 'Create a webhook endpoint',
    description:
      'Sends the events of the store and mode of the key to a URL, from now on. The answer has the secret that signs them, once. Send an `Idempotency-Key`: without one, a repeated call makes a second endpoint.',
    body: [bodySchema, examples.endpointBody],
    answer: [createdSchema, { ...examples.endpoint, secret: 'whsec_3q2+7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=' }],
    errors: ['too_many_endpoints', 'endpoint_not_found'],
    run: (call) => create(deps, call),
  });

async function create(deps: ApiDeps, call: Call<z.infer<typeof bodySchema>>) {
  const { caller, body } = call;
  const { storeId, mode } = caller;
  const { url } = body;
  const objection = await deps.checkWebhookUrl(url, mode);
  if (objection !== null) throw refuse('invalid_parameter', { param: 'url', message: objection });
  const events = extendedEvents.filter((event) => body.extended_events?.includes(event));
  const act = actOf(deps, caller, `POST ${PATH}`);
  const made = deps.issueEndpoint(storeId, mode, url, events, act.atMs);
  const outcome = await deps.database.endpoints.request(made, replayOf(call, { url, events }), act);
  switch (outcome.kind) {
    case 'added':
    case 'replayed':
      return {
        body: { ...shown(outcome.endpoint), secret: outcome.secret },
        replayed: outcome.kind === 'replayed',
      };
    case 'other_mode':
      throw refuse('invalid_parameter', {
        param: 'url',
        message: `url already receives events of ${otherMode(mode)} mode. Use a URL of its own for each mode.`,
      });
    case 'removed':
      throw refuse('endpoint_not_found', { message: 'This request made an endpoint that was deleted since.' });
    case 'too_many':
      throw refuse('too_many_endpoints');
    case 'idempotency_key_conflict':
      throw refuse(outcome.kind);
  }
}

/** A store has so few endpoints that they need no pages. */
const listEndpoints = ({ database }: ApiDeps): Endpoint =>
  endpoint({
    method: 'get',
    path: PATH,
    scope: 'webhooks:write',
    operationId: 'listWebhookEndpoints',
    tag: 'Webhook endpoints',
    summary: 'List webhook endpoints',
    description:
      'Returns the webhook endpoints of the store and mode of the key, newest first, without their secrets. URLs that single sessions named are not among them.',
    answer: [
      pageSchema('WebhookEndpointList', endpointSchema),
      { object: 'list', data: [examples.endpoint], has_more: false },
    ],
    async run({ caller: { storeId, mode } }) {
      const own = (await database.endpoints.ofStore({ storeId, mode })).filter(({ dialect }) => dialect === null);
      return { body: { object: 'list', data: own.toReversed().map(shown), has_more: false } };
    },
  });

const deleteEndpoint = (deps: ApiDeps): Endpoint =>
  endpoint({
    method: 'delete',
    path: `${PATH}/{endpoint_id}`,
    scope: 'webhooks:write',
    operationId: 'deleteWebhookEndpoint',
    tag: 'Webhook endpoints',
    summary: 'Delete a webhook endpoint',
    description: 'Sends nothing more to the endpoint, not even what waits for it. Takes no body.',
    answer: [deletedSchema, { object: 'webhook_endpoint', id: examples.endpoint.id, deleted: true }],
    async run({ caller, id }) {
      const act = actOf(deps, caller, `DELETE ${PATH}/{endpoint_id}`);
      const found = await deps.database.endpoints.find(id);
      const isOwn = found?.storeId === caller.storeId && found.mode === caller.mode && !found.perSession;
      if (!isOwn || found.dialect !== null || !(await deps.database.endpoints.remove(id, act)))
        throw refuse('endpoint_not_found');
      return { body: { object: 'webhook_endpoint', id, deleted: true } };
    },
  });
