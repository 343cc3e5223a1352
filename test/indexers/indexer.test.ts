/** How an indexer starts: whose settings allow no payouts, and whose addresses are not all derived yet. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { awaitRetiredAddresses } from '../../indexers/follower/retired-addresses.ts';
import type { Node } from '../../src/chains/chain.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { openLog } from '../../src/lib/log.ts';
import { openSigner } from '../../src/signer/client.ts';
import { addressKeyOf } from '../support/address-keys.ts';
import { closing } from '../support/closing.ts';
import { handClock } from '../support/hand-clock.ts';
import { openIndexedShop } from '../support/indexed-shop.ts';
import { retireMinutes } from '../support/retire-minutes.ts';
import { startIndexer, statusOf } from '../support/running-indexer.ts';
import { startSimulatedNode } from '../support/simulated-node.ts';
import { openTempDatabase } from '../support/temp-database.ts';
import { testNetwork } from '../support/test-network.ts';
import { until } from '../support/until.ts';

test('payments are still followed where the settings allow no payouts', async () => {
  const { database } = closing(openTempDatabase());
  const network = testNetwork({ name: 'tron', family: 'tron', url: 'http://127.0.0.1:1', finalityUrl: null });
  const signer = closing(openSigner({ socket: '/nowhere/signer.sock', timeoutMs: 1000 }));
  const indexer = startIndexer(database, network, { signer });
  await until('an alarm is raised', async () =>
    (await database.alarms.list(10)).some(({ code }) => code === 'payouts_need_finality'),
  );
  assert.is((await database.engines.list())[0]?.reason?.code, 'payouts_need_finality');
  await until('the follower reports', async () => (await statusOf(database, network)) !== null);
  await indexer.stop();
});

test('payouts wait for a person where blocks are read before our own wallets are known', async () => {
  const { database } = closing(openTempDatabase());
  const network = testNetwork({ name: 'tron', family: 'tron', url: 'http://127.0.0.1:1', finalityUrl: null });
  const signer = closing(openSigner({ socket: '/nowhere/signer.sock', timeoutMs: 1000 }));
  const start = async (isKnown: boolean) => {
    const indexer = startIndexer(database, network, { signer, walletsMsMax: 1 });
    await until('the follower reports', async () => (await statusOf(database, network)) !== null);
    if (isKnown) await until('money out is frozen', async () => (await database.holds.list()).length > 0);
    await indexer.stop();
    return (await database.holds.list()).map(({ network: of, code }) => [of, code]);
  };
  assert.equal(await start(false), [], 'a new network');
  assert.equal(await start(true), [[network.key, 'wallets_unknown']]);
});

test('a payment to an address that is derived only after the machine was restored is found', async () => {
  const own = closing(await startSimulatedNode({ family: 'evm', seed: 'restored' }));
  const mine = (blocks: number) => Array.from({ length: blocks }, () => own.world.mine());
  mine(5);
  const network = testNetwork({ name: 'one', url: own.wsUrl, xpub: 'xpub' });
  const shop = closing(await openIndexedShop(network, 20));
  const { database } = shop;
  const first = shop.start();
  await shop.isIn('following');
  await first.stop();
  // Given out by a run that nothing here knows.
  const pool = { family: 'evm', mode: 'test', source: 'test' } as const;
  const keys = Array.from({ length: 20 }, (_, n) => addressKeyOf(20 + n, 20));
  own.pay(keys[4] ?? '', 10_000_000n);
  mine(3);
  await retireMinutes(database, 30);
  let [looks, reads] = [0, 0];
  const clock: Clock = {
    ...systemClock,
    sleep(ms, signal) {
      if (ms === 250) looks++;
      return systemClock.sleep(ms, signal);
    },
  };
  const range = (node: Node): Node['range'] => {
    return (...given) => {
      reads++;
      return node.range(...given);
    };
  };
  shop.start({ clock, through: (node) => ({ ...node, range: range(node) }) });
  await until('the indexer waits', () => looks > 8 || reads > 0);
  assert.is(reads, 0, 'no block is read yet');
  await database.addresses.add({ ...pool, firstIndex: 20, keys });
  await until('the payment is found', async () =>
    (await database.alarms.list(10)).some(({ code }) => code === 'payment_without_session'),
  );
});

test('without a server that derives them, blocks are read after some minutes, and imported addresses are not awaited', async () => {
  const { database } = closing(openTempDatabase());
  const pool = { family: 'evm', mode: 'test' } as const;
  await database.addresses.add({ ...pool, source: 'x', firstIndex: 0, keys: [addressKeyOf(0, 20)] });
  await retireMinutes(database, 1);
  const clock = handClock();
  const startMs = clock.nowMs();
  const sleep = async (ms: number) => clock.advance(ms);
  const parts = { addresses: database.addresses, clock: { ...clock, sleep }, log: openLog('test', 'silent') };
  const { signal } = new AbortController();
  await awaitRetiredAddresses({ ...parts, network: testNetwork({ name: 'one', xpub: null }) }, signal);
  assert.is(clock.nowMs(), startMs);
  await awaitRetiredAddresses({ ...parts, network: testNetwork({ name: 'one', xpub: 'xpub' }) }, signal);
  assert.is(clock.nowMs(), startMs + 180_000);
});

test.run();
