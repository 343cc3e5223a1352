/** The sweep, restore and refund suites on EVM, the options of an operator, and a theft. */
import { Wallet } from 'ethers';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { transferData } from '../../src/chains/erc20.ts';
import { evmSpending } from '../../src/chains/evm/spend.ts';
import { closeBooks, refundConforms } from '../conformance/refund.ts';
import { restoreConforms } from '../conformance/restore.ts';
import { sweepConforms } from '../conformance/sweep.ts';
import type { Json } from '../support/instance.ts';
import { seed } from '../support/payout-shop.ts';
import { until } from '../support/until.ts';
import { openEvmPayouts } from './evm.ts';

const { shop, node, usdt } = await openEvmPayouts();
const { quayside } = shop;
test.before(async () => {
  // Mining stops while refunds are under way, so their payments would never be final.
  await quayside.cli('store', 'set', '--refund-early-max=1000.00');
});

sweepConforms(shop, {
  paid: [
    [2_500, 'USDT'],
    [4_000, 'USDT'],
    [500, 'USDT'],
    [3_000, 'USDC'],
  ],
  poor: /^native_short: .*send that amount to it/,
  coins: 1,
  sweeps: [
    ['40.00 USDT', 1, ['transfer']],
    ['25.00 USDT', 1, ['transfer']],
    ['30.00 USDC', 1, ['transfer']],
  ],
  tooSmall: ['5.00 USDT'],
  costShare: null,
});

restoreConforms(shop, { coins: 1 });
refundConforms(shop);

test('a transfer of nothing in the name of a wallet is ignored; one above zero freezes money out', async () => {
  const { quayside, chain, refundWallet, paidSession, refund, completed, paidTo, show } = shop;
  const wallet = `0x${refundWallet}`;
  const [, stranger = ''] = node.accounts;
  await chain.pay(refundWallet, 'USDT', shop.unitsOf(1_000, 'USDT'));
  const nothing = await usdt.transferFrom(wallet, stranger, 0n);
  const session = await paidSession(1_000);
  await completed((await refund(session, '2.00')).id);
  assert.ok(await chain.hasSucceeded(nothing));
  assert.equal((await quayside.cli('status')).payouts.frozen, []);

  const { secret } = evmSpending.derive(seed, { role: 'refund' });
  const thief = new Wallet(`0x${Buffer.from(secret).toString('hex')}`);
  const nonce = Number(await node.rpc<string>('eth_getTransactionCount', [wallet, 'latest']));
  const data = `0x${transferData(stranger.slice(2).toLowerCase(), 1n)}`;
  const theft = { type: 2, chainId: node.chainId, nonce, to: usdt.address, data, value: 0n, gasLimit: 100_000n };
  const tx = await node.sendRaw(
    await thief.signTransaction({ ...theft, maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 9n }),
  );
  // The wallet's nonce may be final before the transfer is judged, and freezes the network first.
  await until('the transfer freezes money out', async () => {
    const { alarms, payouts } = await quayside.cli('status');
    const isTold = alarms.some(({ code, message }: Json) => code === 'payouts_frozen' && message.includes(tx));
    return isTold && payouts.frozen.length > 0;
  });
  const { id, payee } = await refund(session, '1.00');
  await until('it is under way', async () => (await show(id)).status === 'processing');
  assert.equal(await paidTo(payee), []);

  const words = ['payout', 'reconcile', shop.network] as const;
  assert.match(await quayside.cli(...words).then(() => 'reconciled', String), '--reason is required');
  assert.match(
    await quayside.cli(...words, '--reason', 'a test').then(() => 'reconciled', String),
    /add --yes\nfrozen since/,
  );
  const shown = await quayside.cli(...words, '--dry-run');
  const rows: Json[] = shown.unexplained.filter((one: Json) => one.transaction_hash === tx);
  assert.equal({ rows: rows.length, settled: shown.settled }, { rows: 1, settled: [] });
  assert.match(rows[0]?.is, 'not ours, known');
  const frozen = async () => (await quayside.cli('status')).payouts.frozen.length > 0;
  assert.equal({ frozen: await frozen(), paidTo: await paidTo(payee) }, { frozen: true, paidTo: [] });
  // The wallet's nonce, which is final later than the transfer is seen, may freeze the network once more.
  await until('it is reconciled, and the refund is paid', async () => {
    if (await frozen()) await quayside.cli(...words, '--reason', 'a stolen key', '--yes').catch(expectStillFrozen);
    return (await show(id)).status === 'completed';
  });
  assert.equal(await paidTo(payee), [shop.unitsOf(100, 'USDT')]);
});

function expectStillFrozen(error: unknown): void {
  assert.match(String(error), /payouts_settling|"still_frozen":\[\{/);
}

closeBooks(shop);
