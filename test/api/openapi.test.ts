import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { z } from 'zod';
import { apiEndpoints } from '../../src/api/app.ts';
import { errorTable } from '../../src/api/errors.ts';
import { examples } from '../../src/api/examples.ts';
import { errorSchema, type OpenApiDocument, parts } from '../../src/api/openapi.ts';
import { operationsOf } from '../../src/api/reference-page.ts';
import { eventDocs } from '../../src/api/webhook-events.ts';
import { webhookHeaders } from '../../src/core/delivery.ts';
import { documentedPaymentEvents, documentedRefundEvents, extendedEvents } from '../../src/core/event.ts';
import { html } from '../../src/lib/html.ts';
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

// ── The pages ───────────────────────────────────────────────────────────────────────────────────────────────────────

const get = (path: string) => exchange('GET', api.baseUrl + path);
const docs = await get('/docs');
const errors = await get('/docs/errors');

test('the reference is compressed if the client accepts it, cached, and not sent again', async () => {
  for (const path of ['/docs', '/docs/errors', '/docs/style.css', '/openapi.json', '/llms.txt']) {
    const plain = await get(path);
    assert.is(plain.headers['content-encoding'], undefined, path);
    assert.is(plain.headers['cache-control'], 'public, max-age=300', path);
    assert.is(plain.headers.vary, 'Accept-Encoding', path);
    const etag = String(plain.headers.etag);
    for (const known of [etag, etag.replace('W/', ''), `"other", ${etag}`, '*']) {
      const again = await exchange('GET', api.baseUrl + path, { 'If-None-Match': known });
      assert.equal({ status: again.status, text: again.text }, { status: 304, text: '' }, `${path} ${known}`);
    }
    assert.is((await exchange('GET', api.baseUrl + path, { 'If-None-Match': '"other"' })).status, 200, path);
    for (const refusing of ['br', 'gzip;q=0', 'identity']) {
      const { headers } = await exchange('GET', api.baseUrl + path, { 'Accept-Encoding': refusing });
      assert.is(headers['content-encoding'], undefined, `${path} ${refusing}`);
    }
    // fetch asks for gzip by itself and unpacks it.
    const packed = await fetch(api.baseUrl + path, { headers: { 'Accept-Encoding': 'br;q=1.0, GZIP;q=0.8' } });
    assert.is(packed.headers.get('content-encoding'), 'gzip', path);
    assert.ok(Number(packed.headers.get('content-length')) < plain.text.length / 2, path);
    assert.is(await packed.text(), plain.text, path);
    const head = await exchange('HEAD', api.baseUrl + path);
    assert.equal(
      { status: head.status, text: head.text, length: head.headers['content-length'] },
      { status: 200, text: '', length: plain.headers['content-length'] },
    );
  }
});

test('language models find each call in llms.txt, with its place in the reference', async () => {
  const { text, headers } = await get('/llms.txt');
  assert.match(String(headers['content-type']), 'text/plain');
  assert.ok(text.startsWith(`# ${document.info.title}\n\n> `));
  const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link);
  assert.is(links.length, 3 + Object.values(document.paths).flatMap((item) => Object.keys(item)).length);
  for (const link of links) {
    const { pathname, hash } = new URL(link);
    const page = await get(pathname);
    assert.is(page.status, 200, link);
    if (hash) assert.match(page.text, `id="${hash.slice(1)}"`, link);
  }
});

test('any origin may read the document, and nothing else', async () => {
  const { headers } = await get('/openapi.json');
  assert.is(headers['access-control-allow-origin'], '*');
  assert.is(headers['cross-origin-resource-policy'], 'cross-origin');
  for (const path of ['/docs', '/livez', '/nowhere', '/api/v1/checkout/sessions/x']) {
    const other = await get(path);
    assert.is(other.headers['access-control-allow-origin'], undefined, path);
    assert.not.match(String(other.headers['content-security-policy']), /script-src/, path);
  }
});

