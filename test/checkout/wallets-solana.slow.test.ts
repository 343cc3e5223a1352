/**
 * Paying with a Solana wallet in a real browser. Solana's own virtual machine executes what the page gives to the
 * wallet.
 */
import { base58 } from '@scure/base';
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import { ataOf, openSvmBank, type ShownTransaction, signerOf } from '../chains/solana/svm-bank.ts';
import { until } from '../support/until.ts';
import { type BrowserWorld, browserSuite, openWalletPage } from './browser-suite.ts';
import { addSolanaWallet, type WalletMind, walletError } from './browser-wallets.ts';
import { openWalletShop } from './wallet-shop.ts';

const bank = openSvmBank();
const mint = bank.makeMint('USDT', 6);
const payer = signerOf('payer');
bank.fund(payer.address, mint, 1_000_000_000n);
const MAINNET = ['solana:mainnet', 'solana:devnet'];

const test = browserSuite('paying with a wallet of Solana', () => openWalletShop(mint));

async function openShop(world: BrowserWorld) {
  bank.fund(signerOf('time passes').address, mint, 1n);
  await world.api.chain('solana').mine([], bank.blockhash());
  const { show, ...opened } = await openWalletPage(world);
  return { ...opened, address: opened.addressOn('solana'), show: () => show('solana-USDT') };
}

const button = '#wallet-phantom';

for (const isKnown of [false, true]) {
  const to = isKnown ? 'an address that has a token account' : 'an address that nobody has paid yet';
  test(`one confirmation pays ${to}, on Solana's virtual machine`, async (world) => {
    const { page, context, complaints, address, show, says } = await openShop(world);
    if (isKnown) {
      bank.fund(address, mint, 5n);
      await world.api.chain('solana').mine([], bank.blockhash());
      await world.api.chain('solana').report('following');
    }
    const executed: ShownTransaction[] = [];
    const mind: WalletMind = ({ method, params }) => {
      if (method === 'connect') return true;
      const [asked] = params;
      assert.equal([params.length, asked.account, asked.chain], [1, payer.address, 'solana:mainnet']);
      const shown = bank.sendUnsigned(Uint8Array.from(asked.transaction), [payer]);
      executed.push(shown);
      return [...base58.decode(shown.transaction.signatures[0] ?? '')];
    };
    const wallet = await addSolanaWallet(context, 'Phantom', { account: payer.address, chains: MAINNET }, mind);
    await show();
    await page.waitForSelector(button);
    assert.equal(wallet.calls, [], 'nothing is asked before a click');
    await page.click(button);
    await says(/Sent with Phantom/);
    assert.equal(wallet.methods(), ['connect', 'signAndSendTransaction']);
    const [shown] = executed;
    assert.is(shown?.meta.err, null);
    assert.is(await page.textContent('#wallet-status code'), shown?.transaction.signatures[0]);
    const account = ataOf(address, mint);
    const at = shown?.transaction.accountKeys.findIndex(({ pubkey }) => pubkey === account);
    const after = shown?.meta.postTokenBalances.find(({ accountIndex }) => accountIndex === at);
    assert.equal(
      { owner: after?.owner, mint: after?.mint, amount: after?.uiTokenAmount.amount },
      { owner: address, mint, amount: isKnown ? '10500005' : '10500000' },
    );
    assert.equal(complaints, []);
  });
}

test('a payer who refuses can try again, and a wallet that fails after it was asked is not asked twice', async (world) => {
  const { page, context, show, says } = await openShop(world);
  const errors = [walletError(4001, 'User rejected the request.'), new Error('Transaction simulation failed')];
  const mind: WalletMind = ({ method }) => {
    if (method === 'connect') return true;
    throw errors.shift();
  };
  await addSolanaWallet(context, 'Phantom', { account: payer.address, chains: MAINNET }, mind);
  await show();
  await page.click(button);
  await says(/^You did not confirm in Phantom\. Nothing was sent\.$/);
  await page.click(button);
  await says(/Phantom says: Transaction simulation failed\. Check there whether the payment was sent/);
  assert.is(await page.locator(button).count(), 0);
});

test('a wallet without this cluster, without an account, or with one that cannot pay sends nothing', async (world) => {
  const own = await openShop(world);
  for (const [options, answer, words] of [
    [{ account: payer.address, chains: ['solana:devnet'] }, true, /Phantom does not know Solana/],
    [{ account: payer.address, chains: MAINNET }, false, /Phantom shares no account with this page/],
    [{ account: 'not an address', chains: MAINNET }, true, /Phantom shares no account with this page/],
  ] as const) {
    const { page, context, show, says } = await openShop(world);
    const wallet = await addSolanaWallet(context, 'Phantom', options, () => answer);
    await show();
    await page.click(button);
    await says(words);
    assert.equal(wallet.methods(), ['connect']);
  }
  // The deposit address cannot pay itself.
  const { page, context, address, show, says } = own;
  assert.ok(chains.solana.address.parse(address));
  const wallet = await addSolanaWallet(context, 'Phantom', { account: address, chains: MAINNET }, () => true);
  await show();
  await page.click(button);
  await says(/Phantom shares no account with this page/);
  assert.equal(wallet.methods(), ['connect']);
});

test('a wallet that unregisters is no longer offered', async (world) => {
  const { page, context, show } = await openShop(world);
  await addSolanaWallet(context, 'Phantom', { account: payer.address, chains: MAINNET }, () => true);
  await addSolanaWallet(context, 'Solflare', { account: payer.address, chains: MAINNET }, () => true);
  await show();
  await until('both are offered', async () => (await page.locator('button.wallet').count()) === 2);
  await page.evaluate('window.unregisterWallet()');
  assert.equal(await page.locator('button.wallet').allTextContents(), ['Pay with Phantom']);
});

test.run();
