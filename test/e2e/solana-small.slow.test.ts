/**
 * Small amounts on Solana: an order of at most `confirmed_amount_max` is paid once its block is confirmed, a larger one
 * once it is final, in one payment or in many. And what happens if a confirmed block leaves the chain after all.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { solanaAddress } from '../../src/chains/solana/address.ts';
import { type FlowShop, openFlowShop } from '../support/flow-shop.ts';
import { type Instance, type Json, startInstance } from '../support/instance.ts';
import { type MerchantServer, startMerchantServer } from '../support/merchant-server.ts';
import { SOLANA_CHAIN_ID, type SolanaNode, solanaTokens, startSolanaNode } from '../support/solana-node.ts';
import { until } from '../support/until.ts';

const FINALITY = 12;
const USUAL = FINALITY + 1;
const CENT = 10_000n;

let node: SolanaNode;
let merchant: MerchantServer;
let quayside: Instance;
let shop: FlowShop;
const folder = mkdtempSync(join(tmpdir(), 'quayside-small-'));

test.before(async () => {
  node = await startSolanaNode({ seed: 'small', finalityDistance: FINALITY });
  mine(3);
  merchant = await startMerchantServer((response) => response.writeHead(200).end('{"received":true}'));
  const solana = {
    mode: 'test',
    url: node.url,
    rpc_url: node.rpcUrl,
    chain_id: SOLANA_CHAIN_ID,
    confirmations: { finality: 'finalized', usual: USUAL, confirmed_amount_max: '20.00' },
    reorg_depth_max: 60,
    block_time_ms: 400,
    poll_ms: 100,
    tokens: solanaTokens,
  };
  quayside = await startInstance({ networks: { solana } }, `${merchant.origin}/hook`);
  shop = openFlowShop(quayside, merchant);
  const [phrase, list] = [join(folder, 'phrase'), join(folder, 'list.json')];
  writeFileSync(phrase, `${'abandon '.repeat(11)}about\n`);
  const made = ['--network', 'solana-devnet', '--count', '20', '--out', list, '--seed-file', phrase];
  await quayside.cli('address-pool', 'derive', ...made);
  await quayside.cli('address-pool', 'import', list);
  await until('the network is followed', async () => (await shop.statusOf('test:solana')).state === 'following');
});

test.after(async () => {
  await quayside?.close();
  await merchant?.close();
  await node?.close();
  rmSync(folder, { recursive: true, force: true });
});

function mine(blocks = 1): void {
  for (let left = blocks; left > 0; left--) node.world.mine(2);
}

const pay = (session: Json, cents: number): string =>
  node.pay(solanaAddress.parse(session.payment_options[0].address) ?? '', BigInt(cents) * CENT);

/** Pays a small order. Once it is paid, everything sent before it has been checked. */
async function everythingIsChecked(): Promise<void> {
  const last = await shop.newSession(1);
  pay(last, 1);
  mine();
  await shop.waitForStatus(last, 'paid');
}

const textOf = async ({ url }: Json): Promise<string> =>
  (await (await fetch(`${quayside.baseUrl}${new URL(url).pathname}`)).text()).replace(/<[^>]+>/g, ' ');

test('a small order is paid once its block is confirmed, as its page said', async () => {
  const session = await shop.newSession(2000);
  assert.is(session.payment_options[0].confirmations_required, 1);
  pay(session, 2000);
  mine();
  await shop.waitForStatus(session, 'paid');
  const [payment] = (await shop.show(session)).payments;
  assert.equal([payment.status, payment.confirmations], ['confirmed', 1], 'long before it is final');
  assert.is((await shop.completed(session)).amount, 2000);
});

test('a larger order waits for finality, also if it is paid in small parts', async () => {
  const session = await shop.newSession(3000);
  assert.is(session.payment_options[0].confirmations_required, USUAL);
  for (const cents of [1500, 1000]) {
    pay(session, cents);
    mine();
  }
  pay(session, 250);
  pay(session, 250);
  mine();
  await everythingIsChecked();
  const waiting = await shop.show(session);
  assert.is(waiting.payment_status, 'pending');
  assert.ok(waiting.payments.some(({ status }: Json) => status === 'seen'));
  assert.match(await textOf(session), new RegExp(`of ${USUAL} confirmations`));
  mine(FINALITY + 2);
  await shop.waitForStatus(session, 'paid');
  assert.is((await shop.completed(session)).amount, 3000);
});

test('a heavily overpaid small order waits too, and its page says for how long', async () => {
  const session = await shop.newSession(1900);
  pay(session, 2100);
  mine();
  await everythingIsChecked();
  assert.is((await shop.show(session)).payment_status, 'pending');
  assert.match(await textOf(session), new RegExp(`\\d+ of ${USUAL} confirmations`));
  mine(FINALITY + 2);
  await shop.waitForStatus(session, 'paid');
});

test('a reorg of a credited confirmed block is reported to the merchant and raises an alarm', async () => {
  const session = await shop.newSession(900);
  pay(session, 900);
  mine();
  await shop.waitForStatus(session, 'paid');
  await shop.completed(session);
  node.world.reorg({ depth: 1, keep: 'none', blocks: 3 });
  await shop.waitFor('shows it orphaned', session, (now) => now.payments[0].status === 'orphaned');
  assert.is((await shop.show(session)).payment_status, 'paid', 'never flipped in silence');
  await until('the merchant is told', () => shop.events(session, 'payment.reversed').length === 1);
  const { alarms } = await quayside.cli('status');
  assert.ok(alarms.some((one: Json) => one.code === 'payment_reversed' && one.session === session.id));
  pay(session, 900);
  mine(FINALITY + 2);
  await shop.waitFor('has its money again', session, (now) =>
    now.payments.some(({ status }: Json) => status === 'confirmed'),
  );
  assert.is(shop.events(session, 'payment.completed').length, 1);
  assert.is(await quayside.stop(), 0);
});

test.run();
