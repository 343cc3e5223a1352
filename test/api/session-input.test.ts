import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startApi } from '../support/api-server.ts';
import { expectError } from './expect-error.ts';

const api = await startApi();
const CREATE = '/api/v1/checkout/sessions/create';
const INT_MAX = Number.MAX_SAFE_INTEGER;
const ITEM = 'line_items[0]';
const PRICE = `${ITEM}.price_data`;
const PRODUCT = `${PRICE}.product_data`;

type Body = Record<string, unknown>;
let orders = 0;
const order = (more: Body = {}): Body => ({ amount: 1050, currency: 'USD', order_id: `input-${++orders}`, ...more });
const item = (more: Body = {}, unit_amount = 1050): Body => ({
  price_data: { currency: 'USD', unit_amount, product_data: { name: 'Coffee' } },
  ...more,
});
const withItems = (...items: unknown[]): Body => order({ line_items: items });

/** Returns an order with a value at a place, such as `line_items[0].quantity`; undefined takes the field away. */
function withValue(place: string, value: unknown): Body {
  const body = place.startsWith('line_items[') ? withItems(item(), item({}, 0), item({}, 0)) : order();
  const path = place.split(/[.[\]]+/).filter((part) => part !== '');
  const last = path.pop() ?? '';
  const parent = path.reduce<Body>((at, part) => at[part] as Body, body);
  parent[last] = value;
  return body;
}

/** A number as it is written. */
const raw = (text: string): string => `#${text}#`;
const textOf = (body: Body): string => JSON.stringify(body).replace(/"#(.*?)#"/g, '$1');

const countSessions = async () => JSON.stringify((await api.database().stats(api.clock.nowMs())).sessions);

/** Expects that each body is refused, naming the parameter, and that nothing is created. */
async function refusesAll(param: string, bodies: readonly (Body | string)[], code = 'invalid_parameter') {
  const before = await countSessions();
  for (const body of bodies) {
    const text = typeof body === 'string' ? body : textOf(body);
    expectError(await api.send('POST', CREATE, text), { status: 400, code, param }, text.slice(0, 200));
  }
  assert.is(await countSessions(), before, 'nothing was created');
}

/** Expects that each of these values of a field is refused by its name. */
const refuses = (place: string, values: readonly unknown[], code?: string) =>
  refusesAll(
    place,
    values.map((value) => withValue(place, value)),
    code,
  );

async function takesAll(...bodies: readonly (Body | string)[]): Promise<void> {
  for (const body of bodies) {
    const answer = await api.send('POST', CREATE, body);
    assert.is(answer.status, 200, `${JSON.stringify(body)}: ${answer.text}`);
  }
}
const takes = (place: string, ...values: readonly unknown[]) =>
  takesAll(...values.map((value) => withValue(place, value)));

test('a missing required parameter is named, and null counts as wrong', async () => {
  const own = ['amount', 'currency', 'order_id', PRICE, `${PRICE}.currency`, `${PRICE}.unit_amount`, PRODUCT];
  for (const place of [...own, `${PRODUCT}.name`, 'line_items[2].price_data.unit_amount']) {
    await refuses(place, [undefined], 'missing_parameter');
    await refuses(place, [null]);
  }
  await refusesAll('amount', [{}], 'missing_parameter');
});

const OPTIONAL = [
  'description',
  'tax_amount',
  'shipping_amount',
  'success_url',
  'cancel_url',
  'metadata',
  'expires_in',
];

test('null in an optional parameter means absent', async () => {
  for (const place of [...OPTIONAL, `${ITEM}.quantity`, `${PRODUCT}.description`]) await takes(place, null);
  await takesAll(order({ line_items: null }), order({ line_items: [] }));
});

