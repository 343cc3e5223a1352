/**
 * The main job on real EVM nodes: a signed call makes a session, a token contract's transfer pays it, the merchant gets a signed
 * webhook. Two anvils play Ethereum and BSC; everything of Quayside runs as it does for an operator.
 * @module
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Anvil, startAnvil } from '../support/anvil.ts';
import {
  type BatchSender,
  deployBatchSender,
  deployFeeToken,
  deployLookAlike,
  deployToken,
  type TokenContract,
} from '../support/contracts.ts';
import { type FlowShop, openFlowShop } from '../support/flow-shop.ts';
import { type Instance, type Json, startInstance } from '../support/instance.ts';
import { type MerchantServer, startMerchantServer } from '../support/merchant-server.ts';
import { until } from '../support/until.ts';

const DEPTH = 4;
/** m/44'/60'/0'/0 of a seed of 32 bytes 0x07. */
const XPUB =
  'xpub6Ew7EvtU5EcYekrZWg8pm8BqR1dMb9xqooABkmNCi4KNcEZDwx3r9GmFhgJFge8RAZPLo2UBh2bsCcbZcbqp1bKz5CahKv5ZnMRCH96oQAU';

type Chain = Readonly<{ anvil: Anvil; tokens: Readonly<Record<'USDT' | 'USDC', TokenContract>>; batch: BatchSender }>;

let ethereum: Chain;
let bsc: Chain;
let feeToken: Awaited<ReturnType<typeof deployFeeToken>>;
let merchant: MerchantServer;
let quayside: Instance;
let shop: FlowShop;

const deploys = {
  fee: (anvil: Anvil, symbol: string, decimals: number) => deployFeeToken(anvil, { symbol, decimals }),
  plain: (anvil: Anvil, symbol: string, decimals: number) => deployToken(anvil, { symbol, decimals }),
};

test.before(async () => {
  const first = await startAnvil({ chainId: 1 });
  feeToken = await deploys.fee(first, 'USDT', 6);
  ethereum = {
    anvil: first,
    tokens: { USDT: feeToken, USDC: await deploys.plain(first, 'USDC', 6) },
    batch: await deployBatchSender(first),
  };
  const second = await startAnvil({ chainId: 56 });
  bsc = {
    anvil: second,
    tokens: { USDT: await deploys.plain(second, 'USDT', 18), USDC: await deploys.plain(second, 'USDC', 18) },
    batch: await deployBatchSender(second),
  };
  for (const { anvil } of [ethereum, bsc]) await anvil.mine(3);
  merchant = await startMerchantServer((response) => response.writeHead(200).end('{"received":true}'));
  const network = ({ anvil, tokens }: Chain) => ({
    mode: 'test',
    url: anvil.wsUrl,
    xpub: XPUB,
    confirmations: { kind: 'depth', blocks: DEPTH },
    reorg_depth_max: 40,
    block_time_ms: 1000,
    poll_ms: 100,
    tokens: Object.entries(tokens).map(([symbol, { address, decimals }]) => ({ symbol, address, decimals })),
  });
  quayside = await startInstance(
    { networks: { ethereum: network(ethereum), bsc: network(bsc) }, limits: { pool_target: 100 } },
    `${merchant.origin}/hook`,
  );
  shop = openFlowShop(quayside, merchant);
});

test.after(async () => {
  await quayside?.close();
  await merchant?.close();
  await ethereum?.anvil.close();
  await bsc?.anvil.close();
});

const addressOf = (session: Json): string => session.payment_options[0].address;

/** So many cents in a token's base units. */
const cents = (token: TokenContract, amount: number): bigint => BigInt(amount) * 10n ** BigInt(token.decimals - 2);

