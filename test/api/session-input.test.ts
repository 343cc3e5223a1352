import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startApi } from '../support/api-server.ts';
import { expectError } from './expect-error.ts';

const api = await startApi();
const CREATE = '/api/v1/checkout/sessions/create';
const INT_MAX = Number.MAX_SAFE_INTEGER;

type Body = Record<string, unknown>;
let orders = 0;
const order = (more: Body = {}): Body => ({ amount: 1050, currency: 'USD', order_id: `input-${++orders}`, ...more });

/** Returns a body with these line items and the matching amount. */
const withItems = (...items: unknown[]): Body => order({ line_items: items });
const item = (more: Body = {}, price: Body = {}, product: Body = {}): Body => ({
  price_data: { currency: 'USD', unit_amount: 1050, product_data: { name: 'Coffee', ...product }, ...price },
  ...more,
});

const countSessions = async () => JSON.stringify((await api.database().reports.stats(api.clock.nowMs())).sessions);

/** Each row: what is wrong, the body, the parameter that is named, and the code if it is not `invalid_parameter`. */
async function expectRefused(rows: readonly (readonly [string, Body | string, string, string?])[]): Promise<void> {
  const before = await countSessions();
  for (const [what, body, param, code = 'invalid_parameter'] of rows) {
    expectError(
      await api.send('POST', CREATE, body),
      { status: 400, code, param },
      `${what}: ${JSON.stringify(body).slice(0, 200)}`,
    );
  }
  assert.is(await countSessions(), before, 'nothing was created');
}

async function expectTaken(rows: readonly (readonly [string, Body | string])[]): Promise<void> {
  for (const [what, body] of rows) {
    const answer = await api.send('POST', CREATE, body);
    assert.is(answer.status, 200, `${what}: ${answer.text}`);
  }
}

const without = (field: string): Body => Object.fromEntries(Object.entries(order()).filter(([name]) => name !== field));

test('a missing required parameter is named, and null counts as missing', () =>
  expectRefused([
    ...['amount', 'currency', 'order_id'].flatMap((field): [string, Body, string, string][] => [
      ['absent', without(field), field, 'missing_parameter'],
      ['null', order({ [field]: null }), field, 'invalid_parameter'],
    ]),
    ['empty object', {}, 'amount', 'missing_parameter'],
    ['no price_data', withItems({}), 'line_items[0].price_data', 'missing_parameter'],
    ['null price_data', withItems({ price_data: null }), 'line_items[0].price_data', 'invalid_parameter'],
    [
      'no currency',
      withItems(item({}, { currency: undefined })),
      'line_items[0].price_data.currency',
      'missing_parameter',
    ],
    [
      'no unit_amount',
      withItems(item({}, { unit_amount: undefined })),
      'line_items[0].price_data.unit_amount',
      'missing_parameter',
    ],
    [
      'no product_data',
      withItems(item({}, { product_data: undefined })),
      'line_items[0].price_data.product_data',
      'missing_parameter',
    ],
    [
      'no name',
      withItems(item({}, {}, { name: undefined })),
      'line_items[0].price_data.product_data.name',
      'missing_parameter',
    ],
    [
      'in the third item',
      withItems(item(), item(), item({}, { unit_amount: undefined })),
      'line_items[2].price_data.unit_amount',
      'missing_parameter',
    ],
  ]));

test('null in an optional parameter means absent', () =>
  expectTaken([
    [
      'all null',
      order({
        description: null,
        line_items: null,
        tax_amount: null,
        shipping_amount: null,
        success_url: null,
        cancel_url: null,
        metadata: null,
        expires_in: null,
      }),
    ],
    ['in an item', withItems(item({ quantity: null }, {}, { description: null }))],
    ['no line items', order({ line_items: [] })],
  ]));