test('wrong types are refused for every parameter', async () => {
  for (const place of ['amount', 'tax_amount', 'shipping_amount', 'expires_in', `${PRICE}.unit_amount`]) {
    await refuses(place, ['1050', '', true, [1050], { value: 1050 }]);
  }
  for (const place of ['currency', 'order_id', 'description', 'success_url', 'cancel_url', `${PRICE}.currency`]) {
    await refuses(place, [1, false, ['USD'], {}]);
  }
  for (const place of ['metadata', PRICE, PRODUCT]) await refuses(place, ['{}', 1, true, []]);
  await refuses('metadata', [raw('1.0')]);
  await refuses('line_items', ['[]', 1, true, {}]);
  await refuses(ITEM, ['coffee', []]);
  await refuses(`${PRODUCT}.name`, [7, '']);
  await refuses(`${PRODUCT}.description`, [7]);
  await refuses(`${ITEM}.quantity`, ['1']);
  for (const size of [7, null, { cm: '7' }]) await refusesAll('metadata.size', [order({ metadata: { a: 'x', size } })]);
});

test('integers must be written in digits, exactly', async () => {
  const written = ['1.5', '1050.0', '1e3', '1E3', '1050e0', '10500e-1', '9007199254740992', '9007199254740990.6'];
  const huge = ['9223372036854775807', '1e400', '-1', '-0', '0', '0.0000000000000000000001', '-1e2'];
  await refuses('amount', [...written, ...huge].map(raw));
  for (const field of ['tax_amount', 'shipping_amount', 'expires_in']) {
    await refuses(field, ['1.0', '6e1', '61.0', '60.5'].map(raw));
  }
  for (const field of [`${ITEM}.quantity`, `${PRICE}.unit_amount`])
    await refuses(field, ['1.0', '1e0', '0.5'].map(raw));
  // Numbers inside strings, and those of unknown fields, are not checked.
  await takesAll(
    `{"amount":1050,"currency":"USD","order_id":"1.0 \\"2.0\\" \\\\","metadata":{"3.0":"4.0"}}`,
    `{"amount":1050,"currency":"USD","order_id":"input-n","weight":1.0}`,
  );
});

test('amounts at the edges', async () => {
  const extras = { tax_amount: 10, shipping_amount: 20 };
  await takes('amount', 1, INT_MAX);
  await takesAll(
    order({ amount: 30, ...extras }),
    order({ amount: 31, ...extras }),
    order({ tax_amount: 0, shipping_amount: 0 }),
    withItems(item(), item({ quantity: 3 }, 0)),
    order({ amount: INT_MAX, line_items: [item({ quantity: INT_MAX }, 1)] }),
  );
  await refuses('amount', [0, -1050]);
  for (const place of ['tax_amount', 'shipping_amount', `${PRICE}.unit_amount`]) await refuses(place, [-1]);
  await refuses(`${ITEM}.quantity`, [0, -1]);
  await refusesAll('amount', [
    order({ amount: 29, ...extras }),
    // Beyond the exact range of numbers.
    order({ amount: INT_MAX, tax_amount: INT_MAX, shipping_amount: 1 }),
  ]);
});

test('the amount is the sum of items, tax and shipping', async () => {
  const line_items = [item({ quantity: 2 }, 300), item({}, 50)];
  const extras = { tax_amount: 65, shipping_amount: 335 };
  await takesAll(order({ line_items, ...extras }));
  await refusesAll('amount', [
    ...[1049, 1051].map((amount) => order({ amount, line_items, ...extras })),
    order({ line_items, shipping_amount: 335 }),
    order({ amount: 1, line_items: [item({}, 0)] }),
    // As doubles, both products equal their neighbours.
    order({ amount: INT_MAX, line_items: [item({ quantity: INT_MAX }, 1)], tax_amount: 1 }),
    order({ amount: INT_MAX, line_items: [item({ quantity: INT_MAX }, INT_MAX)] }),
  ]);
});

test('at most 100 line items', async () => {
  const free = Array.from({ length: 99 }, () => item({}, 0));
  await takesAll(withItems(item(), ...free));
  await refusesAll('line_items', [withItems(item(), ...free, free[0])]);
});

test('a currency that is not accepted is unsupported', () =>
  refuses(
    'currency',
    [...'usd Usd US USDX EURO XXX BTC CHF XAU DEM 🪙 __proto__ constructor'.split(' '), ' USD', ''],
    'unsupported_currency',
  ));

