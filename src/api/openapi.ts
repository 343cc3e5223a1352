/**
 * The OpenAPI 3.1 document, made from the endpoints and the schemas that check requests.
 */

import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { readShipped } from '../lib/installation.ts';
import { type Endpoint, idOf, tags } from './endpoint.ts';
import { type ErrorCode, errorBody, errorTable, errorTypes, refuse } from './errors.ts';
import { examples } from './examples.ts';
import type all from './openapi-parts.json';
import { eventDocs } from './webhook-events.ts';

const packageInfo = readShipped<{ version: string; license: string }>('package.json');

type Header = Readonly<{ schema: JsonSchema; required: boolean; description?: string | undefined }>;

/** JSON content with named examples. */
export type Content = Readonly<{
  'application/json': Readonly<{
    schema: JsonSchema;
    examples: Readonly<Record<string, Readonly<{ value: unknown }>>>;
  }>;
}>;

type Response = Readonly<{ description: string; headers?: Readonly<Record<string, Header>>; content?: Content }>;

export type Operation = Readonly<{
  operationId?: string;
  tags: readonly string[];
  summary: string;
  description?: string;
  security?: readonly Readonly<Record<string, readonly string[]>>[];
  parameters?: readonly (Header & Readonly<{ name: string; in: 'path' | 'query' | 'header' }>)[];
  requestBody?: Readonly<{ required: true; content: Content }>;
  responses: Readonly<Record<string, Response>>;
}>;

/** Operations by path, or by name of the webhook, then by method. */
export type Operations = Readonly<Record<string, Readonly<{ get?: Operation; post?: Operation; delete?: Operation }>>>;

/** The whole document. */
export type OpenApiDocument = ReturnType<typeof openApiDocument>;

/** Some codes differ only in their case, which generators of clients do not keep: those of refunds get a prefix. */
const errorCodeName = (code: string): string => (/[a-z]/.test(code) ? code : `refund_${code.toLowerCase()}`);

const errorCodes = Object.keys(errorTable) as [ErrorCode, ...ErrorCode[]];

const errorCodeSchema = z.enum(errorCodes).meta({
  id: 'ErrorCode',
  description: 'Stable, for programs to branch on. Later versions may add codes.',
  'x-enum-varnames': errorCodes.map(errorCodeName),
});

export const errorSchema = z
  .object({
    error: z
      .object({
        type: z.enum(errorTypes).meta({ description: 'The class of the error.' }),
        code: errorCodeSchema,
        message: z.string().meta({ description: 'For people; the text may change.' }),
        param: z.string().optional().meta({ description: 'The field or header that is wrong.' }),
        doc_url: z.string().meta({ description: 'Explains the code, on this server.' }),
        server_time: z.int().optional().meta({ description: 'Unix seconds; with `timestamp_out_of_range` only.' }),
      })
      .meta({ description: 'The first thing that was wrong.' }),
    request_id: z.string().meta({ description: 'Also in the `Request-Id` header.' }),
    timestamp: z.int().meta({ description: 'Unix seconds.' }),
  })
  .meta({ id: 'ApiError' });

