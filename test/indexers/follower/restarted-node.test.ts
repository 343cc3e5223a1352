/**
 * A node that has just started may show an old state, in which a token does not exist yet. That is waited out; a token
 * that really is not there halts the network.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Node } from '../../../src/chains/chain.ts';
import { transient } from '../../../src/core/fault.ts';
import { inPolledIndexer, type PolledIndexer, type PolledOptions, tipOf } from '../../support/polled-indexer.ts';

const scene = (play: (polled: PolledIndexer) => Promise<void>, options: PolledOptions = {}) =>
  inPolledIndexer('solana', options, play);

const MINUTE_MS = 60_000;

test('a node that shows its genesis for a moment is waited for, and followed again', () =>
  scene(async ({ own, shop, poll }) => {
    own.faults.set({ rates: { restarted: 1 } });
    own.world.mine();
    await poll(1, MINUTE_MS);
    await shop.isIn('fault', 'token_missing');
    assert.match((await shop.status())?.reason?.message ?? '', /may have just started.*correct the network's token/);
    await poll(5, 500);
    assert.equal(await shop.database.alarms.list(10), []);
    own.faults.set({ rates: { restarted: 0 } });
    own.world.mine();
    await poll(2, 10_000);
    await shop.isIn('following');
    await shop.holds(tipOf(own));
  }));

/** From `isMissing` on, the first token is missing in the state of this block. */
const without =
  (isMissing: () => boolean, stateNumber: () => number) =>
  (node: Node): Node => ({
    ...node,
    async identity() {
      const found = await node.identity();
      if (!isMissing()) return found;
      const decimals = new Map(found.decimals);
      const [first = ''] = decimals.keys();
      decimals.set(first, transient('token_missing', `there is no account at the token address ${first}`));
      return { ...found, decimals, stateNumber: stateNumber() };
    },
  });

test('a token that is missing in a state as new as our tip halts the network at once', async () => {
  let isMissing = false;
  let tip = 0;
  await scene(
    async ({ own, shop, poll }) => {
      tip = own.world.tip().number;
      isMissing = true;
      await poll(1, MINUTE_MS);
      await shop.isIn('halted', 'token_not_a_contract');
      assert.is((await shop.database.alarms.list(10))[0]?.code, 'token_not_a_contract');
    },
    {
      through: without(
        () => isMissing,
        () => tip,
      ),
    },
  );
});

test('a token that stays missing for ten minutes halts the network, if the node’s chain goes on meanwhile', async () => {
  let stateNumber = 0;
  let isMissing = false;
  await scene(
    async ({ shop, poll }) => {
      isMissing = true;
      // It stands still: it may be unpacking a snapshot for an hour.
      await poll(20, MINUTE_MS);
      await shop.isIn('fault', 'token_missing');
      stateNumber += 1;
      await poll(1, MINUTE_MS);
      await shop.isIn('halted', 'token_not_a_contract');
    },
    {
      through: without(
        () => isMissing,
        () => stateNumber,
      ),
    },
  );
});

test.run();
