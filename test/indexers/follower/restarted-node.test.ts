/**
 * A node that has just started may show an old state, in which a token does not exist yet. That is waited out.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { inPolledIndexer, type PolledIndexer, tipOf } from '../../support/polled-indexer.ts';

const scene = (play: (polled: PolledIndexer) => Promise<void>) => inPolledIndexer('solana', {}, play);

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

test.run();
