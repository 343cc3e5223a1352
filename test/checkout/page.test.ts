/**
 * The page over HTTP, as a browser without scripts gets it; and headers, versions, live updates, limits.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ApiServer, startApi, withApi } from '../support/api-server.ts';
import { openSale, type Sale } from '../support/payment-scenes.ts';
import { preset } from '../support/preset.ts';
import { parseRaw, rawExchange } from '../support/raw-http.ts';
import { exchange } from '../support/signed-client.ts';
import { until } from '../support/until.ts';

/** Returns what a person reads: text without tags. */
const textOf = (html: string): string =>
  html
    .replace(/<(style|script)[\s\S]*?<\/\1>/g, ' ')
    .replace(/<[^>]+>/g, ' ')
    .replace(/&#39;/g, "'")
    .replace(/\s+/g, ' ');

const NO_REFUND = `/refund/${'0'.repeat(32)}`;

type World = { api: ApiServer };
const test = suite<World>('the payment page over HTTP');
test.before(async (world) => {
  world.api = await startApi({ pages: true });
});
test.after(({ api }) => api.close());

test('the first response has everything needed to pay', async ({ api }) => {
  const sale = await openSale(api, { description: 'Two bags' });
  const answer = await api.send('GET', `/api/v1/checkout/sessions/${sale.id}`);
  const { payment_options: options } = answer.json as {
    payment_options: { network: string; currency: string; address: string; amount: string }[];
  };
  for (const { network, currency, address, amount } of options) {
    const { text } = await exchange('GET', `${api.baseUrl}${sale.path}?pay=${network}-${currency}`);
    const shown = /<code[^>]*id="address"[^>]*>([\s\S]*?)<\/code>/.exec(text)?.[1] ?? '';
    assert.is(shown.replace(/<[^>]+>/g, ''), address, 'the address, whole and without a space');
    assert.match(text, `data-copy="${address}"`);
    assert.is(/id="amount"[^>]*>([^<]+)</.exec(text)?.[1], amount);
    assert.match(text, /<svg class="qr"/);
    assert.match(text, /<noscript><meta http-equiv="refresh"/);
    for (const words of ['Espresso beans, 250 g', '7.00 USD', 'Two bags', 'Shipping', '10.50 USD', 'A shop']) {
      assert.ok(textOf(text).includes(words), words);
    }
    assert.match(text, 'href="https://shop.example/cart"');
    assert.is(/\bstyle=|\son\w+=|<style/.exec(text), null, 'nothing that the policy would block');
  }
});

test('text from a merchant or a URL is text, never markup', async ({ api }) => {
  const evil = '"><script>alert(1)</script>';
  const sale = await openSale(api, { order_id: evil, description: evil });
  const query = `?pay=${encodeURIComponent(evil)}&token=${encodeURIComponent(evil)}&lang=${encodeURIComponent(evil)}`;
  const { text } = await exchange('GET', `${api.baseUrl}${sale.path}${query}`);
  assert.is(text.match(/<script/g)?.length, 1);
});

test('nobody can change a session from its page', async ({ api }) => {
  const sale = await openSale(api);
  const before = (await api.send('GET', `/api/v1/checkout/sessions/${sale.id}`)).text;
  for (const query of ['?amount=1', '?pay=bsc-USDT&amount=1&address=0x1', '?cancel=1']) {
    await exchange('GET', `${api.baseUrl}${sale.path}${query}`);
  }
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
    assert.is((await exchange(method, `${api.baseUrl}${sale.path}`)).status, 405);
  }
  assert.is((await api.send('GET', `/api/v1/checkout/sessions/${sale.id}`)).text, before);
});

