/**
 * Money out on a real EVM node: a signed call refunds a paid session, the signer's own process signs, anvil executes, and the merchant gets a
 * signed webhook. Everything of Quayside runs as it does for an operator. A block each second; one is final when four stand on it.
 * @module
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { evmSpending } from '../../src/chains/evm/spend.ts';
import { seedOf } from '../../src/signer/keystore.ts';
import { makeSigner } from '../../src/signer/setup.ts';
import { type Anvil, startAnvil } from '../support/anvil.ts';
import { deployFeeToken, type TokenContract } from '../support/contracts.ts';
import { type FlowShop, openFlowShop } from '../support/flow-shop.ts';
import { type Instance, type Json, startInstance } from '../support/instance.ts';
import { type MerchantServer, startMerchantServer } from '../support/merchant-server.ts';
import { until } from '../support/until.ts';

const ETHER = 10n ** 18n;
const seed = seedOf('legal winner thank year wave sausage worth useful legal winner thank yellow');
const refundWallet = `0x${evmSpending.derive(seed, { role: 'refund' }).key}`;
const passphrase = 'a passphrase of the tests';

let home: string;
let anvil: Anvil;
let usdt: TokenContract;
let merchant: MerchantServer;
let quayside: Instance;
let shop: FlowShop;

test.before(async () => {
  home = mkdtempSync(join(tmpdir(), 'quayside-refunds-'));
  anvil = await startAnvil({ chainId: 1, slotsInAnEpoch: 2, mining: { everyS: 1 } });
  usdt = await deployFeeToken(anvil, { symbol: 'USDT', decimals: 6 });
  await anvil.rpc('anvil_setBalance', [refundWallet, `0x${ETHER.toString(16)}`]);
  merchant = await startMerchantServer((response) => response.writeHead(200).end('{"received":true}'));
  const token = { symbol: 'USDT' as const, address: usdt.address, decimals: 6 };
  const policy = {
    family: 'evm' as const,
    chain_id: '1',
    tokens: [token],
    treasury: `0x${'71'.repeat(20)}`,
    fee_max: '0.1',
    caps: { USDT: { transaction: '500', hour: '1000', day: '2000' } },
    gas_caps: { transaction: '0.1', day: '1' },
  };
  const dir = join(home, 'signer');
  const file = join(home, 'passphrase');
  makeSigner(dir, seed, Buffer.from(passphrase), {
    version: 1,
    approvers: [],
    networks: { 'test:ethereum': policy },
  });
  writeFileSync(file, passphrase, { mode: 0o600 });
  const network = {
    mode: 'test',
    url: anvil.wsUrl,
    xpub: evmSpending.xpub(seed),
    confirmations: { kind: 'depth', blocks: 2 },
    reorg_depth_max: 40,
    block_time_ms: 1000,
    poll_ms: 100,
    tokens: [token],
  };
  quayside = await startInstance(
    { networks: { ethereum: network }, limits: { pool_target: 50 }, signer: { dir, unlock: { file } } },
    `${merchant.origin}/hook`,
  );
  await quayside.cli('refunds', 'policy', '--store', quayside.merchantId, '--cancel-window', '0');
  shop = openFlowShop(quayside, merchant);
});

test.after(async () => {
  await quayside?.close();
  await merchant?.close();
  await anvil?.close();
  rmSync(home, { recursive: true, force: true });
});

let refunds = 0;
let payees = 0;

async function paidSession(cents: number): Promise<Json> {
  const session = await shop.newSession(cents);
  const [option] = session.payment_options;
  await usdt.transfer(option.address, BigInt(cents) * 10_000n);
  await shop.waitForStatus(session, 'paid');
  return session;
}

/** Asks for a refund to a payee of its own. */
async function refund(session: Json, amount: string): Promise<Readonly<{ id: string; payee: string }>> {
  refunds += 1;
  payees += 1;
  const [id, payee] = [`refund-${refunds}`, `0x${payees.toString(16).padStart(40, 'a')}`];
  const { status, body } = await quayside.api('POST', '/api/v1/refunds/create', {
    order_id: session.id,
    refund_id: id,
    amount,
    currency: 'USDT',
    metadata: { refund_address: payee },
  });
  assert.is(status, 201, JSON.stringify(body));
  return { id, payee };
}

