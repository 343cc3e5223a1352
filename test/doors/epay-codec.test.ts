import { createHash } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as epay from '../../src/doors/epay/codec.ts';
import { isDoorFault } from '../../src/doors/faults.ts';
import { type Fields, findRecut, readFields, verify } from '../../src/doors/signed.ts';
import { cleanName, methodOf, readMoney } from '../../src/doors/words.ts';
import { addQuery } from '../../src/lib/form.ts';
import { answerOf, type EpayClient, epayClients, signedBy } from './epay-clients.ts';
import { paidDoorOrder } from './paid-order.ts';
import { md5Of } from './requests.ts';

const KEY = 'Qs7kEpayTestKey0000000000000001';
const door = { key: KEY, currency: 'CNY' };

/** Returns what a door reads from a client's request. */
function read({ sends, signs }: EpayClient, changes: Readonly<Record<string, string>> = {}, key = KEY) {
  const sign = signedBy(Object.entries(sends), signs, key);
  const fields = readFields(new URLSearchParams({ ...sends, sign, sign_type: 'MD5', ...changes }).toString());
  assert.not(isDoorFault(fields));
  return isDoorFault(fields) ? fields : epay.readOrder(fields, door);
}

for (const client of epayClients) {
  test(`${client.name}: its request is an order, its notice is accepted and acknowledged, a forged one is not`, () => {
    const order = read(client);
    assert.not(isDoorFault(order), JSON.stringify(order));
    if (isDoorFault(order)) return;
    assert.is(Number(order.terms.money), Number(client.sends.money));
    assert.is(order.terms.type, client.sends.type ?? 'usdt');
    assert.equal(read(client, {}, `${KEY}2`), { field: 'sign', code: 'signature' });
    assert.equal(read(client, { money: '0.01' }), { field: 'sign', code: 'signature' });

    const paid = paidDoorOrder({ ...order, tradeNo: '12345678901234567890123456789012' });
    const url = new URL(addQuery(order.terms.notifyUrl, epay.notice(paid, KEY)));
    const answer = answerOf(client, url.searchParams, KEY);
    assert.is(answer, client.answers[0]);
    assert.ok(epay.isAccepted(200, answer));
    const forged = answerOf(client, url.searchParams, `${KEY}2`);
    assert.is(forged, client.answers[1]);
    assert.not(epay.isAccepted(200, forged));
    // The request itself is no notice.
    assert.is(answerOf(client, new URLSearchParams(client.sends), KEY), client.answers[1]);

    const created: Readonly<Record<string, unknown>> = epay.createdAnswer(paid, 'https://pay.example/pay/cs_1');
    assert.is(created.code, 1);
    if (client.opens) {
      assert.is(
        created[client.opens.find((name) => created[name] !== undefined) ?? ''],
        'https://pay.example/pay/cs_1',
      );
    }
  });
}

/** Reads a text as it is before it is signed, where nothing is escaped. */
const fieldsOf = (text: string): Fields =>
  new Map(text.split('&').map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));

const NEW_API =
  'device=pc&money=73.00&name=TUC10&notify_url=https://panel.example/api/user/epay/notify&out_trade_no=USR7NO1a2B3c1764300000&pid=1001&return_url=https://panel.example/console/log&type=alipay';