/** The errors that every signed request can get; below, those of every request with a body. */
export const signedErrors: readonly ErrorCode[] = [
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
const postErrors: readonly ErrorCode[] = ['body_too_large', 'invalid_content_type', 'invalid_json'];

/** The codes for ids in paths that nothing has. */
const unknownId: Readonly<Record<string, ErrorCode>> = {
  session_id: 'session_not_found',
  refund_id: 'REFUND_NOT_FOUND',
  event_id: 'event_not_found',
  endpoint_id: 'endpoint_not_found',
};

type Headers = Readonly<Record<string, Header>>;

/** Parts that all endpoints share. */
export const parts: typeof all = JSON.parse(readFileSync(new URL('./openapi-parts.json', import.meta.url), 'utf8'));

/**
 * Returns the OpenAPI document.
 * @param baseUrl public base URL without a trailing slash
 */
export function openApiDocument(endpoints: readonly Endpoint[], baseUrl: string) {
  const schemas = createSchemaWriter();
  const security = [Object.fromEntries(Object.keys(parts.securitySchemes).map((name) => [name, []]))];
  const paths: Record<string, Operations[string]> = {};
  const webhooks: Operations = Object.fromEntries(eventDocs.map((doc) => [doc.type, { post: webhook(doc, schemas) }]));
  for (const endpoint of endpoints) {
    paths[endpoint.path] = {
      ...paths[endpoint.path],
      [endpoint.method]: { ...operation(endpoint, schemas, baseUrl), security },
    };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Quayside merchant API',
      version: packageInfo.version,
      description:
        'Take USDT and USDC at your own addresses, through your own nodes. Amounts of sessions are integers in minor units, those of refunds decimal strings.',
      contact: { name: 'The operator of this server', url: baseUrl },
      license: { name: packageInfo.license, identifier: packageInfo.license },
    },
    servers: [{ url: baseUrl }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    components: { securitySchemes: parts.securitySchemes, schemas: schemas.named },
    paths,
    webhooks,
  };
}

function operation(endpoint: Endpoint, schemas: SchemaWriter, baseUrl: string): Operation {
  const { method, path, body, query, answer, renames = {} } = endpoint;
  const id = idOf(path);
  const isPost = method === 'post';
  const isOnce = isPost && !endpoint.isReadOnly;
  const codes: readonly (ErrorCode | false | undefined)[] = [
    ...(endpoint.errors ?? []),
    id !== undefined && unknownId[id],
    body !== undefined && 'missing_parameter',
    (isOnce || body !== undefined || query !== undefined) && 'invalid_parameter',
    isOnce && 'idempotency_key_conflict',
    ...(isPost ? postErrors : []),
    ...signedErrors,
  ];
  return {
    operationId: endpoint.operationId,
    tags: [endpoint.tag],
    summary: endpoint.summary,
    description: `${endpoint.description} Scope: \`${endpoint.scope}\`.`,
    parameters: [
      ...parameters('path', id === undefined ? {} : { [id]: (parts.pathParameters as Headers)[id] as Header }),
      ...parameters('query', headersOf(query?.shape ?? {}, schemas)),
      ...parameters('header', { ...parts.sharedHeaders, ...(isOnce && parts.idempotencyHeader) }),
    ],
    ...(body && { requestBody: { required: true, content: documented(schemas, body) } }),
    responses: {
      [endpoint.status ?? 200]: {
        description: 'Success.',
        headers: { ...parts.answerHeaders, ...(isOnce && parts.replayHeaders) },
        content: documented(schemas, answer),
      },
      ...refusals(
        codes.flatMap((code) => (code ? (renames[code] ?? code) : [])),
        schemas,
        baseUrl,
      ),
    },
  };
}

const documented = (schemas: SchemaWriter, [schema, example]: Endpoint['answer']): Content =>
  json(schemas, schema, { example });

const headersOf = (shape: Readonly<Record<string, z.ZodType>>, schemas: SchemaWriter): Headers =>
  Object.fromEntries(
    Object.entries(shape).map(([name, schema]) => {
      const { description } = schema;
      const required = !schema.safeParse(undefined).success;
      return [name, { schema: schemas.write(schema), required, ...(description && { description }) }];
    }),
  );

const parameters = (where: 'path' | 'query' | 'header', headers: Headers) =>
  Object.entries(headers).map(([name, header]) => ({ ...header, name, in: where }));

/** Returns one response for each status, with the codes that it has. */
function refusals(
  codes: readonly ErrorCode[],
  schemas: SchemaWriter,
  baseUrl: string,
): Readonly<Record<string, Response>> {
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
          headers: { ...parts.answerHeaders, ...(waits(of) && parts.waitHeaders) },
          content: json(
            schemas,
            errorSchema,
            Object.fromEntries([...of].map((code) => [code, exampleError(code, baseUrl)])),
          ),
        },
      ]),
  );
}

