/**
 * Paying with a wallet in a real browser: the exact requests to the wallet; that it is asked once; and what the payer
 * reads if the wallet refuses, is on another network, or never answers. Screenshots are written to `.tmp/pages/`.
 */
import type { BrowserContextOptions, Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import { barriers, misfits, phone, shows } from '../support/browser.ts';
import { pass } from '../support/payment-scenes.ts';
import { until } from '../support/until.ts';
import { type BrowserWorld, browserSuite, openWalletPage } from './browser-suite.ts';
import { addEvmWallet, dataIcon, type WalletMind, walletError } from './browser-wallets.ts';
import { BSC_USDT, ETHEREUM_USDT, openWalletShop } from './wallet-shop.ts';

const PICTURES = '.tmp/pages';
const payer = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359';
const tx = `0x${'7e'.repeat(32)}`;
const info = { name: 'MetaMask', rdns: 'io.metamask' };

const test = browserSuite('paying with a wallet in the browser', () => openWalletShop());

/** Creates a wallet on a chain that agrees to everything, except for what `special` answers. */
function agreeable(chainId: string, special: Readonly<Record<string, WalletMind>> = {}): WalletMind {
  let current = chainId;
  return async (call) => {
    const { method, params } = call;
    const own = special[method];
    if (own) {
      const answer = await own(call);
      if (answer !== undefined) return answer;
    }
    switch (method) {
      case 'eth_requestAccounts':
        return [payer];
      case 'eth_chainId':
        return current;
      case 'wallet_switchEthereumChain':
      case 'wallet_addEthereumChain':
        current = params[0].chainId;
        return null;
      case 'eth_sendTransaction':
        return tx;
      default:
        throw walletError(4200, `${method} is not supported`);
    }
  };
}

const reject: WalletMind = () => {
  throw walletError(4001, 'MetaMask Tx Signature: User denied transaction signature.');
};

/** Returns an answer that the test gives later. */
function gate() {
  let open: (answer: unknown) => void = () => {};
  const answer = new Promise((resolve) => {
    open = resolve;
  });
  return { open, mind: (() => answer) as WalletMind };
}

const button = '#wallet-io\\.metamask';
/** Waits until there is nothing to press again. */
const isGone = (page: Page) => page.locator(button).waitFor({ state: 'detached' });
const headlineSays = (page: Page, words: RegExp) => shows(page.locator('h1'), words);

const transferCall = (addressOn: (name: string) => string, units: bigint) =>
  `0xa9059cbb${'0'.repeat(24)}${chains.evm.address.parse(addressOn('ethereum'))}${units.toString(16).padStart(64, '0')}`;

/** Returns how often the wallet was asked to send. */
const sends = (wallet: { methods(): string[] }) =>
  wallet.methods().filter((method) => method === 'eth_sendTransaction').length;

test('one confirmation sends the exact transfer, and the page follows it to the end', async (world) => {
  const { sale, page, context, complaints, addressOn, show, says } = await openWalletPage(world);
  const confirmation = gate();
  const wallet = await addEvmWallet(context, info, agreeable('0x1', { eth_sendTransaction: confirmation.mind }));
  await show('ethereum-USDT');
  assert.equal(wallet.calls, [], 'nothing is asked before a click');
  await page.click(button);
  await says(/Confirm the payment in MetaMask/);
  await shows(page.locator('#announcer'), /Confirm the payment in MetaMask/);
  assert.is(await page.evaluate('document.activeElement.id'), 'wallets', 'focus is where the answer will be');
  await until('the wallet is asked', () => sends(wallet) === 1);
  assert.equal(wallet.calls, [
    { method: 'eth_requestAccounts', params: undefined },
    { method: 'eth_chainId', params: undefined },
    { method: 'eth_chainId', params: undefined },
    {
      method: 'eth_sendTransaction',
      params: [
        { from: payer, to: ETHEREUM_USDT, value: '0x0', data: transferCall(addressOn, 10_500_000n), chainId: '0x1' },
      ],
    },
  ]);
  confirmation.open(tx);
  await says(new RegExp(`Sent with MetaMask.*${tx}`));
  await isGone(page);
  await page.reload();
  await says(/Sent with MetaMask/);
  await isGone(page);
  await sale.send('10.50');
  await headlineSays(page, /Payment seen/);
  assert.equal(complaints, []);
});

/** Presses the button of a wallet in the page of a new sale, and waits for the page's words. */
async function press(world: BrowserWorld, pay: string, mind: WalletMind, words: RegExp) {
  const opened = await openWalletPage(world);
  const wallet = await addEvmWallet(opened.context, info, mind);
  await opened.show(pay);
  await opened.page.click(button);
  await opened.says(words);
  return { ...opened, wallet };
}

test('a wallet on another chain is switched first', async (world) => {
  const { addressOn, wallet } = await press(world, 'bsc-USDT', agreeable('0x1'), /Sent with MetaMask/);
  assert.equal(wallet.methods(), [
    'eth_requestAccounts',
    'eth_chainId',
    'wallet_switchEthereumChain',
    'eth_chainId',
    'eth_chainId',
    'eth_sendTransaction',
  ]);
  assert.equal(wallet.calls[2]?.params, [{ chainId: '0x38' }]);
  const [{ chainId, to, data }] = wallet.calls.at(-1)?.params ?? [];
  const exact = transferCall(addressOn, 10_500_000_000_000_000_000n);
  assert.equal({ chainId, to, data }, { chainId: '0x38', to: BSC_USDT, data: exact });
});

for (const [what, error] of [
  ['says so', walletError(4902, 'Unrecognized chain ID "0x38".')],
  // MetaMask on phones wraps it like this.
  ['says so inside', walletError(-32603, 'Unrecognized chain', { originalError: { code: 4902 } })],
] as const) {
  test(`a wallet that does not know the chain and ${what} is asked to add it`, async (world) => {
    let asked = 0;
    const mind = agreeable('0x1', {
      wallet_switchEthereumChain() {
        asked++;
        if (asked === 1) throw error;
      },
    });
    const { wallet } = await press(world, 'bsc-USDT', mind, /Sent with MetaMask/);
    const added = wallet.calls.find(({ method }) => method === 'wallet_addEthereumChain');
    assert.equal(added?.params, [
      {
        chainId: '0x38',
        chainName: 'BNB Smart Chain',
        nativeCurrency: { name: 'BNB', symbol: 'BNB', decimals: 18 },
        rpcUrls: ['https://bsc-dataseed.bnbchain.org'],
        blockExplorerUrls: ['https://bscscan.com'],
      },
    ]);
  });
}

for (const [what, chains] of [
  ['says that it switched, but did not', ['0x1']],
  ['is switched back at the last moment', ['0x38', '0x1']],
] as const) {
  test(`a wallet that ${what} sends nothing`, async (world) => {
    let looks = 0;
    const mind = agreeable('0x1', { eth_chainId: () => chains[Math.min(looks++, chains.length - 1)] });
    const words = /MetaMask is on another network\. Choose BNB Smart Chain \(BEP20\) there/;
    const { page, wallet } = await press(world, 'bsc-USDT', mind, words);
    assert.is(sends(wallet), 0);
    await page.locator(button).waitFor();
  });
}

for (const method of ['eth_requestAccounts', 'wallet_switchEthereumChain', 'eth_sendTransaction']) {
  test(`a payer who refuses ${method} sees a calm message and can try again`, async (world) => {
    let refusals = 0;
    const special: WalletMind = (call) => {
      refusals++;
      return refusals === 1 ? reject(call) : undefined;
    };
    const mind = agreeable('0x1', { [method]: special });
    const words = /^You did not confirm in MetaMask\. Nothing was sent\.$/;
    const { page, complaints, says, wallet } = await press(world, 'bsc-USDT', mind, words);
    assert.is(sends(wallet), method === 'eth_sendTransaction' ? 1 : 0);
    await page.click(button);
    await says(/Sent with MetaMask/);
    assert.equal(complaints, []);
  });
}

const fails = (code: number, message: string): WalletMind => {
  const error = walletError(code, message);
  return () => {
    throw error;
  };
};
for (const [what, method, answer, words] of [
  ['is locked', 'eth_requestAccounts', () => [], /MetaMask shares no account with this page\. Unlock it/],
  [
    'has a question open',
    'eth_requestAccounts',
    fails(-32002, 'Already processing eth_requestAccounts. Please wait.'),
    /MetaMask has another request open/,
  ],
  [
    'withdraws its account',
    'eth_sendTransaction',
    fails(4100, 'The requested account has not been authorized by the user.'),
    /MetaMask says: The requested account has not been authorized by the user\. Nothing was sent/,
  ],
  [
    'does not take what it is asked',
    'eth_sendTransaction',
    fails(-32602, 'Invalid parameters'),
    /MetaMask says: Invalid parameters\. Nothing was sent/,
  ],
] as const) {
  test(`a wallet that ${what} has sent nothing, and the page says what to do`, async (world) => {
    const { page } = await press(world, 'ethereum-USDT', agreeable('0x1', { [method]: answer }), words);
    await page.locator(button).waitFor();
  });
}

test('a wallet that disappears meanwhile may have sent: it is not asked again until the payer says so', async (world) => {
  const mind = agreeable('0x1', { eth_sendTransaction: fails(4900, 'Disconnected from all chains') });
  const words = /MetaMask says: Disconnected from all chains\. Check there whether the payment was sent/;
  const { page, complaints, says, wallet } = await press(world, 'ethereum-USDT', mind, words);
  await isGone(page);
  await page.reload();
  await says(/We asked MetaMask to pay but have not heard back/);
  await isGone(page);
  assert.is(await page.isVisible('#wallet-again'), false, 'not one careless click away');
  await page.click('#wallet-not-sent summary');
  await page.click('#wallet-again');
  await page.locator(button).waitFor();
  assert.is(sends(wallet), 1);
  assert.equal(complaints, []);
});

test('a double click asks once', async (world) => {
  const { page, context, show, says } = await openWalletPage(world);
  const wallet = await addEvmWallet(context, info, agreeable('0x1'));
  await show('ethereum-USDT');
  await page.waitForSelector(button);
  await page.evaluate(`{
    const button = document.getElementById('wallet-io.metamask');
    for (let clicks = 0; clicks < 3; clicks++) button.click();
  }`);
  await says(/Sent with MetaMask/);
  const { x = 0, y = 0 } = (await page.locator('#wallet-status').boundingBox()) ?? {};
  await page.mouse.dblclick(x + 20, y + 10);
  assert.is(sends(wallet), 1);
});

test('two tabs ask once, even if both are clicked at the same moment', async (world) => {
  for (let round = 0; round < 5; round++) {
    const { page: first, context, show, says } = await openWalletPage(world);
    const wallet = await addEvmWallet(context, info, agreeable('0x1'));
    const second = await context.newPage();
    await show('ethereum-USDT');
    await show('ethereum-USDT', second);
    for (const tab of [first, second]) await tab.waitForSelector(button);
    const click = `document.getElementById('wallet-io.metamask')?.click()`;
    await Promise.all([first.evaluate(click), second.evaluate(click)]);
    for (const tab of [first, second]) await says(/Sent with MetaMask/, tab);
    assert.is(sends(wallet), 1);
  }
});

test('a tab that slept requests nothing that is no longer due', async (world) => {
  const { sale, page, context, addressOn, show, says } = await openWalletPage(world);
  const wallet = await addEvmWallet(context, info, agreeable('0x1'));
  await page.route('**/events?*', (route) => route.abort());
  await show('ethereum-USDT');
  await page.waitForSelector(button);
  await page.evaluate(`Object.defineProperty(document, 'hidden', { value: true })`);
  await sale.send('4.00');
  await page.click(button);
  await until('the page shows what is due now', async () => (await page.textContent('#amount')) === '6.50');
  await shows(page.locator('#announcer'), /still due|has changed in the meantime/);
  assert.equal(wallet.methods(), ['eth_requestAccounts']);
  await page.click(button);
  await says(/Sent with MetaMask/);
  const [transaction] = wallet.calls.at(-1)?.params ?? [];
  assert.is(transaction.data, transferCall(addressOn, 6_500_000n), 'the rest, exactly');
});

test('if the server is down or the time is up, nothing is sent', async (world) => {
  const { page, context, show, says } = await openWalletPage(world);
  const wallet = await addEvmWallet(context, info, agreeable('0x1'));
  await page.route('**/events?*', (route) => route.abort());
  await show('ethereum-USDT');
  await page.waitForSelector(button);
  await context.setOffline(true);
  await page.click(button);
  await says(/server does not answer\. Nothing was sent/);
  await context.setOffline(false);
  await page.evaluate(`Object.defineProperty(document, 'hidden', { value: true })`);
  await pass(world.api, 1801);
  // A poll under way may have updated the page already; then the button is gone.
  await page.evaluate(`document.querySelector(${JSON.stringify(button)})?.click()`);
  await headlineSays(page, /Time is up/);
  assert.is(sends(wallet), 0);
});

test('if the scripts do not load, the page still says what to send', async (world) => {
  for (const lost of ['**/wallets.js', '**/wallets/evm.js']) {
    const { page, context, complaints, show } = await openWalletPage(world);
    await addEvmWallet(context, info, agreeable('0x1'));
    await page.route(lost, (route) => route.abort());
    await show('ethereum-USDT');
    await until('it was tried', () => complaints.length > 0);
    assert.is(await page.isVisible('#address'), true);
    assert.is(await page.isVisible('#wallets'), false);
    assert.equal(
      complaints.filter((text) => !text.includes('Failed to load resource')),
      [],
    );
  }
});

test('what a wallet announces is shown as text and an image, nothing else', async (world) => {
  const { page, context, complaints, show } = await openWalletPage(world);
  const evil = '<img src=x onerror=alert(1)>';
  await addEvmWallet(context, { name: evil, rdns: 'evil"]' }, agreeable('0x1'));
  await addEvmWallet(context, { name: 'A'.repeat(500), rdns: 'long', icon: 'https://evil.example/i.svg' }, reject);
  await addEvmWallet(context, info, agreeable('0x1'));
  // A repeated id is the same wallet.
  await addEvmWallet(context, { ...info, name: 'Not MetaMask' }, reject);
  await show('ethereum-USDT');
  await until('three wallets are offered', async () => (await page.locator('button.wallet').count()) === 3);
  const labels = await page.locator('button.wallet').allTextContents();
  assert.equal(labels, [`Pay with ${evil.slice(0, 40)}`, `Pay with ${'A'.repeat(40)}`, 'Pay with MetaMask']);
  assert.equal(
    await page.locator('button.wallet img').evaluateAll((images) => images.map((image) => image.getAttribute('src'))),
    [dataIcon, dataIcon],
  );
  assert.equal(complaints, [], 'nothing was loaded from elsewhere');
});

// ── Looks ────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function look(page: Page, name: string): Promise<void> {
  assert.equal(await misfits(page, '.wallets .button, .wallets summary'), [], name);
  assert.equal(await barriers(page), [], name);
  await page.screenshot({ path: `${PICTURES}/wallets-${name}.png`, fullPage: true });
}

