/**
 * One network, one file: an invented network needs a few settings and no code. It takes a payment, pays a refund within
 * its own caps once the signer knows it, and is swept; payers see its own title.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { expectBooks } from '../support/quayside-process.ts';
import { until } from '../support/until.ts';
import { openEvmPayouts } from './evm.ts';

/** The settings of Velum; the shop adds the node, the xpub and the tokens that it has just deployed. */
const velum = {
  family: 'evm',
  chain_id: '4242424',
  native_symbol: 'VLM',
  title: 'Velum Main (VRC20)',
  fee_hint: 'low',
  explorer: 'https://scan.velum.example/tx/{tx}',
  wallets: { trust_coin: 4242, add: { chain_name: 'Velum', rpc_urls: ['https://rpc.velum.example'] } },
  signer: {
    fee_max: '3',
    caps: { transaction: '40', hour: '90', day: '90' },
    gas_caps: { transaction: '2', day: '5' },
  },
};
const COIN = 10n ** 18n;

const network = { name: 'velum', chainId: Number(velum.chain_id), settings: velum };
const { shop: bench, node: anvil, usdt } = await openEvmPayouts(network);
const { chain, quayside, paidSession } = bench;
const treasury = `0x${chain.treasury}`;
test.before(async () => {
  await chain.fund(bench.refundWallet, 100);
  await chain.pay(bench.refundWallet, 'USDT', 1_000_000_000n);
});
test.after(() => bench.close());

test('payers see its title and fee hint, and what their wallets need', async () => {
  const session = await bench.shop.newSession(1_050);
  const headers = { 'user-agent': 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15' };
  const page = async (query: string) => (await fetch(`${session.url}?${query}`, { headers })).text();
  const choice = await page('token=USDT');
  assert.match(choice, '<strong>Velum Main (VRC20)</strong>');
  assert.match(choice, /network-velum-USDT.*low fee/s);
  const send = await page('pay=velum-USDT');
  assert.match(send, 'Choose the withdrawal network Velum Main (VRC20).');
  assert.match(send, new RegExp(`href="https://link.trustwallet.com/send\\?asset=c4242_t${usdt.address}&`, 'i'));

  const due = /data-due="(\d+)"/.exec(send)?.[1] ?? '';
  const query = new URLSearchParams({ pay: 'velum-USDT', due, from: anvil.accounts[1] ?? '' });
  const { transfer } = (await (await fetch(`${session.url}/transfer?${query}`)).json()) as { transfer: object };
  assert.equal(Object(transfer).add, {
    chainId: '0x40bbf8',
    chainName: 'Velum',
    nativeCurrency: { name: 'VLM', symbol: 'VLM', decimals: 18 },
    rpcUrls: ['https://rpc.velum.example'],
    blockExplorerUrls: ['https://scan.velum.example'],
  });
});

test('a refund waits until the network is added to the signer’s policy, and is paid within the caps of its file', async () => {
  const session = await paidSession(6_000);
  const { id, payee } = await bench.refund(session, '12.34');
  // Until the signer has started, it is that which a plan lacks.
  await until('a plan says what is missing', async () => {
    const plan = await quayside.cli('sweep', 'velum', '--dry-run').catch((error: Error) => error.message);
    return String(plan).includes('run `quayside-signer policy <network>`, then restart the signer');
  });
  await until('the refund is processing', async () => (await bench.show(id)).status === 'processing');
  const learned = await quayside.signer('policy', 'velum', '--treasury', treasury);
  const { fee_max, gas_caps } = velum.signer;
  assert.equal(
    { network: learned.network, added: learned.added, fee_max: learned.fee_max, gas_caps: learned.gas_caps },
    { network: 'test:velum', added: true, fee_max, gas_caps },
  );
  await quayside.stop();
  // Base fees at which the 0.02 coins of Ethereum's file would not suffice. Each empty block would lower them.
  const raise = () => anvil.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${(5_000n * 10n ** 9n).toString(16)}`]);
  await raise();
  await anvil.mine();
  const raising = setInterval(() => void raise().catch(() => {}), 100);
  await quayside.start();

  const { transaction_hash: tx } = await bench.completed(id).finally(() => clearInterval(raising));
  assert.equal(await bench.paidTo(payee), [12_340_000n]);
  const sent = await anvil.rpc<Record<'gas' | 'maxFeePerGas', string>>('eth_getTransactionByHash', [tx]);
  const offered = BigInt(sent.gas) * BigInt(sent.maxFeePerGas);
  assert.ok(offered > COIN / 50n && offered <= 3n * COIN, `the signer allowed ${offered}`);

  await bench.refund(session, '40.01');
  await bench.untilWaiting('signer_refused_approval');
});

test('its deposit addresses are swept to the treasury given to that command', async () => {
  await chain.fund(bench.gasWallet, 10);
  await chain.finalize?.();
  await until('the payment is final', async () => {
    const plan = await quayside.cli('sweep', 'velum', '--dry-run');
    return plan.sweeps.length + plan.left.length > 0;
  });
  const { sweeps } = await quayside.cli('sweep', 'velum', '--yes');
  assert.is(sweeps[0]?.amount, '60.00 USDT');
  await until('it is swept', async () => (await quayside.cli('show', sweeps[0].id)).state === 'succeeded');
  assert.is(await usdt.balanceOf(treasury), 60_000_000n);
});

test('the books balance afterwards', async () => {
  await expectBooks(quayside.cli);
});

test.run();
