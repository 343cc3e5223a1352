/**
 * The OpenAPI 3.1 document, made from the endpoints and the schemas they check requests with.
 * @module
 */
import { OpenAPIRegistry, OpenApiGeneratorV31, type RouteConfig } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import { readShipped } from '../lib/installation.ts';
import type { Endpoint } from './endpoint.ts';
import { type ErrorCode, errorBody, errorTable, errorTypes, refuse } from './errors.ts';
import { exampleSession } from './examples.ts';
import { healthSchema } from './health.ts';
import { eventDocs, webhookHeadersSchema } from './webhook-events.ts';

const packageInfo = readShipped<{ version: string; license: string }>('package.json');

export type OpenApiDocument = ReturnType<OpenApiGeneratorV31['generateDocument']>;

export const errorSchema = z
  .object({
    error: z.object({
      type: z.enum(errorTypes),
      code: z.string().meta({ description: 'Stable; what programs branch on.' }),
      message: z.string().meta({ description: 'For people; the words may change.' }),
      param: z.string().optional().meta({ description: 'The field or header at fault.' }),
      doc_url: z.string(),
      server_time: z.int().optional().meta({ description: 'Unix seconds; with `timestamp_out_of_range` only.' }),
    }),
    request_id: z.string().meta({ description: 'Also in the `Request-Id` header.' }),
    timestamp: z.int().meta({ description: 'Unix seconds.' }),
  })
  .meta({ id: 'Error' });

/** What every signed request may meet, and what every request with a body may meet as well. */
const signedErrors: readonly ErrorCode[] = [
  'missing_header',
  'invalid_api_key',
  'timestamp_out_of_range',
  'invalid_signature',
  'invalid_nonce',
  'nonce_reused',
  'FORBIDDEN',
  'insufficient_scope',
  'store_not_approved',
  'rate_limited',
  'internal_error',
  'storage_unavailable',
];
const postErrors: readonly ErrorCode[] = [
  'body_too_large',
  'invalid_content_type',
  'invalid_json',
  'invalid_parameter',
];

const securitySchemes = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    description: '`Authorization: Bearer <API key>`. Keys start with sk_live_ or sk_test_.',
  },
  timestamp: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Service-Timestamp',
    description: 'Unix time in seconds, within 300 seconds of the server clock.',
  },
  nonce: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Service-Nonce',
    description: '8 to 128 visible ASCII characters without a dot, never used before with this key. A UUID will do.',
  },
  signature: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Service-Signature',
    description:
      'HMAC-SHA256 in hex of timestamp + "." + nonce + "." + the exact body (nothing for GET or an empty body), keyed with the secret of the API key.',
  },
} as const;

const sharedHeaders = {
  'X-Merchant-Id': z.string().optional().meta({ description: 'If sent, it must be the merchant of the API key.' }),
  'Service-Version': z.string().optional().meta({ description: 'Comes back unchanged; decides nothing.' }),
};

const idempotencyHeader = {
  'Idempotency-Key': z.string().max(255).optional().meta({
    description: 'The same key on the same path returns the first success for 24 hours.',
  }),
};

const answerHeaders = z.object({ 'Request-Id': z.string().meta({ description: 'Names this request in the log.' }) });

const replayHeaders = answerHeaders.extend({
  'Idempotent-Replayed': z
    .literal('true')
    .optional()
    .meta({ description: 'An earlier identical request did the work.' }),
});

/** @param baseUrl public base URL without a trailing slash */
export function openApiDocument(endpoints: readonly Endpoint[], baseUrl: string): OpenApiDocument {
  const registry = new OpenAPIRegistry();
  const security = [
    Object.fromEntries(
      Object.entries(securitySchemes).map(([name, scheme]) => [
        registry.registerComponent('securitySchemes', name, scheme).name,
        [],
      ]),
    ),
  ];
  for (const endpoint of endpoints) registry.registerPath({ ...operation(endpoint, baseUrl), security });
  for (const path of healthPaths) registry.registerPath(path);
  for (const doc of eventDocs) registry.registerWebhook(webhook(doc));
  return new OpenApiGeneratorV31(registry.definitions).generateDocument({
    openapi: '3.1.0',
    info: {
      title: 'Quayside merchant API',
      version: packageInfo.version,
      description: 'Take USDT and USDC from your own nodes to your own addresses. Amounts are integers in minor units.',
      license: { name: packageInfo.license, identifier: packageInfo.license },
    },
    servers: [{ url: baseUrl }],
  });
}