test('an order id has 1 to 128 characters, none of them control characters', async () => {
  await takes('order_id', '1', 'x'.repeat(128), '😀'.repeat(128), '  padded  ', 'Bestellung № 7 — 注文');
  const controls = ['a\nb', 'a\u0000', 'a\u0085', 'a\u007f'];
  await refuses('order_id', ['', 'y'.repeat(129), '😀'.repeat(129), ...controls, 'a\ud83d']);
  const kept = await api.send('POST', CREATE, order({ order_id: ' as sent ' }));
  assert.is((kept.json as { metadata: Body }).metadata.order_id, ' as sent ');
});

test('redirect URLs are absolute, https, at most 2048 characters', async () => {
  const long = (length: number) => `https://shop.example/${'p'.repeat(length - 21)}`;
  const live = api.client(api.liveKey);
  for (const field of ['success_url', 'cancel_url']) {
    await takes(field, 'https://shop.example/thanks?order={ORDER}#top', 'http://localhost:3000/thanks', long(2048));
    await refuses(field, [
      ...['/thanks', '//shop.example', 'shop.example', 'https:shop.example', 'https://', 'ftp://shop.example'],
      ...['javascript:alert(1)', 'https://shop.example/a b', ' https://shop.example', 'https://shop.example/\n'],
      ...['https://[', '', long(2049)],
    ]);
    assert.is((await live.send('POST', CREATE, order({ [field]: 'HTTPS://shop.example/' }))).status, 200);
    const refused = await live.send('POST', CREATE, order({ [field]: 'http://shop.example/' }));
    expectError(refused, { status: 400, code: 'invalid_parameter', param: field });
  }
});

test('descriptions have at most 1000 characters and product names 500', async () => {
  for (const [place, max] of [
    ['description', 1000],
    [`${PRODUCT}.name`, 500],
    [`${PRODUCT}.description`, 1000],
  ] as const) {
    await takes(place, '😀'.repeat(max));
    await refuses(place, ['😀'.repeat(max + 1)]);
  }
});

/** Returns an object with its own key `__proto__`. */
const proto = (value: unknown): Body => Object.fromEntries([['__proto__', value]]);

test('metadata has at most 50 keys of 40 characters with values of 500, and keeps any key', async () => {
  const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`key${at}`, 'v']));
  const methods = { toString: 'a', constructor: 'b', hasOwnProperty: 'c' };
  await takes('metadata', keys(50), { ['k'.repeat(40)]: 'v' }, { ['😀'.repeat(40)]: 'v' }, { a: '' }, {}, methods);
  await takes('metadata', { a: 'v'.repeat(500) }, { a: '😀'.repeat(500) });
  await refuses('metadata', [keys(51), { ...keys(50), ...proto('v') }]);
  const wrong: readonly (readonly [key: string, value: unknown])[] = [
    ...([
      ['note', 'v'.repeat(501)],
      ['note', '😀'.repeat(501)],
      ['a', '\ude00'],
      ['k'.repeat(41), 'v'],
    ] as const),
    ...([
      ['__proto__', 'v'.repeat(501)],
      ['__proto__', 1],
    ] as const),
  ];
  for (const [key, value] of wrong) {
    await refusesAll(`metadata.${key}`, [order({ metadata: Object.fromEntries([[key, value]]) })]);
  }
  // A long key is cut in the answer.
  await refusesAll(`metadata.${'k'.repeat(191)}`, [order({ metadata: { ['k'.repeat(5000)]: 'v' } })]);
  const { json } = await api.send('POST', CREATE, order({ metadata: { ...proto('kept'), other: 'too' } }));
  const { metadata } = json as { metadata: Body };
  assert.equal(Object.entries(metadata).slice(1), Object.entries({ ...proto('kept'), other: 'too' }));
});

test('unknown fields are ignored at any depth', async () => {
  await takesAll(order({ foo: 1, mode: 'payment', payment_method_types: 'card', amount_total: 'x' }));
  await takes(`${ITEM}.sku`, 7);
  await takes(`${PRICE}.tax`, {});
  await takes(`${PRODUCT}.images`, []);
});

test.after(() => api.close());
test.run();
