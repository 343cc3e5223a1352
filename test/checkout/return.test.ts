/** The way back to the shop: where it leads, and who is sent there without asking for it. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { successLink } from '../../src/checkout/return.ts';
import { type ApiServer, withApi } from '../support/api-server.ts';
import { confirmTip, openSale, paidSale } from '../support/payment-scenes.ts';
import { exchange } from '../support/signed-client.ts';

const SHOP = 'https://shop.example/thanks';

test('the session is named in the query, and what the shop wrote stays as it is', () => {
  for (const [given, expected] of [
    [SHOP, `${SHOP}?session_id=cs_1`],
    [`${SHOP}?order=a%20b&x=é`, `${SHOP}?order=a%20b&x=é&session_id=cs_1`],
    [`${SHOP}?`, `${SHOP}?session_id=cs_1`],
    [`${SHOP}#/done?a`, `${SHOP}?session_id=cs_1#/done?a`],
    [`${SHOP}?session_id=own`, `${SHOP}?session_id=own`],
  ]) {
    assert.is(successLink(given ?? '', 'cs_1'), expected);
  }
});

const pageOf = async (api: ApiServer, path: string) => (await exchange('GET', api.baseUrl + path)).text;
const isReturned = (text: string) =>
  [/<meta http-equiv="refresh" content="5; url=/, /id="return"/].map((one) => one.test(text));

test('a payer who has just paid is sent to the shop; the link to stay takes that away', () =>
  withApi({ pages: true }, async (api) => {
    const sale = await paidSale(api, { success_url: SHOP });
    const text = await pageOf(api, sale.path);
    assert.equal(isReturned(text), [true, true]);
    assert.ok(text.includes(`data-to="${SHOP}?session_id=${sale.id}"`));
    assert.match(text, /href="\?stay=1"/);
    assert.equal(isReturned(await pageOf(api, `${sale.path}?stay=1`)), [false, false]);
    const etag = (await exchange('GET', api.baseUrl + sale.path)).headers.etag ?? '';
    api.clock.advance(301_000);
    assert.equal(isReturned(await pageOf(api, sale.path)), [false, false], 'later, the receipt is what somebody wants');
    const again = await exchange('GET', api.baseUrl + sale.path, { 'If-None-Match': etag });
    assert.is(again.status, 200, 'a browser does not show its copy, which would return');
  }));

test('nobody is sent away before paying, from a notice that must be read, from a frame, or to nowhere', () =>
  withApi({ pages: true }, async (api) => {
    const open = await openSale(api, { success_url: SHOP });
    assert.equal(isReturned(await pageOf(api, open.path)), [false, false]);
    await open.send('10.50');
    assert.equal(isReturned(await pageOf(api, open.path)), [false, false], 'seen');
    const over = await openSale(api, { success_url: SHOP });
    await over.send('12.50');
    await confirmTip(api);
    const text = await pageOf(api, over.path);
    assert.match(text, /2\.00 USDT more than was due/);
    assert.equal(isReturned(text), [false, false], 'overpaid');
    assert.equal(isReturned(await pageOf(api, (await paidSale(api)).path)), [false, false], 'no success_url');
    const framed = await paidSale(api, { success_url: SHOP });
    await api.database().stores.update(api.merchantId, { embedOrigins: ['https://shop.example'] });
    const inFrame = await pageOf(api, `${framed.path}?parent=https%3A%2F%2Fshop.example`);
    assert.equal(isReturned(inFrame), [false, false], 'framed');
  }));

test.run();