/** Texts before the key, with the MD5 that clients' own code makes of them. */
const vectors: readonly (readonly [client: string, text: string, md5: string, key?: string])[] = [
  ['new-api', NEW_API, 'eab7a60e9798533fcdcfe06341b539bf'],
  [
    'V2Board',
    'money=9.9&name=2026112814000012345678&notify_url=https://v2.example/api/v1/guest/payment/notify/EPay/AbC123&out_trade_no=2026112814000012345678&pid=1001&return_url=https://v2.example/#/order/2026112814000012345678',
    'b371fcb1e99072de1877c3e35f49666d',
  ],
  [
    'acg-faka, which keeps an empty field',
    'money=5&name=260001&notify_url=https://acg.example/user/api/order/callback.Epay&out_trade_no=260001&pid=1001&return_url=https://acg.example/user/index/query?tradeNo=260001&sitename=&type=alipay',
    '6245504bcb14147abc62d5ecc4fe9f4b',
  ],
  [
    'acg-faka’s fields, the empty one dropped',
    'money=5&name=260001&notify_url=https://acg.example/user/api/order/callback.Epay&out_trade_no=260001&pid=1001&return_url=https://acg.example/user/index/query?tradeNo=260001&sitename=&type=alipay',
    '51a570fd872c96187db5e1f4b1b9b107',
  ],
  [
    'the wiki of GMWalletApp/epusdt',
    'money=100&name=VIP&notify_url=https://merchant.example/notify&out_trade_no=ORD202605230001&pid=1000&return_url=https://merchant.example/return&type=alipay',
    'b865b0acbb2b01554c35a1bd33351452',
    'epusdt_secret_key',
  ],
];

for (const [client, text, md5, key = KEY] of vectors) {
  test(`the request’s signature of ${client} is verified`, () => {
    const fields = fieldsOf(text);
    assert.is(verify(fields, md5, key, ['md5']), 'md5');
    assert.is(verify(fields, md5.toUpperCase(), key, ['md5']), 'md5');
    assert.is(verify(fields, md5, `${key.slice(0, -1)}2`, ['md5']), null);
    assert.is(verify(new Map(fields).set('money', '0.01'), md5, key, ['md5']), null);
  });
}

test('a text is signed with or without what is empty, and with or without backslashes', () => {
  const fields = new Map([
    ['a', ''],
    ['b', 'x\\y'],
  ]);
  for (const text of ['b=x\\y', 'a=&b=x\\y', 'a=&b=xy', 'b=xy']) {
    const md5 = createHash('md5').update(`${text}${KEY}`).digest('hex');
    assert.is(verify(fields, md5, KEY, ['md5']), 'md5', text);
  }
});

test('a notice has the seven fields and the signature that clients compute', () => {
  for (const [name, md5] of [
    ['TUC10', '4c6aac6d43239909f3b10d8318959f6d'],
    ['测试商品', '9ce0cebdd65cad8037230e1b77a1aadf'],
  ] as const) {
    const order = paidDoorOrder({
      orderNo: 'USR7NO1a2B3c1764300000',
      tradeNo: '20261128140000123456',
      terms: { money: '73.00', name, type: 'alipay' },
    });
    const sent = epay.notice(order, KEY);
    assert.is([...sent.keys()].join(), 'pid,trade_no,out_trade_no,type,name,money,trade_status,sign,sign_type');
    assert.is(sent.get('sign'), md5);
    assert.is(sent.get('sign_type'), 'MD5');
  }
});

/** Returns what is read from fields with the right signature. */
function readSigned(fields: Fields) {
  const sign = md5Of(Object.fromEntries(fields), KEY);
  return epay.readOrder(new Map([...fields, ['sign', sign], ['sign_type', 'MD5']]), door);
}
const request = (changes: Readonly<Record<string, string>> = {}): Fields =>
  new Map([...fieldsOf(NEW_API), ...Object.entries(changes)]);

test('a request becomes an order and its terms', () => {
  assert.equal(readSigned(request({ param: 'a1', money: '73.0000', name: ' Gold & "more"=1 ', type: 'usdc_bep20' })), {
    orderNo: 'USR7NO1a2B3c1764300000',
    terms: {
      money: '73.00',
      name: 'Gold  more1',
      notifyUrl: 'https://panel.example/api/user/epay/notify',
      returnUrl: 'https://panel.example/console/log',
      param: 'a1',
      type: 'usdc_bep20',
      method: { network: 'bsc', coin: 'USDC' },
      spelling: 'shortest',
      algorithm: 'md5',
    },
  });
});