for (const [network, symbol] of [
  ['ethereum', 'USDT'],
  ['ethereum', 'USDC'],
  ['bsc', 'USDT'],
  ['bsc', 'USDC'],
] as const) {
  test(`${symbol} on ${network}: from the signed call to the signed webhook`, async () => {
    const { anvil, tokens } = network === 'ethereum' ? ethereum : bsc;
    const token = tokens[symbol];
    const session = await shop.newSession(1050);
    const option = session.payment_options.find((one: Json) => one.network === network && one.currency === symbol);
    assert.is(session.payment_options.length, 4);
    assert.is(new Set(session.payment_options.map((one: Json) => one.address)).size, 1);
    assert.is(option.amount, '10.50');
    assert.is(option.confirmations_required, DEPTH);

    const tx = await token.transfer(option.address, cents(token, 1050));
    await anvil.mine();
    await shop.waitForSeen(session);
    const seen = await shop.show(session);
    assert.is(seen.payment_status, 'pending');
    assert.equal(seen.payments, [
      { network, currency: symbol, amount: '10.50', transaction_hash: tx, confirmations: 1, status: 'seen' },
    ]);
    await anvil.mine(DEPTH - 2);
    await shop.waitFor('counts', session, (now) => now.payments[0].confirmations === DEPTH - 1);
    assert.is((await shop.show(session)).payment_status, 'pending', 'one block short of the depth');
    await anvil.mine();
    await shop.waitForStatus(session, 'paid');
    const paid = await shop.show(session);
    assert.is(paid.payments[0].status, 'confirmed');
    assert.not(paid.underpaid);
    assert.not(paid.overpaid);
    assert.equal(await shop.completed(session), {
      amount: 1050,
      status: 'completed',
      currency: symbol,
      order_id: session.metadata.order_id,
      session_id: session.id,
      source: 'api',
    });
  });
}

test('a part on one network is topped up on the other, in the other stablecoin', async () => {
  const session = await shop.newSession(2000);
  await ethereum.tokens.USDT.transfer(addressOf(session), cents(ethereum.tokens.USDT, 1250));
  await ethereum.anvil.mine(DEPTH);
  await shop.waitFor('is underpaid', session, (now) => now.underpaid && now.payments[0].status === 'confirmed');
  await until('the part is announced', () => shop.events(session, 'payment.partially_paid').length === 1);
  assert.is(shop.events(session, 'payment.partially_paid')[0].data.object.amount, 1250);
  await bsc.tokens.USDC.transfer(addressOf(session), cents(bsc.tokens.USDC, 750));
  await bsc.anvil.mine(DEPTH);
  await shop.waitForStatus(session, 'paid');
  const paid = await shop.show(session);
  assert.is(paid.payments.length, 2);
  assert.not(paid.underpaid);
  const { amount, currency } = await shop.completed(session);
  assert.equal({ amount, currency }, { amount: 2000, currency: 'USDT' });
});

test('an overpayment is paid, told of in full, and flagged', async () => {
  const session = await shop.newSession(500);
  await bsc.tokens.USDT.transfer(addressOf(session), cents(bsc.tokens.USDT, 731) + 1n);
  await bsc.anvil.mine(DEPTH);
  await shop.waitForStatus(session, 'paid');
  const paid = await shop.show(session);
  assert.ok(paid.overpaid);
  assert.is(paid.payments[0].amount, '7.310000000000000001');
  assert.is((await shop.completed(session)).amount, 731, 'rounded down to the minor unit');
});

test('a batch contract pays three sessions, one of them with two transfers, in one transaction', async () => {
  const { anvil, tokens, batch } = ethereum;
  const [one, two, twice] = [await shop.newSession(300), await shop.newSession(400), await shop.newSession(500)];
  await tokens.USDC.transfer(batch.address, cents(tokens.USDC, 1200));
  await anvil.mine();
  const tx = await batch.sendOwn(tokens.USDC.address, [
    [addressOf(one), cents(tokens.USDC, 300)],
    [addressOf(twice), cents(tokens.USDC, 200)],
    [addressOf(two), cents(tokens.USDC, 400)],
    [addressOf(twice), cents(tokens.USDC, 300)],
  ]);
  await anvil.mine(DEPTH);
  for (const session of [one, two, twice]) await shop.waitForStatus(session, 'paid');
  const payments = (await shop.show(twice)).payments;
  assert.equal(
    payments.map((payment: Json) => [payment.amount, payment.transaction_hash]),
    [
      ['2.00', tx],
      ['3.00', tx],
    ],
  );
  assert.is((await shop.completed(twice)).amount, 500);
});

