/** Addresses that somebody with the secret key has changed in the database: derived again, they do not fit. */
import { HDKey } from '@scure/bip32';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { checkOpenAddresses } from '../../src/addresses/address-check.ts';
import type { DeriveTask } from '../../src/addresses/derive-worker.ts';
import { xpubKeysAt } from '../../src/chains/xpub.ts';
import { Fault, invariant } from '../../src/core/fault.ts';
import { macedAddress } from '../../src/database/addresses.ts';
import { createRowMacs } from '../../src/database/sealing.ts';
import { handClock } from '../support/hand-clock.ts';
import { ingestedChain } from '../support/ingested-chain.ts';
import { merchantStore, newSession } from '../support/new-session.ts';
import { openTempDatabase, secretKey } from '../support/temp-database.ts';
import { testNetwork } from '../support/test-network.ts';

const evmXpubKeys = xpubKeysAt("m/44'/60'/0'/0");

const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(1)).derive("m/44'/60'/0'/0").publicExtendedKey;
const source = { family: 'evm', mode: 'test', xpub, fingerprint: 'aa' } as const;
const network = testNetwork({ name: 'ethereum', xpub });
const ATTACKER = 'e'.repeat(40);

/** A shop with so many open sessions, and what the check derives meanwhile. */
async function openShop(orders: number) {
  const place = openTempDatabase();
  const { database, file } = place;
  const clock = handClock();
  const keys = Array.from({ length: orders + 1 }, (_, index) => evmXpubKeys.derive(xpub, index));
  await database.addresses.add({ family: 'evm', mode: 'test', source: source.fingerprint, firstIndex: 0, keys });
  const store = merchantStore();
  await database.stores.create(store);
  const chain = ingestedChain(() => database, clock, network);
  await chain.mine();
  await chain.report('following');
  const ids: string[] = [];
  for (let n = 0; n < orders; n++) {
    const wish = { storeId: store.id, name: `o${n}`, networks: [network], amountMinor: 1000, nowMs: clock.nowMs() };
    const outcome = await database.sessions.create(newSession(wish));
    invariant(outcome.kind === 'created', `not ${outcome.kind}`);
    ids.push(outcome.session.id);
  }
  const asked: number[] = [];
  const derive = async ({ indexes }: DeriveTask) => {
    asked.push(...indexes);
    return indexes.map((index) => evmXpubKeys.derive(xpub, index));
  };
  return {
    ...place,
    ids,
    keys,
    asked,
    check: (afterId: number | null) =>
      checkOpenAddresses({ addresses: database.addresses, source, derive, clock }, afterId),
    /** Returns the address that a payer is shown, or the code of the fault. */
    async addressOf(id: string) {
      try {
        return (await database.sessions.find(id))?.addresses.evm;
      } catch (error) {
        return error instanceof Fault ? error.code : error;
      }
    },
    /** Changes a row as somebody with the secret key can. */
    forge(index: number, change: Readonly<{ key?: string; derivation_index?: number }>): void {
      const client = new Sqlite(file);
      const row = client.prepare('SELECT * FROM addresses WHERE derivation_index = ?').get(index) as {
        id: number;
        key: string;
        pool_id: number;
        derivation_index: number;
        session_id: string | null;
      };
      const forged = { ...row, ...change };
      const mac = createRowMacs(secretKey).seal(
        macedAddress({
          family: 'evm',
          mode: 'test',
          key: forged.key,
          poolId: forged.pool_id,
          derivationIndex: forged.derivation_index,
          sessionId: forged.session_id,
        }),
      );
      const values = { id: row.id, key: forged.key, index: forged.derivation_index, mac };
      client
        .prepare('UPDATE addresses SET key = :key, derivation_index = :index, mac = :mac WHERE id = :id')
        .run(values);
      client.close();
    },
  };
}

test('an address with a valid MAC that the xpub does not derive is no longer shown, and raises one alarm', async () => {
  const shop = await openShop(3);
  shop.forge(1, { key: ATTACKER });
  const [first = '', second = '', third = ''] = shop.ids;
  assert.is(await shop.addressOf(second), ATTACKER, 'its MAC fits');
  await shop.check(null);
  assert.equal(shop.asked, [0, 1, 2]);
  assert.is(await shop.addressOf(second), 'row_altered');
  assert.is(await shop.addressOf(first), shop.keys[0]);
  assert.is(await shop.addressOf(third), shop.keys[2]);
  await shop.check(null);
  const alarms = (await shop.database.alarms.list(10)).filter(({ code }) => code === 'address_not_derived');
  assert.is(alarms.length, 1);
  assert.match(alarms[0]?.message ?? '', new RegExp(`${ATTACKER} .* of session ${second} .* index 1`));
  shop.close();
});

test('a right address at a wrong index is refused too', async () => {
  const shop = await openShop(2);
  shop.forge(0, { derivation_index: 77 });
  await shop.check(null);
  assert.is(await shop.addressOf(shop.ids[0] ?? ''), 'row_altered');
  shop.close();
});

test('what was looked at is not derived again, except in a whole round; ended sessions are left out', async () => {
  const shop = await openShop(600);
  const through = await shop.check(null);
  assert.is(shop.asked.length, 600);
  assert.is(await shop.check(through), through);
  assert.is(shop.asked.length, 600);
  const replay = { idempotencyKey: null, path: 'cancel', bodyHash: '' };
  const { database, ids } = shop;
  const storeId = (await database.sessions.find(ids[0] ?? ''))?.storeId ?? '';
  for (const [nowMs, id] of ids.slice(0, 597).entries()) {
    await database.sessions.cancel({ id, storeId, mode: 'test', replay, nowMs });
  }
  await shop.check(null);
  assert.equal(shop.asked.slice(600), [597, 598, 599]);
  shop.close();
});

test('a pool without open sessions, or that does not exist, is nothing to do', async () => {
  const shop = await openShop(0);
  assert.is(await shop.check(null), null);
  const other = { ...source, fingerprint: 'bb' };
  const { database } = shop;
  const derive = () => Promise.reject(new Error('nothing to derive'));
  assert.is(
    await checkOpenAddresses({ addresses: database.addresses, source: other, derive, clock: handClock() }, null),
    null,
  );
  shop.close();
});

test.run();