test('wrong types are refused for every parameter', () => {
  const wrong: Record<string, readonly unknown[]> = {
    amount: ['1050', '', true, [1050], { value: 1050 }],
    currency: [1, true, ['USD'], {}],
    order_id: [1, true, ['o'], {}],
    description: [1, false, [], {}],
    line_items: ['[]', 1, true, {}],
    tax_amount: ['0', true, [], {}],
    shipping_amount: ['0', false, [], {}],
    success_url: [1, true, [], {}],
    cancel_url: [1, true, [], {}],
    metadata: ['{}', 1, true, []],
    expires_in: ['600', true, [], {}],
  };
  const nested: [string, Body, string][] = [
    ['item', withItems('coffee'), 'line_items[0]'],
    ['item is a list', withItems([]), 'line_items[0]'],
    ['price_data', withItems({ price_data: 'x' }), 'line_items[0].price_data'],
    ['price currency', withItems(item({}, { currency: 5 })), 'line_items[0].price_data.currency'],
    ['unit_amount', withItems(item({}, { unit_amount: '1050' })), 'line_items[0].price_data.unit_amount'],
    ['product_data', withItems(item({}, { product_data: [] })), 'line_items[0].price_data.product_data'],
    ['name', withItems(item({}, {}, { name: 7 })), 'line_items[0].price_data.product_data.name'],
    ['empty name', withItems(item({}, {}, { name: '' })), 'line_items[0].price_data.product_data.name'],
    [
      'product description',
      withItems(item({}, {}, { description: 7 })),
      'line_items[0].price_data.product_data.description',
    ],
    ['quantity text', withItems(item({ quantity: '1' })), 'line_items[0].quantity'],
    ['metadata number', order({ metadata: { size: 7 } }), 'metadata.size'],
    ['metadata null', order({ metadata: { a: 'x', size: null } }), 'metadata.size'],
    ['metadata object', order({ metadata: { size: { cm: '7' } } }), 'metadata.size'],
  ];
  const flat = Object.entries(wrong).flatMap(([field, values]) =>
    values.map((value) => [field, order({ [field]: value }), field] as const),
  );
  return expectRefused([...flat, ...nested]);
});

test('integers must be written in digits, exactly', () => {
  const raw = (amount: string) => `{"amount":${amount},"currency":"USD","order_id":"input-${++orders}"}`;
  const refused = [
    '1.5',
    '1050.0',
    '1e3',
    '1E3',
    '1050e0',
    '10500e-1',
    '9007199254740992',
    '9007199254740993',
    '9007199254740990.6',
  ];
  const huge = [
    '9223372036854775807',
    '9223372036854775808',
    '1e400',
    '-1',
    '-0',
    '0',
    '0.0000000000000000000001',
    '-1e2',
  ];
  const others = ['tax_amount', 'shipping_amount', 'expires_in'].flatMap((field) =>
    ['1.0', '6e1', '61.0', '60.5'].map((text): [string, string, string] => [
      `${field} ${text}`,
      `{"amount":1050,"currency":"USD","order_id":"input-x","${field}":${text}}`,
      field,
    ]),
  );
  const items = ['1.0', '1e0', '0.5'].flatMap((text): [string, string, string][] => [
    [
      `quantity ${text}`,
      `{"amount":1050,"currency":"USD","order_id":"input-x","line_items":[{"quantity":${text},"price_data":{"currency":"USD","unit_amount":1050,"product_data":{"name":"1.0"}}}]}`,
      'line_items[0].quantity',
    ],
    [
      `unit_amount ${text}`,
      `{"amount":1050,"currency":"USD","order_id":"input-x","line_items":[{"price_data":{"currency":"USD","unit_amount":${text},"product_data":{"name":"n"}}}]}`,
      'line_items[0].price_data.unit_amount',
    ],
  ]);
  return expectRefused([
    ...[...refused, ...huge].map((text): [string, string, string] => [text, raw(text), 'amount']),
    ...others,
    ...items,
  ]);
});

test('numbers inside strings are not checked', () =>
  expectTaken([
    ['fraction', `{"amount":1050,"currency":"USD","order_id":"1.0 \\"2.0\\" \\\\","metadata":{"3.0":"4.0"}}`],
    ['unknown field', `{"amount":1050,"currency":"USD","order_id":"input-n","weight":1.0}`],
  ]));