test('progress says how long it takes, and speaks of finality where the policy does', () =>
  withApi({ pages: true, networks: [preset('sepolia'), preset('bsc-testnet')] }, async (api) => {
    const ethereum = api.chain('ethereum');
    const shown = async ({ path }: Sale) => (await exchange('GET', `${api.baseUrl}${path}`)).text;
    const leftOf = (text: string) => /id="confirmed-in">([^<]*)</.exec(text)?.[1] ?? null;

    const usual = await openSale(api);
    await usual.send('10.50');
    assert.is(leftOf(await shown(usual)), 'Confirmed in about 3 min', '11 blocks of 12 s');
    for (let blocks = 0; blocks < 7; blocks++) await ethereum.mine();
    assert.is(leftOf(await shown(usual)), 'Confirmed in under a minute', '4 blocks');

    const large = await openSale(api, { amount: 2_000_000 });
    await large.send('20000');
    assert.is(leftOf(await shown(large)), 'Final in about 13 min', '63 blocks');
    await ethereum.report('fault');
    assert.is(leftOf(await shown(large)), null, 'nothing is promised while the network is not read');

    const quick = await openSale(api);
    await quick.send('10.50', { network: 'bsc', currency: 'USDC' });
    assert.is(leftOf(await shown(quick)), 'Final in under a minute');
    for (let blocks = 0; blocks < 2; blocks++) await api.chain('bsc').mine();
    const deep = await shown(quick);
    assert.is(leftOf(deep), null, 'finality is not counted in blocks');
    assert.match(textOf(deep), /has confirmed it and is making it final/);
  }));

test('an unknown session, and one spelled differently', async ({ api }) => {
  const sale = await openSale(api);
  const body = sale.id.slice(3);
  for (const id of [`cs_${body}`, `sess_${body}`, body]) {
    assert.is((await exchange('GET', `${api.baseUrl}/pay/${id}`)).status, 200, id);
  }
  for (const id of ['cs_1', '%00', '..%2f', `${sale.id}x`, encodeURIComponent("cs_' OR 1=1")]) {
    assert.is((await exchange('GET', `${api.baseUrl}/pay/${id}`)).status, 404, id);
  }
  assert.is((await exchange('GET', `${api.baseUrl}/pay/cs_1/events`)).status, 404);
});

test('every response of the page has strict headers', async ({ api }) => {
  const sale = await openSale(api);
  for (const path of [sale.path, '/pay/cs_1', NO_REFUND]) {
    const { headers } = await exchange('GET', `${api.baseUrl}${path}`);
    const policy = String(headers['content-security-policy']);
    for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "form-action 'self'"]) {
      assert.ok(policy.includes(part), part);
    }
    assert.not.match(policy, /upgrade-insecure|unsafe/);
    assert.is(headers['referrer-policy'], 'no-referrer');
    assert.match(String(headers['x-robots-tag']), 'noindex');
    assert.is(headers['cache-control'], 'no-store');
    assert.ok(headers['request-id']);
  }
});

test('styles and scripts are cached forever', async ({ api }) => {
  const sale = await openSale(api);
  const { text } = await exchange('GET', `${api.baseUrl}${sale.path}?pay=ethereum-USDT`, { 'User-Agent': 'iPhone' });
  const paths = [...text.matchAll(/(?:href|src)="(assets\/[^"]+)"/g)].map((match) => match[1] ?? '');
  assert.is(paths.length, 2);
  const folder = paths[0]?.replace(/[^/]+$/, '') ?? '';
  // The script loads these if a wallet could pay: one for each family.
  const families = ['evm', 'tron', 'solana'].map((family) => `${folder}wallets/${family}.js`);
  for (const path of [...paths, `${folder}wallets.js`, `${folder}wallets/wallet.js`, ...families]) {
    const answer = await exchange('GET', `${api.baseUrl}/pay/${path}`);
    assert.is(answer.status, 200, path);
    assert.match(String(answer.headers['cache-control']), 'immutable');
    assert.match(String(answer.headers['content-type']), path.endsWith('.js') ? 'javascript' : 'text/css');
  }
  for (const path of ['0/page.css', '0/live.js']) {
    assert.is((await exchange('GET', `${api.baseUrl}/pay/assets/${path}`)).status, 404);
  }
  assert.is((await exchange('GET', `${api.baseUrl}/pay/${folder}tsconfig.json`)).status, 404);
});

