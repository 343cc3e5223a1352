import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { errorTable } from '../../src/api/errors.ts';
import { html, prose } from '../../src/lib/html.ts';
import { startApi } from '../support/api-server.ts';
import { exchange } from '../support/signed-client.ts';

const api = await startApi();
const get = (path: string) => exchange('GET', api.baseUrl + path);
const docs = await get('/docs');
const errors = await get('/docs/errors');

test('the pages are HTML in one language, with a style sheet from here', async () => {
  for (const page of [docs, errors]) {
    assert.is(page.status, 200);
    assert.is(page.headers['content-type'], 'text/html; charset=utf-8');
    assert.match(page.text, /^<!doctype html><html lang="en">/);
    assert.match(page.text, /<link rel="stylesheet" href="\/docs\/style\.css">/);
  }
  const style = await get('/docs/style.css');
  assert.is(style.headers['content-type'], 'text/css; charset=utf-8');
  assert.match(style.text, /prefers-color-scheme: dark/);
});

test('nothing is loaded from outside, and the policy allows nothing else', () => {
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

test('every code has an anchor, and a refusal leads to it', async () => {
  for (const code of Object.keys(errorTable)) assert.ok(errors.text.includes(`<section id="${code}">`), code);
  const refused = await get('/nowhere');
  const url = (refused.json as { error: { doc_url: string } }).error.doc_url;
  assert.is(url, `${api.baseUrl}/docs/errors#route_not_found`);
  assert.is((await exchange('GET', url)).status, 200);
});

test('no link inside of the pages is dead', async () => {
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

test('the reference names every field with its full path', () => {
  const fields = [
    'amount',
    'line_items[].price_data.product_data.name',
    'payment_options[].deep_link',
    'payments[].status',
  ];
  const events = ['data.object.session_id', 'payment.completed', 'X-Service-Event-ID'];
  for (const text of [...fields, ...events, '/api/v1/checkout/sessions/{session_id}/cancel', '/v1/payment/sessions']) {
    assert.ok(docs.text.replaceAll('<wbr>', '').includes(`<code>${text}</code>`), text);
  }
});

test('text is escaped, HTML is not escaped twice', () => {
  const nasty = `<b>&"'`;
  assert.is(
    html`<p title="${nasty}">${nasty}</p>`.html,
    '<p title="&lt;b&gt;&amp;&quot;&#39;">&lt;b&gt;&amp;&quot;&#39;</p>',
  );
  assert.is(
    html`<ul>${['a', '<'].map((text) => html`<li>${text}</li>`)}${null}${7}</ul>`.html,
    '<ul><li>a</li><li>&lt;</li>7</ul>',
  );
  assert.is(prose('a `<b>` c').html, 'a <code>&lt;b&gt;</code> c');
});

test.after(() => api.close());
test.run();