const show = async (id: string): Promise<Json> => (await quayside.api('GET', `/api/v1/refunds/${id}`)).body;

async function completed(id: string): Promise<Json> {
  await until(`refund ${id} is completed`, async () => (await show(id)).status === 'completed');
  return show(id);
}

/** Transfers that the chain has from the refund wallet to a payee, in units. */
async function paidTo(payee: string): Promise<bigint[]> {
  const word = (address: string) => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;
  const topics = [null, word(refundWallet), word(payee)];
  const logs = await anvil.rpc<readonly { data: string }[]>('eth_getLogs', [
    { fromBlock: '0x0', toBlock: 'latest', address: usdt.address, topics },
  ]);
  return logs.map(({ data }) => BigInt(data));
}

test('a refund without float waits, and is paid as soon as the wallet can', async () => {
  const session = await paidSession(2_000);
  const { id, payee } = await refund(session, '12.34');
  await until('the operator is told why it waits', async () => {
    const { payouts } = await quayside.cli('status');
    return payouts.waiting.some((one: Json) => one.reason === 'token_short' && one.payouts === 1);
  });
  assert.is((await show(id)).status, 'processing');
  assert.equal(await paidTo(payee), []);
  await usdt.transfer(refundWallet, 1_000_000_000n);

  const { transaction_hash: tx, receipt_number: receipt } = await completed(id);
  assert.match(receipt, /^RF-\d{4}-\d{8}$/);
  assert.equal(await paidTo(payee), [12_340_000n]);
  assert.is((await anvil.receipt(tx))?.status, '0x1');
  await until('it is announced', () => shop.events(session, 'refund.succeeded').length > 0);
  const [event] = shop.events(session, 'refund.succeeded');
  assert.is(event.data.object.refund_id, id);
  assert.is(event.data.object.refund_amount, 1_234);
});

test('refunds of several sessions at once are each paid once, and together no more than was received', async () => {
  const sessions = [await paidSession(1_000), await paidSession(1_500), await paidSession(700)];
  const asked = await Promise.all(
    sessions.flatMap((session) => [refund(session, '2.00'), refund(session, '1.50'), refund(session, '0.01')]),
  );
  const { status, body } = await quayside.api('POST', '/api/v1/refunds/create', {
    order_id: sessions[2]?.id,
    refund_id: 'too-much',
    amount: '3.50',
    currency: 'USDT',
    metadata: { refund_address: `0x${'b'.repeat(40)}` },
  });
  assert.is(status, 400, JSON.stringify(body));
  assert.is(body.error.code, 'REFUND_AMOUNT_EXCEEDED');
  for (const { id } of asked) await completed(id);
  const paid = await Promise.all(asked.map(({ payee }) => paidTo(payee)));
  assert.equal(
    paid,
    sessions.flatMap(() => [[2_000_000n], [1_500_000n], [10_000n]]),
  );
});

test('a stop in the middle and a start later pay once', async () => {
  const session = await paidSession(900);
  const { id, payee } = await refund(session, '9.00');
  await until('it is under way', async () => (await show(id)).status !== 'pending');
  await quayside.stop();
  await quayside.start();
  await completed(id);
  assert.equal(await paidTo(payee), [9_000_000n]);
});

test('a reorg takes a payment back, and it is made good with the same transaction', async () => {
  const session = await paidSession(800);
  const { id, payee } = await refund(session, '8.00');
  await until('it stands in a block', async () => (await paidTo(payee)).length === 1);
  await anvil.reorg(1);
  const { transaction_hash: tx } = await completed(id);
  assert.equal(await paidTo(payee), [8_000_000n]);
  assert.is((await anvil.receipt(tx))?.status, '0x1');
});

test('the books balance afterwards', async () => {
  const { balanced, problems } = await quayside.cli('ledger', 'verify');
  assert.ok(balanced, JSON.stringify(problems));
});

test.run();
