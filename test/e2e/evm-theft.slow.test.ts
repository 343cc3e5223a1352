import { Wallet } from 'ethers';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { transferData } from '../../src/chains/erc20.ts';
import { evmSpending } from '../../src/chains/evm/spend.ts';
import { closeBooks } from '../conformance/refund.ts';
import type { Json } from '../support/instance.ts';
import { seed } from '../support/payout-shop.ts';
import { until } from '../support/until.ts';
import { openEvmPayouts } from './evm.ts';

const { shop, node, usdt } = await openEvmPayouts();
test.after(() => shop.close());

test('a stranger who knows a payment page’s address names no refund address: what the answer shows is what is paid', async () => {
  const { quayside, chain, refundWallet, paidSession, show, completed, paidTo } = shop;
  await chain.pay(refundWallet, 'USDT', shop.unitsOf(900, 'USDT'));
  const session = await paidSession(900);
  const [named, left, strange] = [shop.newPayee(), shop.newPayee(), shop.newPayee()];
  const page = new URL(session.payer_url);
  const leave = async (query: string, payee: string): Promise<number> => {
    const body = new URLSearchParams({ address: shop.format(payee), confirmed: 'yes' });
    const to = `${page.origin}${page.pathname}/refund-address${query}`;
    return (await fetch(to, { method: 'POST', body, redirect: 'manual' })).status;
  };
  const isRefused = async (query: string) => (await leave(query, strange)) >= 400;
  assert.ok(await isRefused(''), 'the session’s id is a name, not a secret');
  assert.ok(await isRefused(`?k=${'0'.repeat(32)}`));
  assert.ok(await isRefused(`?k=${new URL((await paidSession(100)).payer_url).searchParams.get('k')}`), 'another’s');
  assert.is(await leave(page.search, left), 303);
  const ask = async (refund_id: string, metadata: object) => {
    const wish = { order_id: session.id, refund_id, amount: '4.00', currency: 'USDT', ...metadata };
    const { status, body } = await quayside.api('POST', '/api/v1/refunds/create', wish);
    assert.is(status, 201, JSON.stringify(body));
    return body;
  };
  for (const [id, metadata, payee, source] of [
    ['r-named', { metadata: { refund_address: shop.format(named) } }, named, 'merchant'],
    ['r-left', {}, left, 'payer'],
  ] as const) {
    const shown = (answer: Json) => [answer.destination?.address, answer.destination_source];
    const expected = [shop.format(payee), source];
    assert.equal(shown(await ask(id, metadata)), expected);
    assert.ok(await isRefused(''));
    await completed(id);
    assert.equal(shown(await show(id)), expected);
    assert.equal(await paidTo(payee), [shop.unitsOf(400, 'USDT')]);
  }
  assert.equal(await paidTo(strange), []);
});

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
  await until('money out is frozen', async () => (await quayside.cli('status')).payouts.frozen.length > 0);
  const alarms: Json[] = (await quayside.cli('status')).alarms;
  const [alarm] = alarms.filter(({ code, message }) => code === 'wallet_outflow_foreign' && message.includes(tx));
  assert.ok(alarm, JSON.stringify(alarms));
  const { id, payee } = await refund(session, '1.00');
  await until('it is under way', async () => (await show(id)).status === 'processing');
  assert.equal(await paidTo(payee), []);

  const words = ['payout', 'reconcile', shop.network] as const;
  assert.match(await quayside.cli(...words).then(() => 'reconciled', String), '--reason is required');
  assert.match(
    await quayside.cli(...words, '--reason', 'a test').then(() => 'reconciled', String),
    /add --yes: frozen since/,
  );
  const shown = await quayside.cli(...words, '--dry-run');
  const rows: Json[] = shown.unexplained.filter((one: Json) => one.transaction_hash === tx);
  assert.equal([rows.length, shown.settled], [1, []]);
  assert.match(rows[0]?.is, 'not ours, known');
  const frozen = async () => (await quayside.cli('status')).payouts.frozen.length > 0;
  assert.equal([await frozen(), await paidTo(payee)], [true, []]);
  // The wallet's number, which is final later than the transfer is seen, may freeze the network once more.
  await until('it is reconciled, and the refund is paid', async () => {
    if (await frozen()) await quayside.cli(...words, '--reason', 'a stolen key', '--yes').catch(expectStillFrozen);
    return (await show(id)).status === 'completed';
  });
  assert.equal(await paidTo(payee), [shop.unitsOf(100, 'USDT')]);
  assert.equal((await quayside.cli('status')).payouts.halted_wallets, []);
});

function expectStillFrozen(error: unknown): void {
  assert.match(String(error), /payouts_settling|"still_frozen":\[\{/);
}

closeBooks(shop);
