/**
 * Payment addresses on Solana are swept many at once, and the gas wallet pays: real processes, the signer's own among them, and a simulated node
 * that checks signatures, balances and fees.
 * @module
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { solanaAddress } from '../../src/chains/solana/address.ts';
import { solanaOfflineKeys } from '../../src/chains/solana/offline-keys.ts';
import { solanaSpending } from '../../src/chains/solana/spend.ts';
import { seedOf } from '../../src/signer/keystore.ts';
import { openFlowShop } from '../support/flow-shop.ts';
import { type Json, startInstance } from '../support/instance.ts';
import { startMerchantServer } from '../support/merchant-server.ts';
import { askRpc } from '../support/simulated-node.ts';
import { SOLANA_CHAIN_ID, solanaTokens, startSolanaNode } from '../support/solana-node.ts';
import { makeSignerIn } from '../support/temp-signer.ts';
import { until } from '../support/until.ts';

const CENT = 10_000n;
const SOL = 1_000_000_000n;
/** More than one transaction can empty. */
const OWNERS = 8;
const PHRASE = 'legal winner thank year wave sausage worth useful legal winner thank yellow';
const seed = seedOf(PHRASE);
const gasWallet = solanaSpending.derive(seed, { role: 'gas' }).key;
const treasury = solanaOfflineKeys.derive(new Uint8Array(64).fill(9), 0, 1)[0] ?? '';
const [usdt] = solanaTokens;

const home = mkdtempSync(join(tmpdir(), 'quayside-solana-sweep-'));
const node = await startSolanaNode({ seed: 'sweep', finalityDistance: 5 });
const { world } = node;
for (let left = 3; left > 0; left--) world.mine();
// A treasury has held the token before.
node.pay(treasury, 100n);
world.mine();
const merchant = await startMerchantServer((response) => response.writeHead(200).end('{"received":true}'));
const policy = {
  family: 'solana' as const,
  chain_id: SOLANA_CHAIN_ID,
  tokens: [usdt],
  treasury: solanaAddress.format(treasury),
  fee_max: '0.01',
  caps: { USDT: { transaction: '500', hour: '1000', day: '2000' } },
  gas_caps: { transaction: '0', day: '0' },
};
const signer = makeSignerIn(home, seed, { 'test:solana': policy });
const solana = {
  mode: 'test',
  url: node.url,
  rpc_url: node.rpcUrl,
  chain_id: SOLANA_CHAIN_ID,
  confirmations: { kind: 'finalized', usual: 6 },
  reorg_depth_max: 60,
  block_time_ms: 400,
  poll_ms: 100,
  tokens: [usdt],
  sweep: { min: '1.00', native_price: '100' },
};
const quayside = await startInstance({ networks: { solana }, signer }, `${merchant.origin}/hook`);
const shop = openFlowShop(quayside, merchant);
test.after(async () => {
  await quayside.close();
  await merchant.close();
  await node.close();
  rmSync(home, { recursive: true, force: true });
});

let sessions: Json[] = [];
const sweep = (...words: string[]): Promise<Json> => quayside.cli('sweep', ...words);
const held = (key: string): bigint => world.accounts().token(solanaAddress.parse(usdt.address) ?? '', key);
const ownerOf = (session: Json): string => solanaAddress.parse(session.payment_options[0].address) ?? '';

test.before(async () => {
  const [phrase, list] = [join(home, 'phrase'), join(home, 'list.json')];
  writeFileSync(phrase, `${PHRASE}\n`);
  const derive = ['--network', 'solana-devnet', '--count', '20', '--out', list, '--seed-file', phrase];
  await quayside.cli('address-pool', 'derive', ...derive);
  await quayside.cli('address-pool', 'import', list);
  await askRpc(node.rpcUrl, 'sandbox_interval', [{ ms: 300 }]);
  for (let n = 1; n <= OWNERS; n++) sessions = [...sessions, await shop.newSession(n * 100)];
  for (const [at, session] of sessions.entries()) node.pay(ownerOf(session), BigInt((at + 1) * 100) * CENT);
  for (const session of sessions) await shop.waitForStatus(session, 'paid');
  await until('all of it is final', async () => (await sweep('status'))[0].unswept[0]?.amount === '36.00 USDT');
});

test('a plan puts six addresses into a transaction, the greatest first, and waits for the gas wallet', async () => {
  const [poor] = await sweep('plan');
  assert.equal(poor.sweeps, []);
  assert.match(poor.left[0].detail, /^native_short/);
  world.fund(gasWallet, SOL);
  await until('the gas wallet can pay', async () => (await sweep('plan'))[0].sweeps.length > 0);
  const [plan] = await sweep('plan');
  assert.equal(
    plan.sweeps.map(({ addresses, amount, gas }: Json) => [addresses.length, amount, gas]),
    [
      [6, '33.00 USDT', []],
      [2, '3.00 USDT', []],
    ],
  );
  assert.match(plan.sweeps[0].cost_share, /^0\.\d\d %$/);
});

test('all of it arrives, the gas wallet has paid, and no session has seen anything', async () => {
  const before = await Promise.all(sessions.map((session) => shop.show(session)));
  const run = await sweep('run', '--yes');
  assert.equal(run.sweeps.map(({ state, addresses }: Json) => [state, addresses]).sort(), [
    ['succeeded', 2],
    ['succeeded', 6],
  ]);
  assert.is(held(treasury), 100n + 3_600n * CENT);
  assert.equal(
    sessions.map((session) => held(ownerOf(session))),
    sessions.map(() => 0n),
  );
  assert.ok(world.accounts().native(gasWallet) < SOL);
  const after = await Promise.all(sessions.map((session) => shop.show(session)));
  assert.equal(
    after.map(({ payments, payment_status }) => [payments.length, payment_status]),
    before.map(({ payments, payment_status }) => [payments.length, payment_status]),
  );
  assert.equal((await sweep('run', '--yes')).sweeps, []);
  const { balanced, problems } = await quayside.cli('ledger', 'verify');
  assert.ok(balanced, JSON.stringify(problems));
});

test.run();
