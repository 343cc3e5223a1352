/**
 * Money out on TRON: a signed call refunds a paid session, the signer's own process signs, the simulated java-tron charges and includes it, and a
 * sweep is made possible and done. Everything of Quayside runs as it does for an operator.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { tronAddress } from '../../src/chains/tron/address.ts';
import { tronSpending } from '../../src/chains/tron/spend.ts';
import type { Intent } from '../../src/core/intent.ts';
import { openSqliteDatabase } from '../../src/database/sqlite/sqlite-database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { databaseFile, readSecretKey } from '../../src/lib/secret-key.ts';
import { seedOf } from '../../src/signer/keystore.ts';
import { openFlowShop } from '../support/flow-shop.ts';
import { type Json, startInstance } from '../support/instance.ts';
import { startMerchantServer } from '../support/merchant-server.ts';
import { accountKey } from '../support/sandbox-node.ts';
import { askRpc } from '../support/simulated-node.ts';
import { makeSignerIn } from '../support/temp-signer.ts';
import { startTronNode, TRON_CHAIN_ID, tronTokenKeys, tronTokens } from '../support/tron-node.ts';
import { until } from '../support/until.ts';

const TRX = 1_000_000n;
const CENT = 10_000n;
const TREASURY = '71'.repeat(20);
const seed = seedOf('legal winner thank year wave sausage worth useful legal winner thank yellow');
const keyOf = (wallet: Parameters<typeof tronSpending.derive>[1]) => tronSpending.derive(seed, wallet).key;
const wallet = keyOf({ role: 'refund' });

const home = mkdtempSync(join(tmpdir(), 'quayside-tron-refunds-'));
const node = await startTronNode({ seed: 'refunds', finalityDistance: 3 });
const { world } = node;
for (let left = 5; left > 0; left--) world.mine();
const merchant = await startMerchantServer((response) => response.writeHead(200).end('{"received":true}'));
const caps = { transaction: '500', hour: '1000', day: '2000' };
const policy = {
  family: 'tron' as const,
  chain_id: TRON_CHAIN_ID,
  tokens: [tronTokens[0]],
  treasury: tronAddress.format(TREASURY),
  fee_max: '50',
  caps: { USDT: caps },
  gas_caps: { transaction: '50', day: '200' },
};
const signer = makeSignerIn(home, seed, { 'test:tron': policy });
const network = {
  mode: 'test',
  url: node.url,
  xpub: tronSpending.xpub(seed),
  chain_id: TRON_CHAIN_ID,
  confirmations: { kind: 'depth', blocks: 2 },
  reorg_depth_max: 40,
  block_time_ms: 500,
  poll_ms: 100,
  tokens: [tronTokens[0]],
};
const quayside = await startInstance(
  { networks: { tron: network }, limits: { pool_target: 50 }, signer },
  `${merchant.origin}/hook`,
);
await quayside.cli('refunds', 'policy', '--store', quayside.merchantId, '--cancel-window', '0');
const shop = openFlowShop(quayside, merchant);
await askRpc(node.url, 'sandbox_interval', [{ ms: 500 }]);
test.after.each(() => node.faults.heal());
test.after(async () => {
  await quayside.close();
  await merchant.close();
  await node.close();
  rmSync(home, { recursive: true, force: true });
});

const show = async (id: string): Promise<Json> => (await quayside.api('GET', `/api/v1/refunds/${id}`)).body;
const waitsFor = (reason: string) =>
  until(`a payout waits for ${reason}`, async () =>
    (await quayside.cli('status')).payouts.waiting.some((one: Json) => one.reason === reason),
  );
const paidTo = (key: string): bigint[] =>
  world
    .transfers()
    .filter(({ from, to }) => from === wallet && to === key)
    .map(({ units }) => units);

async function paidSession(cents: number): Promise<Json> {
  const session = await shop.newSession(cents);
  node.pay(tronAddress.parse(session.payment_options[0].address) ?? '', BigInt(cents) * CENT);
  await shop.waitForStatus(session, 'paid');
  return session;
}

let refunds = 0;
/** Asks for a refund to a payee of its own. */
async function refund(session: Json, amount: string) {
  refunds += 1;
  const [id, key] = [`refund-${refunds}`, accountKey(`payee ${refunds}`)];
  const { status, body } = await quayside.api('POST', '/api/v1/refunds/create', {
    order_id: session.id,
    refund_id: id,
    amount,
    currency: 'USDT',
    metadata: { refund_address: tronAddress.format(key) },
  });
  assert.is(status, 201, JSON.stringify(body));
  return { id, key };
}