test('a mistyped link gets a page with styles', async ({ api }) => {
  const sale = await openSale(api);
  const slash = await exchange('GET', `${api.baseUrl}${sale.path}/?lang=de`);
  assert.is(slash.status, 302);
  const back = new URL(String(slash.headers.location), `${api.baseUrl}${sale.path}/`);
  assert.is(back.href, `${api.baseUrl}${sale.path}?lang=de`);
  const wrong = [
    ['GET', '/pay', 404],
    ['GET', '/pay/', 404],
    ['GET', '/pay/nobody', 404],
    ['GET', '/pay/nobody/', 404],
    ['GET', `${sale.path}/nothing/here`, 404],
    ['GET', '/refund', 404],
    ['GET', '/refund/nobody/at/all', 404],
    ['DELETE', `${sale.path}/refund-address`, 404],
    ['POST', sale.path, 405],
  ] as const;
  for (const [method, path, status] of wrong) {
    const answer = await exchange(method, api.baseUrl + path);
    assert.is(answer.status, status, `${method} ${path}`);
    assert.is(answer.headers['content-type'], 'text/html; charset=utf-8', `${method} ${path}`);
    assert.is(answer.headers.allow, status === 405 ? 'GET' : undefined);
    const style = /<link rel="stylesheet" href="([^"]+)"/.exec(answer.text)?.[1] ?? '';
    const css = await exchange('GET', new URL(style, api.baseUrl + path).href);
    assert.is(css.headers['content-type'], 'text/css; charset=utf-8', `${method} ${path} ${style}`);
  }
});

test('a store that asks for more shows it: in the API, and on the page for what has come', () =>
  withApi({ pages: true }, async (api) => {
    const act = { atMs: 0, operator: 'somebody', command: 'store set', reason: null };
    const change = { credit: 'ethereum=20@10.50,ethereum=finalized@20.00' };
    await api.database().stores.update(api.merchantId, change, act);
    const sale = await openSale(api);
    const { text } = await api.send('GET', `/api/v1/checkout/sessions/${sale.id}`);
    const [option] = JSON.parse(text).payment_options;
    assert.equal([option.network, option.confirmations_required], ['ethereum', 20]);
    const shown = async () => (await exchange('GET', `${api.baseUrl}${sale.path}`)).text;
    await sale.send('10.49', { network: 'ethereum' });
    assert.match(await shown(), '1 of 12 confirmations');
    await sale.send('9.51', { network: 'ethereum' });
    for (let left = 20; left > 0; left--) await api.chain('ethereum').mine();
    assert.match(await shown(), 'has confirmed it and is making it final', 'together they must be final');
  }));