test('amounts at the edges', async () => {
  await expectTaken([
    ['least', order({ amount: 1 })],
    ['largest', order({ amount: INT_MAX })],
    ['tax and shipping make the whole amount', order({ amount: 30, tax_amount: 10, shipping_amount: 20 })],
    ['tax and shipping below the amount', order({ amount: 31, tax_amount: 10, shipping_amount: 20 })],
    ['zero tax', order({ tax_amount: 0, shipping_amount: 0 })],
    ['a free item', withItems(item(), item({ quantity: 3 }, { unit_amount: 0 }))],
    ['largest sum', order({ amount: INT_MAX, line_items: [item({ quantity: INT_MAX }, { unit_amount: 1 })] })],
  ]);
  await expectRefused([
    ['zero', order({ amount: 0 }), 'amount'],
    ['negative', order({ amount: -1050 }), 'amount'],
    ['negative tax', order({ tax_amount: -1 }), 'tax_amount'],
    ['negative shipping', order({ shipping_amount: -1 }), 'shipping_amount'],
    ['negative unit amount', withItems(item({}, { unit_amount: -1 })), 'line_items[0].price_data.unit_amount'],
    ['below tax and shipping', order({ amount: 29, tax_amount: 10, shipping_amount: 20 }), 'amount'],
    ['extras beyond exact numbers', order({ amount: INT_MAX, tax_amount: INT_MAX, shipping_amount: 1 }), 'amount'],
    ['quantity zero', withItems(item({ quantity: 0 })), 'line_items[0].quantity'],
    ['quantity negative', withItems(item({ quantity: -1 })), 'line_items[0].quantity'],
  ]);
});

test('the amount is the sum of items, tax and shipping', async () => {
  const items = [item({ quantity: 2 }, { unit_amount: 300 }), item({}, { unit_amount: 50 })];
  const extras = { tax_amount: 65, shipping_amount: 335 };
  await expectTaken([['exact', order({ amount: 1050, line_items: items, ...extras })]]);
  await expectRefused([
    ['one less', order({ amount: 1049, line_items: items, ...extras }), 'amount'],
    ['one more', order({ amount: 1051, line_items: items, ...extras }), 'amount'],
    ['without the tax', order({ amount: 1050, line_items: items, shipping_amount: 335 }), 'amount'],
    ['all items free', order({ amount: 1, line_items: [item({}, { unit_amount: 0 })] }), 'amount'],
    // As doubles, both products equal their neighbours.
    [
      'off by one at the edge',
      order({ amount: INT_MAX, line_items: [item({ quantity: INT_MAX }, { unit_amount: 1 })], tax_amount: 1 }),
      'amount',
    ],
    [
      'a huge product',
      order({ amount: INT_MAX, line_items: [item({ quantity: INT_MAX }, { unit_amount: INT_MAX })] }),
      'amount',
    ],
  ]);
});

test('at most 100 line items', async () => {
  const free = Array.from({ length: 99 }, () => item({}, { unit_amount: 0 }));
  await expectTaken([['100', withItems(item(), ...free)]]);
  await expectRefused([['101', withItems(item(), ...free, free[0]), 'line_items']]);
});

test('a currency that is not accepted is unsupported', () =>
  expectRefused(
    [
      'usd',
      'Usd',
      ' USD',
      'US',
      'USDX',
      'EURO',
      'XXX',
      'BTC',
      'CHF',
      'XAU',
      'DEM',
      '',
      '🪙',
      '__proto__',
      'constructor',
    ].map((currency) => [currency, order({ currency }), 'currency', 'unsupported_currency']),
  ));

test('an order id has 1 to 128 characters, none of them control characters', async () => {
  await expectTaken([
    ['one', order({ order_id: '1' })],
    ['128', order({ order_id: 'x'.repeat(128) })],
    ['128 code points', order({ order_id: '😀'.repeat(128) })],
    ['blanks are kept', order({ order_id: '  padded  ' })],
    ['any script', order({ order_id: 'Bestellung № 7 — 注文' })],
  ]);
  await expectRefused([
    ['empty', order({ order_id: '' }), 'order_id'],
    ['129', order({ order_id: 'y'.repeat(129) }), 'order_id'],
    ['129 code points', order({ order_id: '😀'.repeat(129) }), 'order_id'],
    ['newline', order({ order_id: 'a\nb' }), 'order_id'],
    ['NUL', order({ order_id: 'a\u0000' }), 'order_id'],
    ['C1', order({ order_id: 'a\u0085' }), 'order_id'],
    ['DEL', order({ order_id: 'a\u007f' }), 'order_id'],
    ['half a character', `{"amount":1,"currency":"USD","order_id":"a\\ud83d"}`, 'order_id'],
  ]);
  const kept = await api.send('POST', CREATE, order({ order_id: ' as sent ' }));
  assert.is((kept.json as { metadata: Body }).metadata.order_id, ' as sent ');
});

