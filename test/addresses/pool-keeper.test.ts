import { HDKey } from '@scure/bip32';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createTarget, type PoolOptions, startPool, xpubFingerprint } from '../../src/addresses/pool-keeper.ts';
import { xpubKeysAt } from '../../src/chains/xpub.ts';
import { Fault } from '../../src/core/fault.ts';
import type { Database } from '../../src/database/database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openLog } from '../../src/lib/log.ts';
import { closing } from '../support/closing.ts';
import { column } from '../support/fields.ts';
import { ingestedChain } from '../support/ingested-chain.ts';
import { merchantStore, newSession } from '../support/new-session.ts';
import { retireMinutes } from '../support/retire-minutes.ts';
import { openTempDatabase } from '../support/temp-database.ts';
import { testNetwork } from '../support/test-network.ts';
import { until } from '../support/until.ts';

const evmXpubKeys = xpubKeysAt("m/44'/60'/0'/0");

/** m/44'/60'/0'/0 of the BIP-39 phrase that development nodes use: eleven times "test", then "junk". */
const xpub =
  'xpub6DyUKdwoLWmUJ4Tn9Bbsdtx7B5Ws18mEN19e5HT52ikE53FiUheSQXrZUNPovqfyKmw4579A1Mm3GXXKM39N64uooBfJ4tNAzFsEbodRTx4';
/** Another wallet's account of that number. */
const otherXpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(1)).derive("m/44'/60'/0'/0").publicExtendedKey;
const source = xpubFingerprint(xpub);
const pool = { family: 'evm', mode: 'test' } as const;
const log = openLog('test', 'silent');

/** Two networks that share one pool. */
const networksOf = (key: string) => ['ethereum', 'bsc'].map((name) => testNetwork({ name, xpub: key }));
const keep = (database: PoolOptions['database'], poolTarget: number, key = xpub) =>
  startPool({ database, config: { networks: networksOf(key), limits: { poolTarget } }, clock: systemClock, log });

const freeIn = async (database: Database, key = xpub) =>
  (await database.addresses.level(pool, xpubFingerprint(key))).free;

/** Counts the addresses of each slice that is added. */
function countAdded(database: Database) {
  const counts: number[] = [];
  const add: Database['addresses']['add'] = (input) => {
    counts.push(input.keys.length);
    return database.addresses.add(input);
  };
  return { counts, counting: { ...database, addresses: { ...database.addresses, add } } };
}

test('an empty pool is filled to its target with the addresses of the xpub, in order', async () => {
  const { database } = closing(openTempDatabase());
  const keeper = keep(database, 60);
  await until('the pool is full', async () => (await freeIn(database)) === 60);
  await keeper.stop();
  const held = await database.addresses.watchList(pool, 0, 100);
  assert.equal(
    column(held, 'key'),
    Array.from({ length: 60 }, (_, index) => evmXpubKeys.derive(xpub, index)),
  );
  // The first account of every development node.
  assert.is(held[0]?.key, 'f39fd6e51aad88f6f4ce6ab8827279cfffb92266');
});

test('a first slice is saved long before a large pool is full', async () => {
  const { database } = closing(openTempDatabase());
  const { counts, counting } = countAdded(database);
  const keeper = keep(counting, 100_000);
  await until('the first addresses are there', async () => (await freeIn(database)) > 0);
  assert.ok((counts[0] ?? 0) < 1000, 'the first commit is a small one');
  await keeper.stop();
});

test('sessions take addresses, and the pool is refilled with new ones; no address is given out twice', async () => {
  const { database } = closing(openTempDatabase());
  const keeper = keep(database, 20);
  await until('the pool is full', async () => (await freeIn(database)) === 20);
  const network = testNetwork({ name: 'ethereum' });
  await ingestedChain(() => database, systemClock, network).mine();
  const shop = merchantStore();
  await database.stores.create(shop);
  const given = new Set<string>();
  for (let n = 0; n < 45; n++) {
    await until('an address is free', async () => (await freeIn(database)) > 0);
    const wish = { storeId: shop.id, name: `order${n}`, networks: [network], amountMinor: 100, nowMs: n };
    const outcome = await database.sessions.create(newSession(wish));
    assert.is(outcome.kind, 'created');
    if ('session' in outcome) given.add(outcome.session.addresses.evm ?? '');
  }
  assert.is(given.size, 45);
  await until('the pool is full enough', async () => (await freeIn(database)) >= 15);
  await keeper.stop();
});

