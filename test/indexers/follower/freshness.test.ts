/**
 * Whether a network is up to date: by the age of its newest block, or, where block times are no clock, by whether
 * blocks come and whether the node says that it is behind.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createFreshness } from '../../../indexers/follower/freshness.ts';
import { inPolledIndexer, type PolledIndexer, tipOf } from '../../support/polled-indexer.ts';

const scene = (play: (polled: PolledIndexer) => Promise<void>) => inPolledIndexer('solana', {}, play);

/** Mines a block a second, for so many seconds. */
async function go({ mine, poll }: PolledIndexer, seconds: number): Promise<void> {
  for (let left = seconds; left > 0; left--) {
    mine(1);
    await poll();
  }
}

test('a chain whose clock is behind is followed while its blocks come; nothing counts as read beyond its own time', () =>
  scene(async (polled) => {
    const { own, shop, clock } = polled;
    own.faults.set({ rates: { clock_behind: 1 } });
    await go(polled, 3);
    await shop.isIn('following', 'chain_clock_behind');
    const { reason, tipHash, readThroughS } = (await shop.status()) ?? {};
    assert.match(reason?.message ?? '', /clock is 9\d s behind, but its blocks keep coming/);
    assert.is(tipHash, tipOf(own));
    assert.ok((readThroughS ?? 0) <= clock.nowMs() / 1000);
    own.faults.set({ rates: { clock_behind: 0 } });
    await go(polled, 1);
    await shop.isIn('following');
  }));

test('a chain on which no more blocks come is stale, whatever its clock says, until one comes', () =>
  scene(async (polled) => {
    const { own, shop, poll } = polled;
    own.faults.set({ rates: { clock_behind: 1 } });
    await go(polled, 3);
    await poll(59);
    await shop.isIn('following', 'chain_clock_behind');
    await poll(3);
    await shop.isIn('behind', 'node_stale');
    await go(polled, 1);
    await shop.isIn('following', 'chain_clock_behind');
  }));

test('a node whose old blocks rise is stale if it says itself that it is behind', () =>
  scene(async (polled) => {
    const { own, shop } = polled;
    own.faults.set({ rates: { clock_behind: 1, unhealthy: 1 } });
    await go(polled, 3);
    await shop.isIn('behind', 'node_stale');
    assert.match((await shop.status())?.reason?.message ?? '', 'Node is behind by 42 slots');
    own.faults.set({ rates: { unhealthy: 0 } });
    await go(polled, 1);
    await shop.isIn('following', 'chain_clock_behind');
  }));

test('where block times are a clock, old blocks that rise are those of a syncing node', async () => {
  const judge = createFreshness({}, 60_000);
  const block = (number: number, timeS: number) => ({ hash: `${number}`, parent: `${number - 1}`, number, timeS });
  for (let number = 1; number <= 3; number++) {
    const { isOld, whyStale } = await judge(block(number, 1_000 + number), 2_000_000 + number * 1_000);
    assert.ok(isOld);
    assert.match(whyStale ?? '', `block ${number} is 1000 s old: the node is syncing or cut off`);
  }
  assert.equal(await judge(block(4, 1_950), 2_000_000), { isOld: false, whyStale: null });
});

test.run();
