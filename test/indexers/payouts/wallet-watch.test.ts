/** The engine's start, with our wallets known. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { keyOf } from '../../sim/payout-signer.ts';
import { type Bench, network, onBench, startOf, untilSettled } from './engine-bench.ts';

/** Adds an empty block as a follower that knows the wallets. */
async function follow({ database, clock }: Bench, number: number, floor: number) {
  await database.wallets.recordOwn(network, { refund: keyOf({ role: 'refund' }) });
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
    connect: [{ block: { hash: `b${number}`, parent: tip?.hash ?? '', number, timeS: 0 }, transfers: [] }],
    confirm: [],
    floor,
    readThroughS: 0,
    nowMs: clock.nowMs(),
  });
}
test(
  'after a start nothing is signed until what was on the chain then has been read and is final',
  onBench(
    async (bench) => {
      await bench.plan('r1');
      assert.is((await bench.pass())?.code, 'payouts_settling');
      await follow(bench, 7, 6);
      assert.is((await bench.pass())?.code, 'payouts_settling');
      assert.equal(await bench.database.payouts.attempts('r1'), []);
      assert.equal(await bench.alarms(), []);
      await follow(bench, 8, 7);
      assert.is(await bench.pass(), null);
      await untilSettled(bench, 'r1');
    },
    { chainNode: startOf(7) },
  ),
);

test.run();
