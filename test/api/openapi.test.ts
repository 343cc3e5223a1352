import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { z } from 'zod';
import { apiEndpoints } from '../../src/api/app.ts';
import { errorTable } from '../../src/api/errors.ts';
import { errorSchema, type OpenApiDocument, parts } from '../../src/api/openapi.ts';
import { operationsOf } from '../../src/api/reference-page.ts';
import { eventDocs } from '../../src/api/webhook-events.ts';
import { webhookHeaders } from '../../src/core/delivery.ts';
import { documentedPaymentEvents, documentedRefundEvents, extendedEvents } from '../../src/core/event.ts';
import { startApi } from '../support/api-server.ts';
import { exchange } from '../support/signed-client.ts';

const api = await startApi();
const answer = await exchange('GET', `${api.baseUrl}/openapi.json`);
const document = answer.json as OpenApiDocument;
// Only the endpoints' lists and schemas are used; none of them is called.
const endpoints = apiEndpoints({} as Parameters<typeof apiEndpoints>[0]);

type Json = Readonly<Record<string, unknown>>;

type ObjectSchema = Readonly<{ required: readonly string[]; properties: Readonly<Record<string, Json>> }>;

function schemaNamed(name: string): ObjectSchema {
  const schema = document.components?.schemas?.[name];
  assert.ok(schema, `the document has a schema ${name}`);
  return schema as unknown as ObjectSchema;
}

/** Every object in the document, with its path. */
function* walk(value: unknown, path = ''): Generator<readonly [string, Json]> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield [path, value as Json];
  for (const [key, child] of Object.entries(value)) yield* walk(child, `${path}/${key}`);
}

/** Asserts that parsing returns exactly the input, that is, that the schema has every field of the example. */
function expectReads(schema: z.ZodType, example: unknown, what: string): void {
  const result = schema.safeParse(example);
  assert.ok(result.success, `${what}: ${result.success ? '' : result.error.message}`);
  assert.equal(result.data, example, what);
}

test('the document is served as OpenAPI 3.1 for this base URL', () => {
  assert.is(answer.status, 200);
  assert.is(document.openapi, '3.1.0');
  assert.equal(document.servers, [{ url: api.baseUrl }]);
  assert.equal(Object.keys(document.components?.securitySchemes ?? {}), ['apiKey', 'timestamp', 'nonce', 'signature']);
});

test('every reference has a target', () => {
  let count = 0;
  for (const [path, { $ref }] of walk(document)) {
    if ($ref === undefined) continue;
    count++;
    const target = String($ref)
      .slice(2)
      .split('/')
      .reduce<unknown>((at, part) => (at as Json | undefined)?.[part], document);
    assert.ok(target, `${path} → ${$ref}`);
  }
  assert.ok(count > 10);
});

test('what is served is documented', async () => {
  const documented = operationsOf(document.paths).map(({ method, path }) => `${method} ${path}`);
  const served = endpoints.map(({ method, path }) => `${method} ${path}`);
  assert.equal(documented.sort(), served.sort());
  // A documented path has no other method.
  for (const [path, item] of Object.entries(document.paths ?? {})) {
    const { headers } = await exchange('TRACE', api.baseUrl + path.replace(/\{\w+\}/g, 'x'));
    const methods = Object.keys(item).map((method) => method.toUpperCase());
    assert.equal(headers.allow?.split(', ').sort(), methods.sort(), path);
  }
});

test('every example matches its schema', () => {
  for (const { operationId, body, answer } of endpoints) {
    for (const [schema, example] of [answer, ...(body ? [body] : [])]) expectReads(schema, example, operationId);
  }
  for (const [path, { examples }] of walk(document)) {
    const schema = path.includes('/responses/') && !/\/responses\/20[01]\//.test(path) ? errorSchema : null;
    for (const [name, example] of Object.entries((examples ?? {}) as Record<string, { value: unknown }>)) {
      if (schema) expectReads(schema, example.value, `${path} ${name}`);
    }
  }
});

test('every field and parameter has a description', () => {
  const bare: string[] = [];
  for (const [path, { properties, parameters }] of walk(document)) {
    const named = Object.entries(properties ?? {});
    for (const [name, field] of named)
      if (!(field as Json).description && !(field as Json).$ref) bare.push(`${path} ${name}`);
    for (const { name, description } of (parameters ?? []) as Json[]) if (!description) bare.push(`${path} ${name}`);
  }
  assert.equal(bare, []);
});

test('every status of an operation lists its codes, and each code has its status', () => {
  let count = 0;
  for (const item of Object.values(document.paths ?? {})) {
    for (const operation of [item.get, item.post, item.delete]) {
      for (const [status, response] of Object.entries(operation?.responses ?? {})) {
        if (status.startsWith('2')) continue;
        const codes = [...String(response.description).matchAll(/`(\w+)`/g)].map(([, code]) => code);
        assert.ok(codes.length > 0);
        for (const code of codes) {
          count++;
          assert.is(errorTable[code as keyof typeof errorTable].status, Number(status), code);
        }
      }
    }
  }
  assert.ok(count > 50);
});

test('the schema has the documented limits', () => {
  const { properties, required } = schemaNamed('CreateSession');
  assert.equal(
    [properties.amount?.minimum, properties.amount?.type, properties.amount?.format],
    [1, 'integer', 'int64'],
  );
  assert.equal([properties.expires_in?.minimum, properties.expires_in?.maximum], [60, 3600]);
  assert.is(properties.line_items?.maxItems, 100);
  assert.is(properties.order_id?.maxLength, 128);
  assert.is(properties.metadata?.maxProperties, 50);
  assert.equal([...required].sort(), ['amount', 'currency', 'order_id']);
});

test('a session has what the document requires, and all others are optional', () => {
  const { required } = schemaNamed('PaymentSession');
  assert.equal([...required].sort(), ['amount_total', 'created', 'currency', 'expires_at', 'id', 'payment_status']);
});

test('the documented body of each webhook is what is really sent', () => {
  const types = [...documentedPaymentEvents, ...documentedRefundEvents, ...extendedEvents];
  assert.equal(Object.keys(document.webhooks ?? {}).sort(), [...types].sort());
  for (const { type, schema, example } of eventDocs) expectReads(schema, example, type);
});

test('the documented webhook headers are what is really sent', () => {
  const sent = webhookHeaders({
    secret: `whsec_${btoa('secret')}`,
    nextSecret: null,
    mode: 'test',
    eventId: 'evt_1',
    eventType: 'payment.completed',
    body: '{}',
    timestampS: 1,
    nonce: 'n',
  });
  const named = Object.keys(sent).filter((name) => !['Content-Type', 'User-Agent'].includes(name));
  assert.equal(Object.keys(parts.webhookHeaders).sort(), named.sort());
});

test.after(() => api.close());
test.run();
