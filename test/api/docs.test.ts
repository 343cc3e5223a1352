import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { errorTable } from '../../src/api/errors.ts';
import { examples } from '../../src/api/examples.ts';
import type { OpenApiDocument } from '../../src/api/openapi.ts';
import { operationsOf } from '../../src/api/reference-page.ts';
import { eventDocs } from '../../src/api/webhook-events.ts';
import { html } from '../../src/lib/html.ts';
import { startApi } from '../support/api-server.ts';
import { exchange } from '../support/signed-client.ts';

const api = await startApi();
const get = (path: string) => exchange('GET', api.baseUrl + path);
const docs = await get('/docs');
const errors = await get('/docs/errors');

test('the reference is compressed if the client accepts it, cached, and not sent again', async () => {
  for (const path of ['/docs', '/docs/errors', '/docs/style.css', '/openapi.json']) {
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
  const { paths, webhooks } = (await get('/openapi.json')).json as OpenApiDocument;
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

test('the reference stays light', () => {
  assert.ok(gzipSync(docs.text).length < 40_000);
});

test.after(() => api.close());
test.run();
