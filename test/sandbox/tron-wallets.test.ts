/**
 * The simulated java-tron from the point of view of wallets: what it accepts, the texts of its refusals, and the effect
 * in its blocks. The payout client's side is in `test/chains/tron/node/payout-node.test.ts`.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withClient } from '../chains/payout-bench.ts';
import { makeSimulatedPayouts } from '../chains/simulated-payouts.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely; every field used is asserted
type Json = any;

const TRX = 1_000_000n;
const bench = withClient(await makeSimulatedPayouts('tron', 'wallets'));
const { sandbox, world, openFundedWallets, prepare, send, mine } = bench;
test.after.each(() => sandbox.faults.heal());
test.after(() => bench.close());

const ask = async (path: string, body: object = {}): Promise<Json> => JSON.parse(await sandbox.post(path, body));
const wire = (key: string): string => `41${key}`;

test('lent energy is listed and used before TRX is burned; allowances regenerate within a day', async () => {
  const wallets = await openFundedWallets();
  const wallet = wallets.keyOf({ role: 'refund' });
  assert.equal(await ask('/wallet/getcandelegatedmaxsize', { owner_address: wire(wallet), type: 1 }), {});
  world.fund(wallet, 20_000n * TRX, true);
  mine();
  const staked = await ask('/wallet/getcandelegatedmaxsize', { owner_address: wire(wallet), type: 1 });
  assert.equal(staked, { max_size: 20_000_000_000 });
  const before = bench.native(wallet);
  await send(await prepare(wallets, wallets.refund('USDT', 1n)));
  mine();
  assert.is(bench.native(wallet), before);
  const used = async () => (await ask('/wallet/getaccountresource', { address: wire(wallet) })).EnergyUsed;
  assert.is(await used(), 130_285);
  mine(1, 12 * 3600 * 1000);
  const half = await used();
  assert.ok(half > 65_000 && half < 65_200, String(half));
  mine(1, 12 * 3600 * 1000);
  assert.is(await used(), undefined);
});

test('control is JSON-RPC at the root', async () => {
  const before = world.tip().number;
  const answer = await ask('/', { jsonrpc: '2.0', id: 1, method: 'sandbox_mine', params: [{ blocks: 2 }] });
  assert.is(answer.result.number, before + 2);
  assert.is(answer.result.hash, world.tip().hash, 'in the family’s own format');
  assert.is((await ask('/', { jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] })).error.code, -32601);
});

test.run();