test('reverted, undone, zero, look-alike and collectible transfers are no money', async () => {
  const { anvil, tokens, batch } = ethereum;
  const session = await shop.newSession(600);
  const address = addressOf(session);
  const lookAlike = await deployLookAlike(anvil);
  await tokens.USDC.transfer(batch.address, cents(tokens.USDC, 600));
  await anvil.mine();
  const reverted = [
    await tokens.USDC.transfer(address, cents(tokens.USDC, 600), { from: anvil.accounts[3] ?? '' }),
    await batch.sendOwnThenRevert(tokens.USDC.address, [[address, cents(tokens.USDC, 600)]]),
  ];
  await batch.sendOwnUndoneInside(tokens.USDC.address, [[address, cents(tokens.USDC, 600)]]);
  await tokens.USDC.transfer(address, 0n);
  await tokens.USDC.transferFrom(anvil.accounts[5] ?? '', address, 0n);
  await lookAlike.claimTransfer(anvil.accounts[0] ?? '', address, cents(tokens.USDC, 600));
  await lookAlike.claimNftTransfer(anvil.accounts[0] ?? '', address, 7n);
  await anvil.mine(DEPTH);
  for (const tx of reverted) assert.is((await anvil.receipt(tx))?.status, '0x0');
  // The real payment goes through the same blocks' reader: once it is in, everything before it was read.
  await tokens.USDC.transfer(address, cents(tokens.USDC, 600));
  await anvil.mine(DEPTH);
  await shop.waitForStatus(session, 'paid');
  assert.is((await shop.show(session)).payments.length, 1);
  assert.is((await shop.completed(session)).amount, 600);
});

test('a fee on transfer: what the event says arrived is what is credited', async () => {
  const { anvil } = ethereum;
  const session = await shop.newSession(10_000);
  await feeToken.setFee(10n, cents(feeToken, 100_000));
  await anvil.mine();
  await feeToken.transfer(addressOf(session), cents(feeToken, 10_000));
  await anvil.mine(DEPTH);
  await shop.waitFor('shows the net amount', session, (now) => now.payments[0]?.status === 'confirmed');
  const part = await shop.show(session);
  assert.is(part.payments[0].amount, '99.90');
  assert.is(part.payment_status, 'pending');
  assert.ok(part.underpaid);
  await feeToken.setFee(0n, 0n);
  await anvil.mine();
  await feeToken.transfer(addressOf(session), cents(feeToken, 10));
  await anvil.mine(DEPTH);
  await shop.waitForStatus(session, 'paid');
  assert.is((await shop.completed(session)).amount, 10_000);
});

test('a USDT session does not take USDC for it, but shows it', async () => {
  const { anvil, tokens } = bsc;
  const session = await shop.newSession(800, { currency: 'USDT' });
  assert.equal(new Set(session.payment_options.map((one: Json) => one.currency)), new Set(['USDT']));
  await tokens.USDC.transfer(addressOf(session), cents(tokens.USDC, 800));
  await anvil.mine(DEPTH);
  await shop.waitFor('shows the USDC', session, (now) => now.payments[0]?.status === 'confirmed');
  const wrong = await shop.show(session);
  assert.is(wrong.payment_status, 'pending');
  assert.ok(wrong.underpaid);
  const refusal = await quayside.api('POST', `/api/v1/checkout/sessions/${session.id}/cancel`);
  assert.equal([refusal.status, refusal.body.error.code], [400, 'payment_in_progress']);
  await tokens.USDT.transfer(addressOf(session), cents(tokens.USDT, 800));
  await anvil.mine(DEPTH);
  await shop.waitForStatus(session, 'paid');
  const { amount, currency } = await shop.completed(session);
  assert.equal({ amount, currency }, { amount: 800, currency: 'USDT' });
});