function operation({ method, path, scope, status = 200, renames = {}, doc }: Endpoint, baseUrl: string): RouteConfig {
  const params = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, z.string()] as const);
  const isPost = method === 'post';
  return {
    method,
    path,
    operationId: doc.operationId,
    tags: [doc.tag],
    summary: doc.summary,
    description: `${doc.description} Scope: \`${scope}\`.`,
    request: {
      ...(params.length > 0 && { params: z.object(Object.fromEntries(params)) }),
      headers: z.object({ ...sharedHeaders, ...(isPost && idempotencyHeader) }),
      ...(doc.body && { body: { required: true, content: json(doc.body.schema, doc.body.examples) } }),
    },
    responses: {
      [status]: {
        description: 'Success.',
        headers: isPost ? replayHeaders : answerHeaders,
        content: json(doc.answer.schema, doc.answer.examples),
      },
      ...refusals(
        [...doc.errors, ...(isPost ? postErrors : []), ...signedErrors].map((code) => renames[code] ?? code),
        baseUrl,
      ),
    },
  };
}

/** One response per status, naming the codes that come with it. */
function refusals(codes: readonly ErrorCode[], baseUrl: string): RouteConfig['responses'] {
  const statuses = new Map<number, Set<ErrorCode>>();
  for (const code of codes) {
    const { status } = errorTable[code];
    statuses.set(status, (statuses.get(status) ?? new Set()).add(code));
  }
  return Object.fromEntries(
    [...statuses]
      .sort(([a], [b]) => a - b)
      .map(([status, of]) => [
        status,
        {
          description: [...of].map((code) => `\`${code}\``).join(', '),
          headers: answerHeaders,
          content: json(errorSchema, Object.fromEntries([...of].map((code) => [code, exampleError(code, baseUrl)]))),
        },
      ]),
  );
}

const exampleError = (code: ErrorCode, baseUrl: string) =>
  errorBody(refuse(code), { requestId: 'req_01kaj8xq2m7v5c9t3w6e1r4y0p', baseUrl, nowS: exampleSession.created });

function json(schema: z.ZodType, examples: Readonly<Record<string, unknown>>) {
  const named = Object.entries(examples).map(([name, value]) => [name, { value }]);
  return { 'application/json': { schema, examples: Object.fromEntries(named) } };
}

const healthPaths: readonly RouteConfig[] = [
  {
    method: 'get',
    path: '/livez',
    tags: ['Health'],
    summary: 'The process answers',
    responses: { 200: { description: 'Alive.', content: json(healthSchema, { ok: { status: 'ok' } }) } },
  },
  {
    method: 'get',
    path: '/readyz',
    tags: ['Health'],
    summary: 'The process can do its work',
    responses: {
      200: { description: 'Ready.', content: json(healthSchema, { ok: { status: 'ok' } }) },
      503: {
        description: 'Not ready.',
        content: json(healthSchema, { draining: { status: 'unavailable', reasons: ['draining'] } }),
      },
    },
  },
];

function webhook({ type, meaning, schema, example }: (typeof eventDocs)[number]): RouteConfig {
  return {
    method: 'post',
    path: type,
    tags: ['Webhooks'],
    summary: meaning,
    request: {
      headers: webhookHeadersSchema,
      body: { required: true, content: json(schema, { event: example }) },
    },
    responses: {
      '2XX': { description: 'Delivered. Answer within 30 seconds; `{"received": true}` is the customary body.' },
      '4XX': { description: 'Not tried again, except 429. 410 switches the endpoint off.' },
      '5XX': {
        description:
          'Tried again, as after a timeout: up to 10 times, after 2 minutes and then twice as long each time.',
      },
    },
  };
}
