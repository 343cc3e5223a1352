/**
 * The simulated java-tron from the point of view of wallets: what it accepts, the texts of its refusals, and the effect
 * in its blocks. The payout client's side is in `test/chains/tron/node/payout-node.test.ts`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { worldShape } from '../../src/sandbox/families.ts';
import { openDurableWorld } from '../../src/sandbox/journal.ts';
import { openTronPool } from '../../src/sandbox/tron-pool.ts';
import { withClient } from '../chains/payout-bench.ts';
import { makeSimulatedPayouts } from '../chains/simulated-payouts.ts';
import { handClock } from '../support/hand-clock.ts';
import { TRON_CHAIN_ID, tronTokenKeys } from '../support/simulated-node.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely; every field used is asserted
type Json = any;

const TRX = 1_000_000n;
const bench = withClient(await makeSimulatedPayouts('tron', 'wallets'));
const { sandbox, world, openWallets, openFundedWallets, signOn, prepare, send, mine } = bench;
test.after.each(() => sandbox.faults.heal());
test.after(() => bench.close());

const ask = async (path: string, body: object = {}): Promise<Json> => JSON.parse(await sandbox.post(path, body));
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
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

test('signatures, loans and used allowances survive a restart', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-tron-wallets-'));
  try {
    const clock = handClock();
    const shape = worldShape({ family: 'tron', chainId: TRON_CHAIN_ID });
    const open = () =>
      openDurableWorld({ ...shape, file: join(folder, 'tron.jsonl'), seed: 'durable', clock, finalityDistance: 3 });
    const first = open();
    const wallets = openWallets();
    const owner = wallets.keyOf({ role: 'refund' });
    first.world.fund(owner, 50n * TRX);
    first.world.fund(owner, 7_000n * TRX, true);
    first.world.pay({
      kind: 'direct',
      from: 'ab'.repeat(20),
      outputs: [{ token: tronTokenKeys[0], to: owner, units: 9n }],
    });
    first.world.mine();
    const { hash, number, timeS } = first.world.tip();
    const terms = {
      ref_block_number: String(number),
      ref_block_hash: hash.slice(16, 32),
      timestamp_ms: String(timeS * 1000),
      expiration_ms: String(timeS * 1000 + 60_000),
      fee_limit: '30000000',
    };
    const { bytes, tx } = signOn(wallets, wallets.refund('USDT', 4n), terms);
    first.world.submit(openTronPool(first.world, tronTokenKeys).check(hex(bytes)));
    first.world.mine();
    const stood = first.world.find(tx);
    const told = (accounts: ReturnType<typeof first.world.accounts>) => ({
      native: accounts.native(owner),
      token: accounts.token(tronTokenKeys[0], owner),
      usable: accounts.usable(owner),
      usedUp: accounts.usedUp(owner, timeS),
    });
    const before = told(first.world.accounts());
    assert.equal(before.usedUp, { energy: 70_000, bytes: 345 });
    assert.is(before.token, 5n);
    first.close();
    const second = open();
    assert.equal(told(second.world.accounts()), before);
    assert.equal(second.world.find(tx)?.block, stood?.block);
    second.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('control is JSON-RPC at the root', async () => {
  const before = world.tip().number;
  const answer = await ask('/', { jsonrpc: '2.0', id: 1, method: 'sandbox_mine', params: [{ blocks: 2 }] });
  assert.is(answer.result.number, before + 2);
  assert.is(answer.result.hash, world.tip().hash, 'in the family’s own format');
  assert.is((await ask('/', { jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] })).error.code, -32601);
});

test.run();
