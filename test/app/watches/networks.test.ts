/** Reports of indexers, and those of a follower that is stuck. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { watchNetworks } from '../../../src/app/watches/networks.ts';
import type { NetworkReport } from '../../../src/database/networks.ts';
import { closing } from '../../support/closing.ts';
import { type HandClock, handClock } from '../../support/hand-clock.ts';
import { openPolledIndexer } from '../../support/polled-indexer.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { testNetwork } from '../../support/test-network.ts';
import { CALM_MS, PATIENCE_MS, type Watched, watched } from '../../support/watched.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
const network = testNetwork({ name: 'one' });

type Scene = Readonly<{
  bench: Watched;
  clock: HandClock;
  /** Reports this once a second for so long, with a head that rises unless it is given, and looks. */
  reports(change: Partial<NetworkReport>, ms?: number): Promise<string[]>;
}>;

async function scene(play: (scene: Scene) => Promise<void>): Promise<void> {
  const { database } = closing(openTempDatabase());
  const clock = handClock();
  const bench = watched(watchNetworks(database, [network], PATIENCE_MS), database, clock);
  let headNumber = 100;
  const plain = { network: network.key, reason: null, nodeConnected: true, readThroughS: 0, pid: 1 };
  await play({
    bench,
    clock,
    async reports(report, ms = SECOND_MS) {
      for (let left = ms; left > 0; left -= 10 * SECOND_MS) {
        clock.advance(Math.min(left, 10 * SECOND_MS));
        const nowMs = clock.nowMs();
        headNumber++;
        const now = { state: 'following', headNumber, nodeHeardAtMs: nowMs, nowMs } as const;
        await database.networks.report({ ...plain, ...now, ...report });
        await bench.look();
      }
      return bench.look();
    },
  });
}

const reason = { code: 'node_unreachable', message: 'no answer from node.example' };

test('a fault that lasts, on and off, is an alarm with its reason; a short one is none', () =>
  scene(async ({ bench, reports }) => {
    assert.equal(await reports({}, MINUTE_MS), []);
    assert.equal(await reports({ state: 'fault', reason }, PATIENCE_MS - MINUTE_MS), []);
    assert.equal(await reports({}, 2 * CALM_MS), []);
    for (let n = 0; n < 6; n++) {
      await reports({ state: 'fault', reason }, 40 * SECOND_MS);
      await reports({}, 20 * SECOND_MS);
    }
    assert.equal(await bench.look(), ['network_fault']);
    const [alarm] = await bench.open();
    assert.match(alarm?.message ?? '', /^test:one is at fault.*no answer from node\.example \(node_unreachable\)\. /);
    assert.equal(await reports({}, 2 * CALM_MS), []);
  }));

test('a halted network is an alarm at once, with the code of its reason, also when its indexer has ended', () =>
  scene(async ({ bench, reports }) => {
    const why = { code: 'chain_id_mismatch', message: 'another chain' };
    assert.equal(await reports({ state: 'halted', reason: why }), ['chain_id_mismatch']);
    assert.equal(await bench.after(10 * MINUTE_MS, MINUTE_MS), ['chain_id_mismatch']);
    assert.equal(await reports({}, 2 * CALM_MS), []);
  }));

test('an indexer that hangs, or has never run, is an alarm after a minute', () =>
  scene(async ({ bench, reports }) => {
    await bench.look();
    assert.equal(await bench.after(MINUTE_MS, SECOND_MS), ['indexer_silent']);
    assert.match((await bench.open())[0]?.message ?? '', /^test:one: its indexer has never reported\. /);
    assert.equal(await reports({}, 2 * CALM_MS), []);
    assert.equal(await bench.after(2 * MINUTE_MS, SECOND_MS), ['indexer_silent']);
    assert.match((await bench.open())[0]?.message ?? '', /has reported nothing for \d+ s/);
  }));

for (const code of ['finality_stalled', 'second_node_disagrees', 'second_node_unavailable']) {
  test(`${code} is an alarm after a minute`, () =>
    scene(async ({ reports }) => {
      const why = { code, message: 'payments in block 7 wait' };
      assert.equal(await reports({ reason: why }, 50 * SECOND_MS), [], 'a node that was restarted');
      assert.equal(await reports({ reason: why }, MINUTE_MS), [code]);
      assert.equal(await reports({}, 2 * CALM_MS), []);
    }));
}

test('the alarm of a network that is no longer configured ends', async () => {
  const { database } = closing(openTempDatabase());
  const clock = handClock();
  const before = watched(watchNetworks(database, [network], PATIENCE_MS), database, clock);
  await before.look();
  assert.equal(await before.after(MINUTE_MS), ['indexer_silent']);
  const after = watched(watchNetworks(database, [], PATIENCE_MS), database, clock);
  await after.look();
  assert.equal(await after.after(CALM_MS), []);
});

test('a payment that waits for much longer than usual is an alarm, until it is credited', async () => {
  const network = { confirmations: [{ finality: 'finalized', usual: 3 }] } as const;
  const polled = closing(await openPolledIndexer('evm', { network }));
  const { own, shop, clock, poll } = polled;
  const bench = watched(watchNetworks(shop.database, [shop.network], PATIENCE_MS), shop.database, clock);
  const order = await shop.order('slow');
  own.pay(order.address, 10_000_000n);
  const mine = async (blocks: number) => {
    for (let left = blocks; left > 0; left--) own.world.mine();
    await poll(2);
  };
  await mine(13);
  await bench.look();
  assert.equal(await bench.after(PATIENCE_MS, 10_000), [], '13 of 3 blocks');
  await mine(10);
  for (let left = 40; left > 0; left--) {
    await mine(1);
    await bench.after(10_000);
  }
  assert.ok((await bench.look()).includes('payments_slow'));
  const slow = (await bench.open()).find(({ code }) => code === 'payments_slow');
  assert.match(
    slow?.message ?? '',
    /payments on test:evm wait for longer than usual\. One is \d+ blocks deep, and 3 are usual/,
  );
  own.world.finalize();
  await mine(1);
  assert.is((await order.read()).life.status, 'paid');
  await bench.look();
  assert.not.ok((await bench.after(CALM_MS)).includes('payments_slow'));
});

test.run();