test('a request without type, name and return gets a type, the order’s number as its name, and no return', () => {
  const order = readSigned(request({ type: '', name: '&&', return_url: '' }));
  assert.not(isDoorFault(order));
  if (isDoorFault(order)) return;
  const { type, name, returnUrl, method } = order.terms;
  assert.equal([type, name, returnUrl, method], ['usdt', 'USR7NO1a2B3c1764300000', null, null]);
});

const refused: readonly (readonly [field: string, code: string, changes: Readonly<Record<string, string>>])[] = [
  ['money', 'malformed', { money: '10.001' }],
  ['money', 'malformed', { money: '0.00' }],
  ['money', 'malformed', { money: '-1' }],
  ['money', 'malformed', { money: '1e3' }],
  ['money', 'missing', { money: '' }],
  ['out_trade_no', 'malformed', { out_trade_no: 'a b' }],
  ['out_trade_no', 'malformed', { out_trade_no: 'a'.repeat(65) }],
  ['notify_url', 'malformed', { notify_url: 'ftp://panel.example/' }],
  ['notify_url', 'malformed', { notify_url: 'https://panel.example/'.padEnd(1025, 'a') }],
  ['return_url', 'malformed', { return_url: 'javascript:alert(1)' }],
  ['param', 'malformed', { param: 'a&b' }],
  ['type', 'malformed', { type: "usdt'" }],
  ['type', 'method_off', { type: 'usdt.polygon' }],
  ['currency', 'currency', { currency: 'USD' }],
  ['currency', 'currency', { fiat: 'usd' }],
  ['name', 'recut', { name: 'x&trade_status=TRADE_SUCCESS' }],
  ['return_url', 'recut', { return_url: 'https://a.example/&trade_no=1' }],
];
for (const [field, code, changes] of refused) {
  test(`a signed request with ${JSON.stringify(changes).slice(0, 60)} is refused by its field`, () => {
    assert.equal(readSigned(request(changes)), { field, code });
  });
}

test('a URL may have parameters that cannot be cut out of the sorted text', () => {
  const url = 'https://panel.example/r?x=1&pid=7&money=5&type=a';
  assert.is(
    findRecut(request({ return_url: url }), ['money', 'out_trade_no', 'pid', 'trade_no', 'trade_status']),
    null,
  );
  assert.not(isDoorFault(readSigned(request({ return_url: url }))));
  assert.not(isDoorFault(readSigned(request({ return_url: 'https://panel.example/'.padEnd(1024, 'a') }))));
});

test('a signature that is missing, wrong or of another kind is refused', () => {
  assert.equal(epay.readOrder(request(), door), { field: 'sign', code: 'missing' });
  assert.equal(epay.readOrder(request({ sign: '0'.repeat(32) }), door), { field: 'sign', code: 'signature' });
  assert.equal(epay.readOrder(request({ sign: 'x', sign_type: 'RSA' }), door), {
    field: 'sign_type',
    code: 'malformed',
  });
});

test('parameters that two readers could understand differently are refused', () => {
  const table: readonly (readonly [text: string, field: string, code: string])[] = [
    ['a=1&a=2', 'a', 'duplicate'],
    ['a[]=1', 'request', 'malformed'],
    ['a%5B%5D=1', 'request', 'malformed'],
    ['a=%00', 'a', 'malformed'],
    ['a=%0A', 'a', 'malformed'],
    ['a=%FF', 'a', 'malformed'],
    ['a=\ufffd', 'a', 'malformed'],
    ['=1', 'request', 'malformed'],
    [`a=${'1'.repeat(8192)}`, 'request', 'too_large'],
  ];
  for (const [text, field, code] of table) assert.equal(readFields(text), { field, code }, text.slice(0, 20));
  assert.equal(
    [...(readFields('a=%E6%B5%8B+1&b=&&c') as Fields)],
    [
      ['a', '测 1'],
      ['b', ''],
      ['c', ''],
    ],
  );
});