/** Whether each of these codes comes with the time to wait. */
const waits = (codes: ReadonlySet<ErrorCode>): boolean =>
  [...codes].every((code) => [429, 503].includes(errorTable[code].status));

const exampleError = (code: ErrorCode, baseUrl: string) =>
  errorBody(refuse(code), { requestId: 'req_01kaj8xq2m7v5c9t3w6e1r4y0p', baseUrl, nowS: examples.session.created });

function json(schemas: SchemaWriter, schema: z.ZodType, examples: Readonly<Record<string, unknown>>): Content {
  const named = Object.entries(examples).map(([name, value]) => [name, { value }]);
  return { 'application/json': { schema: schemas.write(schema), examples: Object.fromEntries(named) } };
}

function webhook({ type, meaning, schema, example }: (typeof eventDocs)[number], schemas: SchemaWriter): Operation {
  return {
    operationId: `receive_${type.replace('.', '_')}`,
    tags: ['Webhooks'],
    security: [],
    summary: meaning,
    description: 'Verify the signature, keep the id to recognize repeats, and answer before you do the work.',
    parameters: parameters('header', parts.webhookHeaders),
    requestBody: { required: true, content: json(schemas, schema, { event: example }) },
    responses: parts.webhookResponses,
  };
}

// ── JSON Schemas ────────────────────────────────────────────────────────────────────────────────────────────────────

/** The part of JSON Schema that is used here. */
export type JsonSchema = {
  $ref?: string;
  type?: string | readonly string[];
  format?: string;
  description?: string;
  enum?: readonly unknown[];
  properties?: Record<string, JsonSchema>;
  required?: readonly string[];
  items?: JsonSchema;
  additionalProperties?: JsonSchema | boolean;
  anyOf?: readonly JsonSchema[];
};

type Override = NonNullable<NonNullable<Parameters<typeof z.toJSONSchema>[1]>['override']>;

type SchemaWriter = ReturnType<typeof createSchemaWriter>;

function createSchemaWriter() {
  /** The schemas that have an `id`, by that id: every schema written so far, and all that they refer to. */
  const named: Record<string, JsonSchema> = {};
  return {
    named,
    /** Returns the schema, or a reference to it if it has an `id`. */
    write(schema: z.ZodType): JsonSchema {
      // Inside an array, a schema with an id becomes a reference too.
      const written = z.toJSONSchema(z.array(schema), { io: 'input', unrepresentable: 'any', override: shorten });
      const { items, $defs = {} } = JSON.parse(
        JSON.stringify(written).replaceAll('"#/$defs/', '"#/components/schemas/'),
      );
      for (const [name, definition] of Object.entries<JsonSchema>($defs)) named[name] ??= definition;
      return items;
    },
  };
}

/** Removes what adds nothing, and writes the rest as OpenAPI tools expect it. */
const shorten: Override = ({ zodSchema, jsonSchema }) => {
  const { id: _, const: only, propertyNames: _names, ...schema } = jsonSchema;
  if (zodSchema._zod.def.type === 'number') {
    const { maximum } = z.globalRegistry.get(zodSchema) ?? {};
    if (schema.maximum === Number.MAX_SAFE_INTEGER && maximum === undefined) delete schema.maximum;
    if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  }
  if (only !== undefined) schema.enum = [only];
  const [inner, none] = schema.anyOf ?? [];
  if (inner && none?.type === 'null' && !inner.$ref) {
    delete schema.anyOf;
    const values = inner.enum && { enum: [...inner.enum, null] };
    Object.assign(schema, { ...inner, ...values, ...schema, type: [inner.type, 'null'] });
  }
  for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
  Object.assign(jsonSchema, schema);
};