test('HEAD on the live updates ends after the headers', async ({ api }) => {
  const sale = await openSale(api);
  let answered = '';
  const head = `HEAD ${sale.path}/events HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
  rawExchange(api.baseUrl, head).then(({ text }) => {
    answered = text;
  });
  await until('the connection is closed', () => answered !== '');
  const { status, headers, text } = parseRaw(answered);
  assert.equal([status, headers['content-type'], text], [200, 'text/event-stream; charset=utf-8', '']);
});

test('a page that has not changed is not sent again', async ({ api }) => {
  const sale = await openSale(api);
  const url = `${api.baseUrl}${sale.path}`;
  const etag = String((await exchange('GET', url)).headers.etag);
  api.clock.advance(5000);
  const again = await exchange('GET', url, { 'If-None-Match': etag });
  assert.is(again.status, 304);
  assert.is(Date.parse(String(again.headers.date)), Math.floor(api.clock.nowMs() / 1000) * 1000, 'the server’s time');
  const other = await exchange('GET', `${url}?token=USDC`, { 'If-None-Match': etag });
  assert.is(other.status, 200, 'another choice is another page');
  await sale.send('10.50');
  assert.is((await exchange('GET', url, { 'If-None-Match': etag })).status, 200);
});

// ── Live updates ─────────────────────────────────────────────────────────────────────────────────────────────────────

type SeenEvent = Readonly<{ id: string | undefined; event: string | undefined }>;

/** Reads a stream of events until it ends or `enough` of them came. */
async function readEvents(url: string, enough: (events: readonly SeenEvent[]) => boolean): Promise<SeenEvent[]> {
  const response = await fetch(url);
  assert.is(response.status, 200);
  assert.match(response.headers.get('content-type') ?? '', 'text/event-stream');
  const events: SeenEvent[] = [];
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
      if (field('event')) events.push({ id: field('id'), event: field('event') });
    }
    if (enough(events)) break;
  }
  return events;
}

test('the stream sends each new version, and ends with the session', async ({ api }) => {
  const sale = await openSale(api);
  const url = `${api.baseUrl}${sale.path}`;
  const version = async () => /data-version="([^"]+)"/.exec((await exchange('GET', url)).text)?.[1];
  const first = await version();
  let sent = 0;
  const reading = readEvents(`${url}/events?after=${first}`, (all) => {
    sent = all.length;
    return false;
  });
  await sale.send('10.50');
  const seen = await version();
  const tip = (await api.database().blocks.tail('test:ethereum', 1)).at(-1);
  // The stream checks once a second, and is to see both.
  await until('the payment is announced', () => sent === 1);
  if (tip) await api.chain('ethereum').confirm(tip);
  const events = await reading;
  assert.equal(events, [
    { id: seen, event: 'version' },
    { id: await version(), event: 'version' },
    { id: undefined, event: 'end' },
  ]);
});

test('a browser that reconnects with the current version gets nothing, one with an old version an event at once', async ({
  api,
}) => {
  const sale = await openSale(api);
  const events = await readEvents(`${api.baseUrl}${sale.path}/events?after=old`, (all) => all.length > 0);
  assert.is(events[0]?.event, 'version');
});

test('streams from one IP address are limited', async ({ api }) => {
  const sale = await openSale(api);
  const url = `${api.baseUrl}${sale.path}/events?after=old`;
  const abort = new AbortController();
  const open = await Promise.all(Array.from({ length: 101 }, () => fetch(url, { signal: abort.signal })));
  const statuses = open.map(({ status }) => status).sort();
  assert.equal([statuses[0], statuses[99], statuses[100]], [200, 200, 503]);
  abort.abort();
});

// ── Texts ────────────────────────────────────────────────────────────────────────────────────────────────────────────

const folder = new URL('../../src/checkout/texts/', import.meta.url);
const read = (file: string) => JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Record<string, string>;
const places = (text = '') => [...new Set(text.match(/\{\w+\}/g))].sort();

for (const file of readdirSync(folder)) {
  test(`${file} has every text of en.json, with the same placeholders`, () => {
    const english = read('en.json');
    const own = read(file);
    assert.equal(Object.keys(own), Object.keys(english));
    for (const [key, text] of Object.entries(own)) {
      assert.ok(text.trim() === text && text !== '', key);
      assert.equal(places(text), places(english[key]), key);
    }
  });
}

// ── Odd URLs, odd forms, many requests from one subscriber ───────────────────────────────────────────────────────────

const FORM = 'application/x-www-form-urlencoded';

test('strangers’ odd requests are answered, raise no alarm, and count by subscriber', () =>
  withApi({ pages: true }, async (api) => {
    const { path } = await openSale(api);
    const askWhole = async (target: string) => {
      const request = `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
      return parseRaw((await rawExchange(api.baseUrl, request)).text).status;
    };
    assert.is(await askWhole(`http://999.999.999.999${path}?lang=tr`), 200, 'a target that is not a URL');
    assert.is(await askWhole(`http://a:999999${NO_REFUND}`), 404);
    const post = async (type: string, body: string, more: Record<string, string> = {}) =>
      (await exchange('POST', `${api.baseUrl}${path}/refund-address`, { 'Content-Type': type, ...more }, body)).status;
    assert.is(await post(`${FORM}; charset=utf-16`, 'address=x'), 400, 'an unreadable form');
    assert.is(await post(FORM, 'not compressed', { 'Content-Encoding': 'gzip' }), 400);
    assert.is(await post(FORM, 'a&'.repeat(900)), 404, 'without the payer’s token');
    assert.is(await post(FORM, `address=${'a'.repeat(9000)}`), 413);
    assert.is(await post('application/json', '{}'), 404);
    for (const absent of ['request failed', NO_REFUND]) assert.not.match(api.logged(), absent);

    const tryFrom = async (address: string) => {
      const headers = { 'Content-Type': FORM, 'X-Forwarded-For': address };
      return (await exchange('POST', `${api.baseUrl}${NO_REFUND}`, headers)).status;
    };
    const statuses: number[] = [];
    for (let at = 1; at <= 31; at++) statuses.push(await tryFrom(`2001:db8:0:1::${at}`));
    assert.equal(statuses, [...Array(30).fill(404), 429], 'one subscriber, whichever address is used');
    assert.is(await tryFrom('2001:db8:0:2::1'), 404);
  }));

test.run();