test('amounts have two decimals, whatever zeros came', () => {
  const table = {
    '10': '10.00',
    '9.9': '9.90',
    '0.01': '0.01',
    '10.0000': '10.00',
    '1000000': '1000000.00',
    '007': '7.00',
  };
  for (const [text, money] of Object.entries(table)) assert.is(readMoney(text), money);
  for (const text of ['', '.5', '1.', '1,5', ' 1', '1000000000', '9.90001', '١'] as const) {
    assert.is(readMoney(text), null, text);
  }
});

test('coin words name a way to pay, and other words leave it to the payer', () => {
  const tron = { network: 'tron', coin: 'USDT' };
  for (const type of ['usdt.trc20', 'usdt_trc20', 'usdt-trc20', 'USDT.TRC20', 'usdt.tron']) {
    assert.equal(methodOf(type), tron, type);
  }
  assert.equal(methodOf('usdc.spl'), { network: 'solana', coin: 'USDC' });
  assert.equal(methodOf('usdt.binance'), { network: 'bsc', coin: 'USDT' });
  for (const type of ['', 'alipay', 'wxpay', 'usdt', 'epusdt', 'crypto', 'tron.trx'])
    assert.is(methodOf(type), null, type);
  assert.is(methodOf('usdt.plasma'), 'unknown');
});

test('a name that is signed has nothing to cut at, and at most 127 bytes', () => {
  assert.is(cleanName(' a&b=c\\d"e\'f<g>h\n '), 'abcdefgh');
  assert.is(cleanName('测'.repeat(100)), '测'.repeat(42));
  assert.is(cleanName('n'.repeat(128)), 'n'.repeat(127));
});

test('an acknowledgement is the word or its JSON with status 200, not a page that contains it', () => {
  const accepted = [
    'success',
    'SUCCESS',
    ' Success\n',
    '\ufeffok',
    'success!',
    '{"state":"success","msg":"x"}',
    '{"msg":"ok"}',
  ];
  for (const body of accepted) assert.ok(epay.isAccepted(200, body), body);
  for (const body of [
    '',
    'fail',
    '<p>success</p>',
    'unsuccess',
    'successful',
    'okay',
    '{"state":"fail"}',
    '{',
    '{"code":200}',
  ]) {
    assert.not(epay.isAccepted(200, body), body);
  }
  assert.not(epay.isAccepted(500, 'success'));
});

test('an order is shown as paid only if it is', () => {
  const paid = paidDoorOrder({});
  const order = { ...paid, createdAtMs: Date.UTC(2026, 10, 28, 6), paidAtS: Date.UTC(2026, 10, 28, 7) / 1000 };
  const shown = (isPaid: boolean, method: string) =>
    epay.orderAnswer(order, isPaid ? paid : null, { pid: 1001, method, pageUrl: 'https://pay.example/pay/cs_1' });
  assert.is(shown(false, 'GET').status, '0');
  assert.is(shown(false, 'POST').status, 0);
  assert.is(shown(true, 'GET').status, '1');
  assert.is(shown(true, 'POST').status, 1);
  assert.not(JSON.stringify(shown(false, 'GET')).includes('TRADE_SUCCESS'));
  const { addtime, endtime } = shown(true, 'GET');
  assert.equal({ addtime, endtime }, { addtime: '2026-11-28 14:00:00', endtime: '2026-11-28 15:00:00' });
});

test('fields go before a URL’s fragment, after its query', () => {
  const fields = new Map([['a', 'b c']]);
  assert.is(addQuery('https://v2.example/#/order/1', fields), 'https://v2.example/?a=b+c#/order/1');
  assert.is(addQuery('https://a.example/n?x=1', fields), 'https://a.example/n?x=1&a=b+c');
  assert.is(addQuery('https://a.example/n?', fields), 'https://a.example/n?a=b+c');
});

test.run();
