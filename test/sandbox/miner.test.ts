import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startMiner } from '../../src/sandbox/miner.ts';
import { createWorld } from '../simulated/world.ts';
import { closing } from '../support/closing.ts';
import { lockstepClock } from '../support/lockstep-clock.ts';
import { accountKey, usdtKey } from '../support/simulated-node.ts';
import { until } from '../support/until.ts';

const BLOCK_MS = 300;
const FOLLOWED = 5;
const pace = { intervalMs: BLOCK_MS, quiet: { intervalMs: 10 * BLOCK_MS, afterBlocks: FOLLOWED } };
const payment = {
  kind: 'direct',
  from: accountKey('payer'),
  outputs: [{ token: usdtKey, to: accountKey('payee'), units: 5n }],
} as const;

/** A world whose miner has just started; `pass` lets so many short intervals pass. */
function open() {
  const clock = lockstepClock();
  const view = clock.view();
  const world = createWorld({ seed: 'miner', clock, tokens: [usdtKey], keyBytes: 20, finalityDistance: 3 });
  const faults: unknown[] = [];
  const miner = startMiner(world, view, pace, (error) => faults.push(error));
  return {
    world,
    async pass(intervals: number) {
      const before = world.tip().number;
      for (let at = 0; at < intervals; at++) {
        clock.advance(BLOCK_MS);
        await until('the miner sleeps', () => view.asleep() > 0);
      }
      return world.tip().number - before;
    },
    async close() {
      await miner.stop();
      assert.equal(faults, []);
    },
  };
}

test('blocks come fast after the start, and slowly once nothing is under way', async () => {
  const { pass } = closing(open());
  assert.is(await pass(FOLLOWED), FOLLOWED);
  assert.is(await pass(40), 4);
});

test('a payment is in the next fast block, and those that follow it are fast', async () => {
  const { world, pass } = closing(open());
  await pass(FOLLOWED + 3);
  const id = world.pay(payment);
  assert.is(await pass(1), 1);
  assert.is(world.tip().transactions[0]?.id, id);
  assert.is(await pass(FOLLOWED), FOLLOWED);
  assert.is(await pass(20), 2);
});

test('blocks are fast after a reorg', async () => {
  const { world, pass } = closing(open());
  await pass(FOLLOWED + 20);
  world.reorg({ depth: 1 });
  assert.is(await pass(FOLLOWED), FOLLOWED);
  assert.is(await pass(20), 2);
});

test.run();