test('the root redirects to the reference', async () => {
  for (const path of ['/', '/docs/']) assert.is((await get(path)).headers.location, '/docs', path);
});

test('nothing is loaded from elsewhere, and the policy allows nothing else', () => {
  for (const { text, headers } of [docs, errors]) {
    const loaded = [...text.matchAll(/<(?:link|script|img|iframe)\b[^>]*?(?:href|src)="([^"]*)"/g)].map(
      ([, url]) => url,
    );
    assert.equal(loaded, ['data:,', '/docs/style.css']);
    assert.not.match(text, /<script|<style|style="|onclick|@import|url\(/i);
    const policy = String(headers['content-security-policy']);
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /style-src 'self'/);
    assert.not.match(policy, /unsafe|https:|\*/);
    assert.not.match(policy, /upgrade-insecure-requests/, 'the pages work on plain http');
    assert.is(headers['strict-transport-security'], undefined);
  }
});

test('every code has an anchor, and an error links to it', async () => {
  for (const code of Object.keys(errorTable)) assert.ok(errors.text.includes(`<section id="${code}">`), code);
  const refused = await get('/nowhere');
  const url = (refused.json as { error: { doc_url: string } }).error.doc_url;
  assert.is(url, `${api.baseUrl}/docs/errors#route_not_found`);
  assert.is((await exchange('GET', url)).status, 200);
});

test('no link within the pages is dead', async () => {
  const pages = new Map([
    ['/docs', docs.text],
    ['/docs/errors', errors.text],
  ]);
  let count = 0;
  for (const [path, text] of pages) {
    for (const [, link] of text.matchAll(/<a [^>]*href="([^"]*)"/g)) {
      count++;
      const [target, anchor] = (link ?? '').split('#');
      const page = pages.get(target || path) ?? (await get(target ?? '')).text;
      if (anchor) assert.ok(page.includes(`id="${anchor}"`), `${link} on ${path}`);
      else assert.ok(page.length > 100, `${link} on ${path}`);
    }
  }
  assert.ok(count > 50);
});

test('the reference names fields within fields, and paths', () => {
  for (const text of ['amount', 'price_data.product_data.name', 'data.object.session_id', '/v1/payment/sessions']) {
    assert.ok(docs.text.includes(`<code>${text}</code>`), text);
  }
});

test('the reference has every header, and every event with its body', async () => {
  const { paths, webhooks } = document;
  const headers = [...operationsOf(paths), ...operationsOf(webhooks)].flatMap(({ raw }) => [
    ...(raw.parameters ?? []).filter((one) => one.in === 'header').map(({ name }) => name),
    ...Object.values(raw.responses).flatMap((response) => Object.keys(response.headers ?? {})),
  ]);
  assert.ok(headers.includes('X-Service-Request-Signature'));
  for (const name of headers) assert.ok(docs.text.includes(`<dt><code>${name}</code>`), name);
  for (const { type, example } of eventDocs) {
    const own = docs.text.split(`<section id="${type}"`)[1]?.split('</section>')[0] ?? '';
    assert.ok(own.includes(html`${JSON.stringify(example, null, 2)}`.html), type);
  }
});

test('the shell functions of the page sign a call', async () => {
  const shown = /<pre[^>]*><code>(BASE_URL=.*?)<\/code>/s.exec(docs.text)?.[1] ?? '';
  const script = shown
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
  const body = JSON.stringify(examples.sessionBody);
  const key = await api.addKey(api.merchantId, 'test');
  // The functions sign at the machine's own time.
  api.clock.advance(Date.now() - api.clock.nowMs());
  const calls = `call GET '/api/v1/events?limit=10'; call POST /api/v1/checkout/sessions/create '${body}'`;
  const env = { ...process.env, API_KEY: key.apiKey, API_SECRET: key.apiSecret };
  const { stdout } = await promisify(execFile)('sh', ['-c', `${script}\n${calls}`], { env });
  assert.match(stdout, /"object":"list".*"payment_status":"pending"/s);
});

test.after(() => api.close());
test.run();