async function completed(id: string): Promise<Json> {
  await until(`refund ${id} is completed`, async () => (await show(id)).status === 'completed');
  return show(id);
}

test('a refund waits for USDT, then for TRX, and is paid as soon as the wallet can', async () => {
  const session = await paidSession(2_000);
  const { id, key } = await refund(session, '12.34');
  await waitsFor('token_short');
  node.pay(wallet, 1_000n * 100n * CENT);
  await waitsFor('native_short');
  assert.equal(paidTo(key), []);
  world.fund(wallet, 500n * TRX);
  const { transaction_hash: tx } = await completed(id);
  assert.equal(paidTo(key), [12_340_000n]);
  assert.ok(world.find(tx));
  await until('it is announced', () => shop.events(session, 'refund.succeeded').length > 0);
});

test('a node that throws away what it takes is sent the same bytes again, and one that denies what it took pays once', async () => {
  const session = await paidSession(1_000);
  node.faults.set({ rates: { send_dropped: 0.7, send_denied: 0.5 } });
  const asked = [await refund(session, '1.00'), await refund(session, '2.00'), await refund(session, '3.00')];
  for (const { id } of asked) await completed(id);
  assert.equal(
    asked.map(({ key }) => paidTo(key)),
    [[1_000_000n], [2_000_000n], [3_000_000n]],
  );
});

test('a stop in the middle and a start later pay once', async () => {
  const session = await paidSession(900);
  const { id, key } = await refund(session, '9.00');
  await until('it is under way', async () => (await show(id)).status !== 'pending');
  await quayside.stop();
  await quayside.start();
  await completed(id);
  assert.equal(paidTo(key), [9_000_000n]);
});

test('a collection address is given TRX, and swept to the treasury; the books balance', async () => {
  const session = await paidSession(1_200);
  const owner = tronAddress.parse(session.payment_options[0].address);
  const index = Array.from({ length: 100 }, (_, at) => at).find(
    (at) => keyOf({ role: 'collection', index: at }) === owner,
  );
  assert.ok(owner !== null && index !== undefined);
  world.fund(keyOf({ role: 'gas' }), 100n * TRX);
  const from = [{ index, units: 1_200n * CENT }];
  const sweep: Intent = { kind: 'sweep', id: 'sweep-1', network: 'test:tron', currency: 'USDT', from };
  const gas: Intent = { kind: 'gas', id: 'gas-1', network: 'test:tron', form: 'transfer', index, units: 16n * TRX };
  const database = openSqliteDatabase({
    file: databaseFile(quayside.dataDir),
    secretKey: readSecretKey(quayside.dataDir, {}),
    busyTimeoutMs: 10_000,
    bytesMax: null,
    outageWaitS: 600,
  });
  const nowMs = systemClock.nowMs();
  const dues = { sessionId: null, notBeforeMs: nowMs, nowMs };
  await database.planPayouts([
    { intent: sweep, servesId: null, ...dues },
    { intent: gas, servesId: sweep.id, ...dues },
  ]);
  await database.close();
  await until('it is swept', async () => (await quayside.cli('payouts', 'show', sweep.id)).state === 'succeeded');
  assert.is(world.accounts().token(tronTokenKeys[0], TREASURY), 1_200n * CENT);
  assert.is(world.accounts().token(tronTokenKeys[0], owner), 0n);
  const books = await quayside.cli('ledger', 'verify');
  assert.is(books.balanced, true);
});

test.run();
