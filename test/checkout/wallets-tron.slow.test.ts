/**
 * Paying with a TRON wallet in a real browser. The wallet's tronWeb calls its node from inside the page, so the page's
 * security policy is tested too; the node is simulated at its URL.
 */
import type { BrowserContext } from 'playwright-core';
import * as assert from 'uvu/assert';
import { type BrowserWorld, browserSuite, openWalletPage } from './browser-suite.ts';
import {
  addTronWallet,
  type BrowserWallet,
  TRON_NODE,
  TRON_TEST_NODE,
  type WalletMind,
  walletError,
} from './browser-wallets.ts';
import { openWalletShop, TRON_USDT } from './wallet-shop.ts';

const account = 'TNPeeaaFB7K9cmo4uQpcU32zGK8G1NYqeL';
const txID = '5e'.repeat(32);
const info = { name: 'TronLink', rdns: 'org.tronlink.www' };
/** Hashes of the first blocks: mainnet and Nile. */
const genesis = {
  [TRON_NODE]: '00000000000000001ebf88508a03865c71d452e25f4d51194196a1d22b6653dc',
  [TRON_TEST_NODE]: '0000000000000000d698d4192c56cb6be724a558448e2684802de4d6cd8690dc',
};

const test = browserSuite('paying with a wallet of TRON', () => openWalletShop());

// biome-ignore lint/suspicious/noExplicitAny: bodies are asserted where they are used
type NodeCall = Readonly<{ host: string; path: string; body: any }>;

/** Simulates java-tron's HTTP interface at both URLs. */
async function playNodes(context: BrowserContext, broadcast: object = { result: true, txid: txID }) {
  const calls: NodeCall[] = [];
  for (const host of [TRON_NODE, TRON_TEST_NODE] as const) {
    await context.route(`${host}/**`, async (route) => {
      const path = new URL(route.request().url()).pathname;
      calls.push({ host, path, body: route.request().postDataJSON() });
      const answers: Record<string, object> = {
        '/wallet/getblockbynum': { blockID: genesis[host] },
        '/wallet/triggersmartcontract': { result: { result: true }, transaction: { txID, raw_data: {} } },
        '/wallet/broadcasttransaction': broadcast,
      };
      await route.fulfill({ json: answers[path] ?? {}, headers: { 'access-control-allow-origin': '*' } });
    });
  }
  return calls;
}

/** Allows one more host in the page's policy. */
const letThrough = (context: BrowserContext, host: string) =>
  context.route('**/pay/*', async (route) => {
    if (route.request().resourceType() !== 'document') return route.continue();
    const response = await route.fetch();
    const policy = response.headers()['content-security-policy']?.replace(TRON_NODE, `${TRON_NODE} ${host}`) ?? '';
    return route.fulfill({ response, headers: { ...response.headers(), 'content-security-policy': policy } });
  });

const agreeable =
  (special: Readonly<Record<string, WalletMind>> = {}): WalletMind =>
  async (call) => {
    const { method, params } = call;
    const own = special[method];
    if (own) return own(call);
    switch (method) {
      case 'eth_requestAccounts':
        return [account];
      case 'tron_requestAccounts':
        return { code: 200, message: 'User allowed the request.' };
      case 'wallet_switchEthereumChain':
        return null;
      case 'sign':
        return { ...params, signature: ['00'] };
      default:
        throw walletError(4200, `${method} is not supported`);
    }
  };

async function openShop(world: BrowserWorld) {
  const { show, ...opened } = await openWalletPage(world);
  return { ...opened, show: () => show('tron-USDT') };
}

type Attempt = Readonly<{
  place?: 'announced' | 'tron' | 'tronLink';
  mind?: WalletMind;
  broadcast?: object;
  onTestChain?: boolean;
  isPolicyOpen?: boolean;
}>;

/** Presses the button of a wallet in the page of a new sale, and waits for the page's words. */
async function press(
  world: BrowserWorld,
  { place = 'announced', mind = agreeable(), broadcast, onTestChain = false, isPolicyOpen = false }: Attempt,
  words: RegExp,
) {
  const shop = await openShop(world);
  const nodeCalls = await playNodes(shop.context, broadcast);
  const wallet = await addTronWallet(shop.context, info, place, { account, onTestChain }, mind);
  if (isPolicyOpen) await letThrough(shop.context, TRON_TEST_NODE);
  await shop.show();
  await shop.page.click('button.wallet');
  await shop.says(words);
  const paths = nodeCalls.map(({ path }) => path);
  return { ...shop, nodeCalls, paths, wallet };
}

const signs = (wallet: BrowserWallet) => wallet.methods().filter((method) => method === 'sign').length;
const button = '#wallet-org\\.tronlink\\.www';