test('a reorg takes the money away before it is confirmed: the session is open again', async () => {
  const { anvil, tokens } = ethereum;
  const session = await shop.newSession(900);
  await tokens.USDC.transfer(addressOf(session), cents(tokens.USDC, 900));
  await anvil.mine(DEPTH - 1);
  await shop.waitFor('is nearly confirmed', session, (now) => now.payments[0]?.confirmations === DEPTH - 1);
  await anvil.reorg(DEPTH);
  await shop.waitFor('shows it orphaned', session, (now) => now.payments[0].status === 'orphaned');
  await anvil.mine(DEPTH * 2);
  await until('the new branch is read', async () => {
    const { number } = await anvil.head();
    return (await shop.statusOf('test:ethereum')).cursor === number;
  });
  const open = await shop.show(session);
  assert.is(open.payment_status, 'pending');
  assert.not(open.underpaid);
  assert.is(shop.events(session, 'payment.completed').length, 0);
  const { status, body } = await quayside.api('POST', `/api/v1/checkout/sessions/${session.id}/cancel`);
  assert.equal([status, body.payment_status], [200, 'canceled']);
  await until('the cancel is announced', () => shop.events(session, 'payment.cancelled').length === 1);
});

test('a reorg mines the payment again at another log index: it is credited once', async () => {
  const { anvil, tokens } = ethereum;
  const session = await shop.newSession(1100);
  const tx = await tokens.USDC.transfer(addressOf(session), cents(tokens.USDC, 1100));
  await anvil.mine(2);
  await shop.waitForSeen(session);
  const before = await anvil.receipt(tx);
  const raws = await anvil.reorg(2);
  await shop.waitFor('shows it orphaned', session, (now) => now.payments[0].status === 'orphaned');
  // A dearer transfer of someone else stands before it this time, from an account with money of its own.
  await tokens.USDT.transferFrom(anvil.accounts[4] ?? '', anvil.accounts[6] ?? '', 0n, {
    from: anvil.accounts[4] ?? '',
    feeWei: 10n ** 11n,
  });
  for (const raw of raws) await anvil.sendRaw(raw);
  await anvil.mine(DEPTH);
  const after = await anvil.receipt(tx);
  assert.is.not(after?.logs[0]?.logIndex, before?.logs[0]?.logIndex);
  assert.is.not(after?.blockHash, before?.blockHash);
  await shop.waitForStatus(session, 'paid');
  const paid = await shop.show(session);
  assert.not(paid.overpaid);
  assert.equal(paid.payments.map((payment: Json) => payment.status).sort(), ['confirmed', 'orphaned']);
  assert.is((await shop.completed(session)).amount, 1100);
});

test('a node that is stopped and started again in the middle of a payment loses nothing', async () => {
  const { anvil, tokens } = bsc;
  const session = await shop.newSession(1300);
  await tokens.USDT.transfer(addressOf(session), cents(tokens.USDT, 1300));
  await anvil.mine();
  await shop.waitForSeen(session);
  await anvil.stop();
  await until('the outage shows in status', async () => (await shop.statusOf('test:bsc')).state === 'fault');
  const fault = await shop.statusOf('test:bsc');
  assert.match(fault.reason.code, /^node_/);
  assert.is((await shop.statusOf('test:ethereum')).state, 'following', 'the other network goes on');
  await anvil.start();
  await anvil.mine(DEPTH);
  await shop.waitForStatus(session, 'paid');
  assert.is((await shop.completed(session)).amount, 1300);
});

test('the operator sees every network, and stopping is clean', async () => {
  const status = await quayside.cli('status');
  assert.equal(
    status.networks.map((one: Json) => [one.network, one.state, one.lag]),
    [
      ['test:ethereum', 'following', 0],
      ['test:bsc', 'following', 0],
    ],
  );
  assert.is(await quayside.stop(), 0);
});

test.run();
