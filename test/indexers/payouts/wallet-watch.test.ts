/** What the engine does about transfers that left our wallets without an attempt that it knows. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChainTransfer } from '../../../src/core/transfer.ts';
import { keyOf } from '../../sim/payout-signer.ts';
import { type Bench, network, onBench, startOf, untilSettled } from './engine-bench.ts';

const [wallet, payee] = [keyOf({ role: 'refund' }), keyOf({ role: 'gas' })];
const leaves = (tx: string, to = payee): ChainTransfer => ({
  tx,
  index: 0,
  currency: 'USDT',
  from: wallet,
  to,
  units: 5n,
  isOutgoing: true,
});

/** Adds a block as a follower that knows the wallets. */
async function follow({ database, clock }: Bench, number: number, transfers: readonly ChainTransfer[], floor = number) {
  await database.wallets.recordOwn(network, { refund: wallet });
  const [tip] = await database.blocks.tail(network, 1);
  await database.blocks.ingest({
    network,
    family: 'evm',
    expectTip: tip?.hash ?? null,
    watchedThrough: 0,
    ownWallet: 1_000,
    decimals: { USDT: 6 },
    dustFloorPar: 1n,
    drop: [],
    connect: [{ block: { hash: `b${number}`, parent: tip?.hash ?? '', number, timeS: 0 }, transfers }],
    confirm: [],
    floor,
    readThroughS: 0,
    nowMs: clock.nowMs(),
  });
}
const stateOf = async ({ database }: Bench, id: string) => (await database.payouts.find(id))?.state;

const benchTest = (title: string, ...args: Parameters<typeof onBench>) => test(title, onBench(...args));

benchTest(
  'after a start nothing is signed until what was on the chain then has been read and is final',
  async (bench) => {
    await bench.plan('r1');
    assert.is((await bench.pass())?.code, 'payouts_settling');
    await follow(bench, 7, [], 6);
    assert.is((await bench.pass())?.code, 'payouts_settling');
    assert.equal(await bench.database.payouts.attempts('r1'), []);
    assert.equal(await bench.alarms(), []);
    await follow(bench, 8, [], 7);
    assert.is(await bench.pass(), null);
    await untilSettled(bench, 'r1');
  },
  { chainNode: startOf(7) },
);

benchTest(
  'what may have paid an open refund freezes the network: only a person settles it',
  async (bench) => {
    await bench.plan('r1');
    await follow(bench, 7, [leaves('t1')]);
    for (let n = 0; n < 3; n++) assert.is((await bench.pass())?.code, 'payouts_frozen');
    assert.equal([await stateOf(bench, 'r1'), await bench.alarms()], ['waiting', ['wallet_outflow_foreign']]);
    assert.equal(await bench.database.payouts.attempts('r1'), []);
  },
  { chainNode: startOf(7) },
);

benchTest(
  'money that leaves a wallet without any reason stops all payouts of the network',
  async (bench) => {
    await bench.plan('r1');
    await follow(bench, 7, [leaves('t1', 'cc'.repeat(20))]);
    assert.is((await bench.pass())?.code, 'payouts_frozen');
    assert.equal(await bench.alarms(), ['wallet_outflow_foreign']);
    for (let n = 0; n < 3; n++) await bench.pass();
    assert.equal(await bench.database.payouts.attempts('r1'), []);
  },
  { chainNode: startOf(7) },
);

benchTest('a nonce that somebody else used freezes the network before anything is to be paid', async (bench) => {
  await bench.pass();
  bench.chain.usurp(wallet);
  for (let n = 1; n < 7; n++) {
    await follow(bench, n, []);
    await bench.pass();
  }
  assert.equal(
    (await bench.database.payouts.foreignNonces(network)).map(({ payer }) => payer),
    [wallet],
  );
  assert.equal(await bench.alarms(), ['payout_nonce_foreign']);
});

test.run();