test('redirect URLs are absolute, https, at most 2048 characters', async () => {
  const long = (length: number) => `https://shop.example/${'p'.repeat(length - 21)}`;
  for (const field of ['success_url', 'cancel_url']) {
    await expectTaken([
      ['https', order({ [field]: 'https://shop.example/thanks?order={ORDER}#top' })],
      ['http in test mode', order({ [field]: 'http://localhost:3000/thanks' })],
      ['2048', order({ [field]: long(2048) })],
    ]);
    const wrong = [
      '/thanks',
      '//shop.example',
      'shop.example',
      'https:shop.example',
      'https://',
      'ftp://shop.example',
      'javascript:alert(1)',
      'https://shop.example/a b',
      ' https://shop.example',
      'https://shop.example/\n',
      'https://[',
      '',
      long(2049),
    ];
    await expectRefused(wrong.map((url) => [url, order({ [field]: url }), field]));

    const live = api.client(api.liveKey);
    assert.is((await live.send('POST', CREATE, order({ [field]: 'HTTPS://shop.example/' }))).status, 200);
    const refused = await live.send('POST', CREATE, order({ [field]: 'http://shop.example/' }));
    expectError(refused, { status: 400, code: 'invalid_parameter', param: field });
  }
});

/** Returns an object with its own key `__proto__`. */
const proto = (value: unknown): Body => Object.fromEntries([['__proto__', value]]);

test('the key __proto__ is kept like any other', async () => {
  const answer = await api.send('POST', CREATE, order({ metadata: { ...proto('kept'), other: 'too' } }));
  const { metadata } = answer.json as { metadata: Body };
  assert.equal(Object.entries(metadata).slice(1), Object.entries({ ...proto('kept'), other: 'too' }));
});

test('descriptions have at most 1000 characters and product names 500', async () => {
  const long = (characters: number) => '😀'.repeat(characters);
  await expectTaken([
    ['description', order({ description: long(1000) })],
    ['product', withItems(item({}, {}, { name: long(500), description: long(1000) }))],
  ]);
  const product = 'line_items[0].price_data.product_data';
  await expectRefused([
    ['description', order({ description: long(1001) }), 'description'],
    ['name', withItems(item({}, {}, { name: long(501) })), `${product}.name`],
    ['description of a product', withItems(item({}, {}, { description: long(1001) })), `${product}.description`],
  ]);
});

test('metadata has at most 50 keys of 40 characters with values of 500', async () => {
  const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`key${at}`, 'v']));
  const key = (length: number, letter = 'k') => letter.repeat(length);
  await expectTaken([
    ['50 keys', order({ metadata: keys(50) })],
    ['40 characters', order({ metadata: { [key(40)]: 'v' } })],
    ['40 code points', order({ metadata: { [key(40, '😀')]: 'v' } })],
    ['500 characters', order({ metadata: { a: 'v'.repeat(500) } })],
    ['500 code points', order({ metadata: { a: '😀'.repeat(500) } })],
    ['empty value', order({ metadata: { a: '' } })],
    ['empty', order({ metadata: {} })],
    ['a name that sets prototypes', `{"amount":1,"currency":"USD","order_id":"proto","metadata":{"__proto__":"kept"}}`],
    ['names of methods', order({ metadata: { toString: 'a', constructor: 'b', hasOwnProperty: 'c' } })],
  ]);
  await expectRefused([
    ['51 keys', order({ metadata: keys(51) }), 'metadata'],
    ['51 keys with one that sets prototypes', order({ metadata: { ...keys(50), ...proto('v') } }), 'metadata'],
    ['501 characters in it', order({ metadata: proto('v'.repeat(501)) }), 'metadata.__proto__'],
    ['a number in it', order({ metadata: proto(1) }), 'metadata.__proto__'],
    ['41 characters', order({ metadata: { [key(41)]: 'v' } }), `metadata.${key(41)}`],
    ['501 characters', order({ metadata: { note: 'v'.repeat(501) } }), 'metadata.note'],
    ['501 code points', order({ metadata: { note: '😀'.repeat(501) } }), 'metadata.note'],
    ['a long key is cut in the answer', order({ metadata: { [key(5000)]: 'v' } }), `metadata.${key(191)}`],
    ['half a character', `{"amount":1,"currency":"USD","order_id":"m","metadata":{"a":"\\ude00"}}`, 'metadata.a'],
  ]);
});

test('unknown fields are ignored at any depth', () =>
  expectTaken([
    ['on top', order({ foo: 1, mode: 'payment', payment_method_types: 'card', amount_total: 'x' })],
    ['in an item', withItems(item({ sku: 7 }, { tax: {} }, { images: [] }))],
  ]));

test.after(() => api.close());
test.run();