test('one confirmation sends the exact transfer through the wallet’s own tronWeb', async (world) => {
  const { addressOn, page, context, complaints, show, says } = await openShop(world);
  const nodeCalls = await playNodes(context);
  const wallet = await addTronWallet(context, info, 'announced', { account }, agreeable());
  await show();
  await page.waitForSelector(button);
  assert.is(await page.locator('button.wallet').count(), 1, 'announced and in the window, it is one wallet');
  assert.equal({ calls: wallet.calls, nodeCalls }, { calls: [], nodeCalls: [] }, 'nothing is asked before a click');
  await page.click(button);
  await says(new RegExp(`Sent with TronLink.*${txID}`));
  assert.equal(wallet.methods(), ['eth_requestAccounts', 'sign']);
  const built = nodeCalls.find(({ path }) => path === '/wallet/triggersmartcontract');
  assert.equal(built?.body, {
    contract: TRON_USDT,
    call: 'transfer(address,uint256)',
    options: { feeLimit: 100_000_000 },
    parameters: [
      { type: 'address', value: addressOn('tron') },
      { type: 'uint256', value: '10500000' },
    ],
    issuer: account,
  });
  const sent = nodeCalls.filter(({ path }) => path === '/wallet/broadcasttransaction');
  assert.equal(
    sent.map(({ host, body }) => [host, body.txID, body.signature]),
    [[TRON_NODE, txID, ['00']]],
  );
  assert.equal(
    complaints.filter((text) => !text.includes(TRON_NODE)),
    [],
    'the policy lets the wallet through',
  );
});

test('a wallet on a test chain is switched first, and its chain is checked again', async (world) => {
  const attempt = { onTestChain: true, isPolicyOpen: true };
  const { nodeCalls, wallet } = await press(world, attempt, /Sent with TronLink/);
  assert.equal(wallet.calls[1], { method: 'wallet_switchEthereumChain', params: [{ chainId: '0x2b6653dc' }] });
  assert.equal(
    nodeCalls.map(({ host, path }) => `${host}${path}`),
    [
      `${TRON_TEST_NODE}/wallet/getblockbynum`,
      `${TRON_NODE}/wallet/getblockbynum`,
      `${TRON_NODE}/wallet/triggersmartcontract`,
      `${TRON_NODE}/wallet/getblockbynum`,
      `${TRON_NODE}/wallet/broadcasttransaction`,
    ],
  );
});

test('a wallet whose node is of another chain sends nothing, by our check or by the page’s policy', async (world) => {
  const mind = agreeable({ wallet_switchEthereumChain: () => 'stays' });
  for (const isPolicyOpen of [true, false]) {
    const words = isPolicyOpen ? /TronLink is on another network\. Choose TRON \(TRC20\) there/ : /Nothing was sent/;
    const { page, paths, wallet } = await press(world, { mind, onTestChain: true, isPolicyOpen }, words);
    assert.is(signs(wallet), 0);
    assert.ok(paths.every((path) => path === '/wallet/getblockbynum'));
    assert.is(await page.locator(button).count(), 1, 'it can be tried again');
  }
});

test('a payer who refuses has sent nothing', async (world) => {
  for (const [error, words] of [
    [walletError(4001, 'User rejected request'), /^You did not confirm in TronLink\. Nothing was sent\.$/],
    // TronLink throws a text without a code.
    [new Error('Confirmation declined by user'), /TronLink says: Confirmation declined by user\. Nothing was sent/],
  ] as const) {
    const sign = () => {
      throw error;
    };
    const { page, paths } = await press(world, { mind: agreeable({ sign }) }, words);
    assert.not.ok(paths.includes('/wallet/broadcasttransaction'));
    assert.is(await page.locator(button).count(), 1);
  }
});

test('each answer of the node to the signed transaction', async (world) => {
  for (const [code, words] of [
    ['DUP_TRANSACTION_ERROR', /Sent with TronLink/],
    ['SERVER_BUSY', /TronLink says: SERVER_BUSY\. Check there whether the payment was sent/],
  ] as const) {
    const { page } = await press(world, { broadcast: { code, message: '00' } }, words);
    assert.is(await page.locator(button).count(), 0);
  }
});

test('wallets that do not announce themselves are found by their global', async (world) => {
  for (const [place, method] of [
    ['tron', 'eth_requestAccounts'],
    ['tronLink', 'tron_requestAccounts'],
  ] as const) {
    const { wallet } = await press(world, { place }, /Sent with/);
    assert.equal(wallet.methods(), [method, 'sign']);
  }
});

test('an older wallet that is locked or refuses sends nothing, and the page says so', async (world) => {
  for (const [answer, words] of [
    [{ code: 4001, message: 'User rejected the request' }, /You did not confirm in TronLink/],
    [{ code: null, message: '' }, /TronLink shares no account with this page\. Unlock it/],
  ] as const) {
    const mind = agreeable({ tron_requestAccounts: () => answer });
    const { wallet } = await press(world, { place: 'tronLink', mind }, words);
    assert.is(signs(wallet), 0);
  }
});

test.run();
