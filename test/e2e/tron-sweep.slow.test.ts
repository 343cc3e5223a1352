/**
 * Payment addresses on TRON are swept with burned TRX, and with energy that is lent and taken back: real processes, the signer's own among them,
 * and a simulated java-tron that charges for energy and bandwidth.
 * @module
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { tronAddress } from '../../src/chains/tron/address.ts';
import { tronSpending } from '../../src/chains/tron/spend.ts';
import { seedOf } from '../../src/signer/keystore.ts';
import { openFlowShop } from '../support/flow-shop.ts';
import { type Json, startInstance } from '../support/instance.ts';
import { startMerchantServer } from '../support/merchant-server.ts';
import { askRpc } from '../support/simulated-node.ts';
import { makeSignerIn } from '../support/temp-signer.ts';
import { startTronNode, TRON_CHAIN_ID, tronTokenKeys, tronTokens } from '../support/tron-node.ts';
import { until } from '../support/until.ts';

const TRX = 1_000_000n;
const CENT = 10_000n;
const TREASURY = '71'.repeat(20);
const seed = seedOf('legal winner thank year wave sausage worth useful legal winner thank yellow');
const keyOf = (wallet: Parameters<typeof tronSpending.derive>[1]) => tronSpending.derive(seed, wallet).key;
const gasWallet = keyOf({ role: 'gas' });

const home = mkdtempSync(join(tmpdir(), 'quayside-tron-sweep-'));
const node = await startTronNode({ seed: 'sweep', finalityDistance: 3 });
const { world } = node;
for (let left = 5; left > 0; left--) world.mine();
const merchant = await startMerchantServer((response) => response.writeHead(200).end('{"received":true}'));
const policy = {
  family: 'tron' as const,
  chain_id: TRON_CHAIN_ID,
  tokens: [tronTokens[0]],
  treasury: tronAddress.format(TREASURY),
  fee_max: '50',
  caps: { USDT: { transaction: '500', hour: '1000', day: '2000' } },
  gas_caps: { transaction: '50', day: '200' },
};
const signer = makeSignerIn(home, seed, { 'test:tron': policy });
const tron = {
  mode: 'test',
  url: node.url,
  xpub: tronSpending.xpub(seed),
  chain_id: TRON_CHAIN_ID,
  confirmations: { kind: 'finalized', usual: 4 },
  reorg_depth_max: 40,
  block_time_ms: 500,
  poll_ms: 100,
  tokens: [tronTokens[0]],
};
const quayside = await startInstance(
  { networks: { tron }, limits: { pool_target: 50 }, signer },
  `${merchant.origin}/hook`,
);
const shop = openFlowShop(quayside, merchant);
await askRpc(node.url, 'sandbox_interval', [{ ms: 500 }]);
test.after(async () => {
  await quayside.close();
  await merchant.close();
  await node.close();
  rmSync(home, { recursive: true, force: true });
});

const sweep = (...words: string[]): Promise<Json> => quayside.cli('sweep', ...words);
const gasPayouts = (): Promise<Json> => quayside.cli('payouts', 'list', '--kind', 'gas');
const held = (key: string): bigint => world.accounts().token(tronTokenKeys[0], key);

/** @returns its address key, once its money is final */
async function paidAddress(cents: number): Promise<string> {
  const session = await shop.newSession(cents);
  const owner = tronAddress.parse(session.payment_options[0].address) ?? '';
  node.pay(owner, BigInt(cents) * CENT);
  await shop.waitForStatus(session, 'paid');
  await until('it is final', async () => (await sweep('status'))[0].unswept.length === 1);
  return owner;
}

test('without a stake, an address that never held TRX is sent what its sweep burns', async () => {
  const owner = await paidAddress(2_500);
  world.fund(gasWallet, 200n * TRX);
  await until('the gas wallet can pay', async () => (await sweep('plan'))[0].sweeps.length === 1);
  const [plan] = await sweep('plan');
  assert.equal(
    plan.sweeps[0].gas.map(({ form }: Json) => form),
    ['transfer'],
  );
  const run = await sweep('run', '--yes');
  assert.equal(
    run.sweeps.map(({ state }: Json) => state),
    ['succeeded'],
  );
  assert.equal([held(TREASURY), held(owner)], [2_500n * CENT, 0n]);
});

test('with a stake, it is lent energy for its sweep, which is taken back', async () => {
  const owner = await paidAddress(4_000);
  const refundWallet = keyOf({ role: 'refund' });
  world.fund(refundWallet, TRX);
  world.fund(gasWallet, 1_000_000n * TRX, true);
  const formsOf = async () => (await sweep('plan'))[0].sweeps[0]?.gas.map(({ form }: Json) => form) ?? [];
  await until('energy can be lent', async () => (await formsOf()).includes('delegate'));
  assert.equal(await formsOf(), ['transfer', 'delegate']);
  const before = world.accounts().native(gasWallet);
  const run = await sweep('run', '--yes');
  assert.equal(
    run.sweeps.map(({ state }: Json) => state),
    ['succeeded'],
  );
  assert.equal([held(TREASURY), held(owner)], [6_500n * CENT, 0n]);
  await until('the loan is taken back', async () => {
    const gas: Json[] = await gasPayouts();
    return gas.length === 4 && gas.every(({ state }) => state === 'succeeded');
  });
  assert.is(world.accounts().lent(gasWallet, owner), 0n);
  // A new account costs 1.1 TRX; burning the energy would cost more than 6.
  assert.ok(before - world.accounts().native(gasWallet) < 4n * TRX, 'little was burned');
});

test('a second run finds nothing, and the books balance', async () => {
  assert.equal((await sweep('run', '--yes')).sweeps, []);
  const { balanced, problems } = await quayside.cli('ledger', 'verify');
  assert.ok(balanced, JSON.stringify(problems));
});

test.run();
