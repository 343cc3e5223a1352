/** Signed address lists: which are imported, and which are refused. */
import { mnemonicToSeedSync } from '@scure/bip39';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type AddressList,
  importAddressList,
  makeAddressList,
  verifyAddressList,
} from '../../src/addresses/address-list.ts';
import { readPool } from '../../src/addresses/pool-level.ts';
import { watchPools } from '../../src/app/watches/pools.ts';
import type { Database } from '../../src/database/database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { column } from '../support/fields.ts';
import { handClock } from '../support/hand-clock.ts';
import { ingestedChain } from '../support/ingested-chain.ts';
import { merchantStore, newSession } from '../support/new-session.ts';
import { faultOf } from '../support/refusal.ts';
import { openTempDatabase } from '../support/temp-database.ts';
import { testNetwork } from '../support/test-network.ts';
import { CALM_MS, watched } from '../support/watched.ts';

const seed = mnemonicToSeedSync(`${'abandon '.repeat(11)}about`);
const otherSeed = mnemonicToSeedSync('legal winner thank year wave sausage worth useful legal winner thank yellow');
const pool = { family: 'solana', mode: 'test' } as const;
const network = testNetwork({ name: 'solana', family: 'solana', xpub: null });
const config = { networks: [network] };

let database: Database;
let close: () => void;
test.before.each(() => {
  const opened = openTempDatabase();
  database = opened.database;
  close = opened.close;
});
test.after.each(() => close());

const make = (from: number, count: number, by = seed) => makeAddressList(pool, by, from, count);
const bring = async (list: AddressList, to: typeof config = config) =>
  importAddressList({ addresses: database.addresses, config: to }, await verifyAddressList(JSON.stringify(list)));

async function codeOf(work: Promise<unknown>): Promise<string> {
  const { kind, code, message } = await faultOf(work);
  assert.is(kind, 'permanent');
  return `${code}: ${message}`;
}

test('a list is imported once, then continued; its addresses are given out in order', async () => {
  const first = await make(0, 5);
  assert.is(await bring(first), 5);
  assert.match(await codeOf(bring(first)), /address_list_refused: .*imported before; the next list begins at 5/);
  assert.match(await codeOf(bring(await make(6, 3))), /address_list_refused: .*ends before 5: derive from 5/);
  assert.is(await bring(await make(3, 7)), 5, 'what overlaps is not added again');
  const { free, nextIndex, imported } = await readPool(database.addresses, network);
  assert.equal({ free, nextIndex, imported }, { free: 10, nextIndex: 10, imported: true });
  const { keys } = await verifyAddressList(JSON.stringify(await make(0, 10)));
  assert.equal(column(await database.addresses.watchList(pool, 0, 100), 'key'), keys);
});

test('only the first list’s signer is accepted, unless the configuration names another', async () => {
  await bring(await make(0, 2));
  const foreign = await make(0, 3, otherSeed);
  assert.match(await codeOf(bring(foreign)), /takes only lists of/);
  const named = { networks: [{ ...network, addressSigner: foreign.signer }] };
  assert.is(await bring(foreign, named), 3);
  assert.is(await database.addresses.source(pool), foreign.signer);
  assert.match(await codeOf(bring(await make(2, 2), named)), /takes only lists of/);
});

test('a list that was changed on its way is refused', async () => {
  const list = await make(0, 3);
  const [stranger = ''] = (await make(0, 1, otherSeed)).addresses;
  const changes: readonly Partial<AddressList>[] = [
    { addresses: [stranger, ...list.addresses.slice(1)] },
    { addresses: list.addresses.slice(1) },
    { from: 1 },
    { mode: 'live' },
    { signer: (await make(0, 1, otherSeed)).signer },
    { signature: `${list.signature.slice(0, -4)}AAAA` },
  ];
  for (const change of changes) {
    const said = await codeOf(verifyAddressList(JSON.stringify({ ...list, ...change })));
    assert.match(said, /address_list_invalid: .*its signature is wrong/, JSON.stringify(change));
  }
});

test('a malformed list, or one for another family or network, is refused', async () => {
  const list = await make(0, 1);
  for (const [text, why] of [
    ['', /not JSON/],
    ['[]', /not an address list/],
    [JSON.stringify({ ...list, more: 1 }), /not an address list/],
    [JSON.stringify({ ...list, family: 'doge' }), /unknown here/],
    [JSON.stringify({ ...list, family: 'evm' }), /derive their addresses from the xpub/],
  ] as const) {
    assert.match(await codeOf(verifyAddressList(text)), why, text);
  }
  assert.match(await codeOf(bring(list, { networks: [] })), /no test network of the family solana/);
  assert.match(await codeOf(bring(list, { networks: [{ ...network, mode: 'live' }] })), /no test network/);
});

/** Watches the pools of these networks. */
const watching = (networks: typeof config.networks) =>
  watched(watchPools(database.addresses, { networks }), database, handClock());

test('a pool raises an alarm when 20 % is left, when it is empty, and again after another list', async () => {
  const real = { ...network, sandbox: false };
  const shop = merchantStore();
  await database.stores.create(shop);
  await ingestedChain(() => database, systemClock, real).mine();
  await bring(await make(0, 10));
  let orders = 0;
  const take = async (count: number) => {
    for (let left = count; left > 0; left--) {
      orders++;
      const wish = {
        storeId: shop.id,
        name: `o${orders}`,
        networks: [real],
        amountMinor: 1,
        nowMs: systemClock.nowMs(),
      };
      assert.is((await database.sessions.create(newSession(wish))).kind, 'created');
    }
  };
  await take(7);
  const bench = watching([real]);
  await bench.look();
  await take(1);
  assert.is((await readPool(database.addresses, real)).isLow, true);
  assert.equal(await bench.look(), ['address_pool_low']);
  await take(2);
  assert.equal(await bench.look(), ['address_pool_empty']);
  assert.equal(await bench.all(), ['address_pool_low ended', 'address_pool_empty open']);
  const [empty, low] = await database.alarms.list(2);
  assert.match(low?.message ?? '', /test solana address pool has 2 of 10 addresses left \(20 % or less\).*--from 10`/);
  assert.match(
    empty?.message ?? '',
    /is empty \(10 .*do not offer its networks, and are refused where no other is left/,
  );
  await bring(await make(10, 10));
  assert.is((await readPool(database.addresses, real)).isLow, false);
  await bench.look();
  assert.equal(await bench.after(CALM_MS), [], 'a list that is imported ends it');
  await take(7);
  assert.equal(await bench.look(), ['address_pool_low']);
});

test('an empty pool is an alarm, a full one none', async () => {
  await bring(await make(0, 5));
  const real = { ...network, sandbox: false };
  assert.equal(await watching([real]).look(), [], 'a full pool');
  assert.equal(await watching([{ ...real, mode: 'live', key: 'live:solana' }]).look(), ['address_pool_empty']);
});

test.run();
