/** Looking up a transaction for a payer whose payment does not show up, over HTTP and without scripts. */
import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readTransaction } from '../../src/checkout/lookup.ts';
import type { TransactionReport } from '../../src/core/lookup.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import { type ApiServer, withApi } from '../support/api-server.ts';
import { openSale, pass, type Sale } from '../support/payment-scenes.ts';
import { exchange } from '../support/signed-client.ts';

const HASH = `0x${'0123456789abcdef'.repeat(4)}`;
const SIGNATURE = '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW';

const textOf = (html: string): string =>
  html
    .replace(/<[^>]+>/g, ' ')
    .replace(/&#39;/g, "'")
    .replace(/\s+/g, ' ')
    .trim();
const answerOf = (html: string): string =>
  textOf(/<div id="look-up-answer">([\s\S]*?)<\/details>/.exec(html)?.[1] ?? 'no answer');

/** Sends the form like a browser without scripts, and follows the redirect to the page. */
async function ask(api: ApiServer, sale: Sale, pasted: string): Promise<string> {
  const form = new URLSearchParams({ transaction: pasted });
  const response = await fetch(`${api.baseUrl}${sale.path}/look-up?lang=en`, { method: 'POST', body: form });
  assert.is(response.status, 200);
  assert.match(response.url, 'tx=');
  return response.text();
}

const show = async (api: ApiServer, sale: Sale, pasted: string): Promise<string> =>
  (await exchange('GET', `${api.baseUrl}${sale.path}?tx=${encodeURIComponent(pasted)}`)).text;

/** The transaction report of an indexer, for the database to judge. */
async function sight(api: ApiServer, network: NetworkKey, report: TransactionReport): Promise<void> {
  const nowMs = api.clock.nowMs();
  for (const due of await api.database().lookups.claim(network, nowMs, 10)) {
    await api.database().lookups.answer({ ...due, report, nowMs });
  }
}

async function keyOf(api: ApiServer, sale: Sale): Promise<string> {
  return (await api.database().sessions.find(sale.id))?.addresses.evm ?? '';
}

const mined = (to: string, more: Partial<Extract<TransactionReport, { kind: 'mined' }>> = {}): TransactionReport => ({
  kind: 'mined',
  number: 10_000,
  succeeded: true,
  transfers: [{ to, currency: 'USDT' }],
  ...more,
});

test('pasted text is understood: a hash, a link to an explorer, a hash broken over lines', () => {
  const evm = (text: string) => readTransaction(text).get('evm');
  for (const text of [
    HASH,
    HASH.slice(2).toUpperCase(),
    ` ${HASH}\n`,
    `https://etherscan.io/tx/${HASH}`,
    `https://bscscan.com/tx/${HASH}#eventlog`,
    `https://blockchair.com/ethereum/transaction/${HASH}?from=app`,
    `TxID: ${HASH}.`,
    `${HASH.slice(0, 30)}\n${HASH.slice(30)}`,
  ]) {
    assert.is(evm(text), HASH, text);
  }
  const tron = readTransaction(`https://tronscan.org/#/transaction/${HASH.slice(2)}`);
  assert.equal([tron.get('tron'), tron.get('evm'), tron.has('solana')], [HASH.slice(2), HASH, false]);
  for (const text of [SIGNATURE, `https://solscan.io/tx/${SIGNATURE}?cluster=devnet`]) {
    assert.equal([...readTransaction(text)], [['solana', SIGNATURE]]);
  }
});

test('text without a transaction has none, whatever it is', () => {
  const no = [
    '',
    'order-1001',
    `0x${'ab'.repeat(20)}`,
    'TJCx4A1XzNvy32sqbmi86xcURieiVjKhUR',
    HASH.slice(0, -1),
    `${HASH}0`,
  ];
  for (const text of [...no, SIGNATURE.slice(8), `1${SIGNATURE}`, 'https://shop.example/thanks']) {
    assert.is(readTransaction(text).size, 0, text);
  }
  fc.assert(fc.property(fc.string({ maxLength: 1000, unit: 'binary' }), (text) => readTransaction(text).size < 4));
});

test('garbage is answered at once, without a lookup', () =>
  withApi({ pages: true }, async (api) => {
    const sale = await openSale(api);
    const text = await ask(api, sale, '"><script>alert(1)</script>');
    assert.match(answerOf(text), /^That is not a transaction hash/);
    assert.not.match(text, '<script>alert');
    assert.equal(await api.database().lookups.list(sale.id), []);
  }));

test('the page says that a network without a follower does not answer', () =>
  withApi({ pages: true }, async (api) => {
    const sale = await openSale(api);
    await ask(api, sale, HASH);
    await sight(api, 'test:ethereum', { kind: 'unknown' });
    await api.chain('bsc').report('fault');
    const text = answerOf(await show(api, sale, HASH));
    assert.match(
      text,
      /^Not found on Ethereum \(ERC20\) so far.* Not reachable right now: BNB Smart Chain \(BEP20\)\./,
    );
  }));

test('each result has its text', () =>
  withApi({ pages: true }, async (api) => {
    const sale = await openSale(api, { currency: 'USDT' });
    const other = await openSale(api);
    const own = await keyOf(api, sale);
    const cases: readonly (readonly [NetworkKey, TransactionReport, RegExp])[] = [
      ['test:ethereum', { kind: 'waiting' }, /^Ethereum \(ERC20\) knows it, but no block includes it yet/],
      ['test:ethereum', mined(own, { succeeded: false }), /^It failed on Ethereum \(ERC20\)/],
      ['test:ethereum', mined('ee'.repeat(20)), /^Found on Ethereum \(ERC20\): it did not go to this order’s address/],
      ['test:bsc', mined(await keyOf(api, other)), /^Found on BNB Smart Chain \(BEP20\): it belongs to another order/],
      [
        'test:ethereum',
        mined(own, { transfers: [{ to: own, currency: 'USDC' }] }),
        /another token.*only be paid in USDT/,
      ],
      ['live:ethereum', mined(own), /^Found on Ethereum \(ERC20\): .*this order is a test and takes play money only/],
      ['test:ethereum', mined(own), /it came to this order’s address\. It does not count yet/],
      [
        'test:ethereum',
        mined(own, { number: 0 }),
        /in a block that we read without seeing it\. A lookup alone does not count as payment/,
      ],
    ];
    for (const [at, [network, report, words]] of cases.entries()) {
      const tx = `0x${String(at).padStart(64, '0')}`;
      api.clock.advance(60_000);
      await api.chain('ethereum').report('following');
      await api.chain('bsc').report('following');
      await ask(api, sale, tx);
      await sight(api, network, report);
      const text = await show(api, sale, tx);
      assert.match(answerOf(text), words);
      assert.not.ok(text.includes(other.id), 'nobody is told whose order it is');
    }
  }));

test('lookups are limited for each session, and the page says how long to wait', () =>
  withApi({ pages: true }, async (api) => {
    const sale = await openSale(api);
    const send = async (path: string, n: number) => {
      const body = new URLSearchParams({ transaction: `0x${String(n).padStart(64, '0')}` });
      return fetch(`${api.baseUrl}${path}/look-up`, { method: 'POST', body, redirect: 'manual' });
    };
    const isRefused = async (path: string, n: number) => {
      const { status, headers } = await send(path, n);
      assert.is(status, 303);
      return new URL(String(headers.get('location')), api.baseUrl).searchParams.has('wait');
    };
    for (let n = 0; n < 6; n++) assert.not(await isRefused(sale.path, n));
    const refused = String((await send(sale.path, 7)).headers.get('location'));
    const { text } = await exchange('GET', new URL(refused, `${api.baseUrl}${sale.path}/look-up`).href);
    assert.match(answerOf(text), /^That was a lot of lookups\. Please wait 10 seconds/);
    assert.is((await api.database().lookups.list(sale.id)).length, 18, 'six questions to three networks');
    assert.not(await isRefused((await openSale(api)).path, 8), 'another session has its own limit');
    api.clock.advance(10_000);
    assert.not(await isRefused(sale.path, 9));
    let asked = 0;
    for (; asked < 60; asked++) {
      if (await isRefused((await openSale(api)).path, asked)) break;
    }
    assert.ok(asked < 40, `one address may ask ${asked} more`);
    assert.is((await send('/pay/cs_00000000000000000000000000', 1)).status, 404);
  }));

test('the page of an ended session is live again during a lookup', () =>
  withApi({ pages: true }, async (api) => {
    const sale = await openSale(api);
    await pass(api, 1801);
    assert.match(await show(api, sale, HASH), 'data-live=""');
    await ask(api, sale, HASH);
    assert.match(await show(api, sale, HASH), 'data-live="yes"');
    const etag = String((await exchange('GET', `${api.baseUrl}${sale.path}?tx=${HASH}`)).headers.etag);
    await sight(api, 'test:ethereum', mined('ee'.repeat(20)));
    await sight(api, 'test:bsc', mined('ee'.repeat(20)));
    await sight(api, 'live:ethereum', mined('ee'.repeat(20)));
    const fresh = await exchange('GET', `${api.baseUrl}${sale.path}?tx=${HASH}`, { 'If-None-Match': etag });
    assert.is(fresh.status, 200, 'an answer is another page');
    assert.match(fresh.text, 'data-live=""');
  }));

test.run();