const looks: readonly (readonly [string, BrowserContextOptions])[] = [
  ['desktop-light', { viewport: { width: 1200, height: 900 }, colorScheme: 'light' }],
  ['phone-dark', { ...phone, colorScheme: 'dark' }],
  ['narrow-arabic', { ...phone, viewport: { width: 320, height: 640 }, locale: 'ar' }],
];

for (const [name, options] of looks) {
  test(`${name}: every state of a payment by wallet is accessible`, async (world) => {
    const { page, context, complaints, show } = await openWalletPage(world, options);
    const confirmation = gate();
    const mind = agreeable('0x1', { eth_sendTransaction: confirmation.mind });
    await addEvmWallet(context, info, mind);
    await addEvmWallet(context, { name: 'Rabby Wallet', rdns: 'io.rabby' }, reject);
    await show('ethereum-USDT');
    await page.waitForSelector(button);
    await look(page, `offered-${name}`);
    await page.click('#wallet-io\\.rabby');
    await page.waitForSelector('#wallet-status .warning');
    await look(page, `rejected-${name}`);
    await page.click(button);
    await page.waitForSelector('#wallet-status .waiting');
    await look(page, `asking-${name}`);
    confirmation.open(tx);
    await page.waitForSelector('#wallet-status code');
    await page.click('#wallet-not-sent summary');
    await look(page, `sent-${name}`);
    assert.equal(complaints, []);
  });
}

test.run();
