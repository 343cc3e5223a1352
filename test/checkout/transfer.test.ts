/**
 * The transfer for a wallet, over HTTP: exactly what is due, only while it is due, only where it would be seen. And the
 * links for wallet apps, as a phone without scripts gets them.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import type { ApiServer } from '../support/api-server.ts';
import { pass } from '../support/payment-scenes.ts';
import { exchange } from '../support/signed-client.ts';
import { BSC_USDT, ETHEREUM_USDT, openWalletSale, openWalletShop, TRON_USDT } from './wallet-shop.ts';

const payer = {
  evm: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
  tron: 'TNPeeaaFB7K9cmo4uQpcU32zGK8G1NYqeL',
  solana: 'FnVH4h1QFLrHZBbxAFKRgVTjUb1wAmzWvjTRyJnBbFc8',
};
const DUE = String(10_500_000_000_000_000_000n);
const iPhone = { 'User-Agent': 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15' };

type World = { api: ApiServer };
const test = suite<World>('what a wallet is told to send');
test.before(async (world) => {
  world.api = await openWalletShop();
});
test.after(({ api }) => api.close());

const ask = async ({ api }: World, path: string, query: Record<string, string>) => {
  const { status, text } = await exchange('GET', `${api.baseUrl}${path}/transfer?${new URLSearchParams(query)}`);
  // biome-ignore lint/suspicious/noExplicitAny: every part that is used is asserted
  return { status, body: JSON.parse(text) as any };
};

const optionsOf = async ({ api }: World, id: string) => {
  const { json } = await api.send('GET', `/api/v1/checkout/sessions/${id}`);
  return (json as { payment_options: { network: string; address: string; deep_link: string }[] }).payment_options;
};

test('exactly what is due, on each network', async (world) => {
  const sale = await openWalletSale(world.api);
  const options = await optionsOf(world, sale.id);
  const addressOn = (name: string) => options.find(({ network }) => network === name)?.address ?? '';
  const evmKey = chains.evm.address.parse(addressOn('ethereum'));

  const onEthereum = await ask(world, sale.path, { pay: 'ethereum-USDT', due: DUE, from: payer.evm });
  assert.is(onEthereum.status, 200);
  assert.equal(onEthereum.body.transfer.transaction, {
    from: payer.evm,
    to: ETHEREUM_USDT,
    value: '0x0',
    data: `0xa9059cbb${'0'.repeat(24)}${evmKey}${(10_500_000).toString(16).padStart(64, '0')}`,
    chainId: '0x1',
  });
  const onBsc = await ask(world, sale.path, { pay: 'bsc-USDT', due: DUE, from: payer.evm });
  assert.equal(
    [onBsc.body.transfer.chainId, onBsc.body.transfer.transaction.to, onBsc.body.transfer.transaction.data.slice(-64)],
    ['0x38', BSC_USDT, BigInt(DUE).toString(16).padStart(64, '0')],
  );
  const onTron = await ask(world, sale.path, { pay: 'tron-USDT', due: DUE, from: payer.tron });
  assert.equal(onTron.body.transfer, {
    chainId: '0x2b6653dc',
    contract: TRON_USDT,
    from: payer.tron,
    to: addressOn('tron'),
    units: '10500000',
    feeLimit: 100_000_000,
  });
  await world.api.chain('solana').mine([], '4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY');
  const onSolana = await ask(world, sale.path, { pay: 'solana-USDT', due: DUE, from: payer.solana });
  assert.equal([onSolana.status, onSolana.body.transfer.chain], [200, 'solana:mainnet']);
});

test('the rest after a part payment, and nothing if the page showed another amount', async (world) => {
  const sale = await openWalletSale(world.api);
  await sale.send('4.25');
  const asked = (due: string) => ask(world, sale.path, { pay: 'ethereum-USDT', due, from: payer.evm });
  assert.equal(await asked(DUE), { status: 409, body: { problem: 'changed' } });
  const rest = await asked(String(6_250_000_000_000_000_000n));
  assert.is(rest.status, 200);
  assert.is(BigInt(`0x${rest.body.transfer.transaction.data.slice(-64)}`), 6_250_000n);
});

test('nothing once the payment was seen, the time is up, or the network is not followed', async (world) => {
  const query = { pay: 'ethereum-USDT', due: DUE, from: payer.evm };
  const changed = { status: 409, body: { problem: 'changed' } };
  const paid = await openWalletSale(world.api);
  await paid.send('10.50');
  assert.equal(await ask(world, paid.path, query), changed);
  assert.equal(await ask(world, paid.path, { ...query, due: '0' }), changed);

  const unwatched = await openWalletSale(world.api);
  await world.api.chain('ethereum').report('fault');
  assert.equal(await ask(world, unwatched.path, query), changed);

  const expired = await openWalletSale(world.api);
  await pass(world.api, 1801);
  assert.equal(await ask(world, expired.path, query), changed);
});

test('nothing for an invalid account, an unknown session or an unknown way to pay', async (world) => {
  const sale = await openWalletSale(world.api);
  for (const from of ['', '0x1', payer.tron, `${payer.evm}0`]) {
    const answer = await ask(world, sale.path, { pay: 'ethereum-USDT', due: DUE, from });
    assert.equal(answer, { status: 409, body: { problem: 'locked' } }, from);
  }
  for (const [path, pay] of [
    [sale.path, 'ethereum-USDC'],
    [sale.path, ''],
    ['/pay/cs_00000000000000000000000000', 'ethereum-USDT'],
    ['/pay/x', 'ethereum-USDT'],
  ] as const) {
    assert.is((await ask(world, path, { pay, due: DUE, from: payer.evm })).status, 404);
  }
});

// ── Links ────────────────────────────────────────────────────────────────────────────────────────────────────────────

const linksIn = (html: string) =>
  [...html.matchAll(/<a class="button(?: main)?" href="([^"]+)" rel="noreferrer">([^<]+)</g)].map(
    ([, href = '', text = '']) => [text, href.replaceAll('&amp;', '&')],
  );

test('a phone gets links to wallets that support the network, with the amount still due', async (world) => {
  const sale = await openWalletSale(world.api);
  const show = async (pay: string, headers: Record<string, string> = iPhone) =>
    linksIn((await exchange('GET', `${world.api.baseUrl}${sale.path}?pay=${pay}`, headers)).text);
  const labels = async (pay: string) => (await show(pay)).map(([label]) => label);
  const [onEthereum] = await optionsOf(world, sale.id);
  assert.equal((await show('ethereum-USDT'))[0], [
    'Pay with MetaMask',
    onEthereum?.deep_link.replace('ethereum:', 'https://link.metamask.io/send/'),
  ]);
  assert.equal(await labels('bsc-USDT'), [
    'Pay with MetaMask',
    'Pay with Trust Wallet',
    'Open this page in OKX Wallet',
  ]);
  assert.equal(await labels('solana-USDT'), [
    'Open this page in Phantom',
    'Pay with Trust Wallet',
    'Open this page in OKX Wallet',
  ]);
  assert.equal(
    await show('ethereum-USDT', { 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64)' }),
    [],
    'none on a desktop',
  );
  await sale.send('4.25');
  assert.match((await show('ethereum-USDT'))[0]?.[1] ?? '', /&uint256=6250000$/);
  assert.match((await show('ethereum-USDT'))[1]?.[1] ?? '', /&amount=6\.25&memo=$/);
});

test('the API’s link and the page’s button for TronLink are the same, and open the page with TRON selected', async (world) => {
  const sale = await openWalletSale(world.api);
  const { text } = await exchange('GET', `${world.api.baseUrl}${sale.path}?pay=tron-USDT`, iPhone);
  const [[label, href] = []] = linksIn(text);
  const option = (await optionsOf(world, sale.id)).find(({ network }) => network === 'tron');
  assert.equal({ label, href }, { label: 'Open this page in TronLink', href: option?.deep_link });
  const { url } = JSON.parse(new URL(href ?? '').searchParams.get('param') ?? '') as { url: string };
  assert.is(url, `${world.api.baseUrl}${sale.path}?pay=tron-USDT`);
  assert.match((await exchange('GET', url)).text, 'TRON (TRC20)');
});

test('the policy lets a wallet in the page call its node on TRON, and nothing elsewhere', async (world) => {
  const sale = await openWalletSale(world.api);
  const policyOf = async (query: string) =>
    /connect-src ([^;]+)/.exec(
      String((await exchange('GET', `${world.api.baseUrl}${sale.path}${query}`)).headers['content-security-policy']),
    )?.[1];
  assert.is(await policyOf('?pay=tron-USDT'), "'self' https://api.trongrid.io");
  for (const query of ['', '?pay=ethereum-USDT', '?pay=solana-USDT']) assert.is(await policyOf(query), "'self'");
});

test('a simulated network offers no wallet', async () => {
  const api = await openWalletShop(undefined, { sandbox: true });
  try {
    const sale = await openWalletSale(api);
    for (const name of ['ethereum', 'tron', 'solana']) {
      const { text, headers } = await exchange('GET', `${api.baseUrl}${sale.path}?pay=${name}-USDT`, iPhone);
      assert.match(text, 'Simulated network');
      assert.equal(linksIn(text), []);
      assert.not.match(text, 'id="wallets"');
      assert.match(String(headers['content-security-policy']), "connect-src 'self';");
      const answer = await ask({ api }, sale.path, { pay: `${name}-USDT`, due: DUE, from: payer.evm });
      assert.is(answer.status, 404);
    }
  } finally {
    await api.close();
  }
});

test.run();