test('a pool holds what sessions took in the last minutes, and its target again once they take less', () => {
  const target = createTarget(500);
  const seen = Array.from({ length: 10 }, (_, half) => target(50_000 + Math.min(4, half) * 900, half * 30_000));
  // 1,800 a minute for two minutes, then none.
  assert.equal(seen, [500, 900, 1_800, 2_700, 1_800, 1_800, 500, 500, 500, 500]);
  assert.is(createTarget(500)(1_000_000, 0), 500, 'what was taken before the start does not count');
  const flooded = createTarget(500);
  flooded(0, 0);
  assert.is(flooded(1_000_000, 1_000), 5_000);
});

test('retired addresses, for which followers wait, are derived first and in large slices', async () => {
  const { database } = closing(openTempDatabase());
  await database.addresses.add({ ...pool, source, firstIndex: 0, keys: ['00'.repeat(20)] });
  await retireMinutes(database, 590);
  const { counts, counting } = countAdded(database);
  const keeper = keep(counting, 10);
  await until('the pool is full', async () => (await freeIn(database)) === 10);
  await keeper.stop();
  assert.equal(counts, [250, 250, 99, 10]);
});

test('an earlier xpub that is configured again is used again, however full its own pool is', async () => {
  const { database } = closing(openTempDatabase());
  const network = testNetwork({ name: 'ethereum' });
  await ingestedChain(() => database, systemClock, network).mine();
  const shop = merchantStore();
  await database.stores.create(shop);
  const first = keep(database, 10);
  await until('the pool is full', async () => (await freeIn(database)) === 10);
  await first.stop();
  const mistaken = keep(database, 10, otherXpub);
  await until('the other xpub is in use', async () => (await freeIn(database, otherXpub)) === 10);
  assert.is(await freeIn(database), 0, 'retired addresses are not on offer');
  await mistaken.stop();

  const corrected = keep(database, 10);
  await until('the first xpub is in use again', async () => (await freeIn(database)) >= 10);
  await corrected.stop();
  assert.is(await freeIn(database, otherXpub), 0);
  const wish = { storeId: shop.id, name: 'order', networks: [network], amountMinor: 100, nowMs: 1 };
  const outcome = await database.sessions.create(newSession(wish));
  assert.is('session' in outcome && outcome.session.addresses.evm, evmXpubKeys.derive(xpub, 0));
});

test('a locked database delays the pool only while it is locked', async () => {
  const { database, file, connect } = closing(openTempDatabase());
  const hasty = connect(10);
  // The first use of a new file writes the probe of its secret key.
  assert.equal([await freeIn(database), await freeIn(hasty)], [0, 0]);
  const other = new Sqlite(file);
  other.exec('BEGIN IMMEDIATE');
  const keeper = keep(hasty, 30);
  await systemClock.sleep(1500);
  assert.is(await freeIn(database), 0);
  other.exec('ROLLBACK');
  other.close();
  await until('the pool is full', async () => (await freeIn(database)) === 30);
  await keeper.stop();
  hasty.close();
});

test('an invalid xpub ends the keeper with a fault that does not show it', async () => {
  const { database } = closing(openTempDatabase());
  const key = `${xpub.slice(0, -1)}5`;
  try {
    await keep(database, 10, key).ended;
    assert.unreachable('the keeping ends');
  } catch (error) {
    assert.instance(error, Fault);
    assert.is((error as Fault).code, 'xpub_invalid');
    assert.not.match((error as Fault).message, key.slice(0, 30));
  }
});

test.run();
