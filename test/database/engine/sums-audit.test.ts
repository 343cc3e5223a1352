/** The audit of running sums: what a session says that it received, against its transfers. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { closing } from '../../support/closing.ts';
import { ingestedChain } from '../../support/ingested-chain.ts';
import { merchantStore, newSession } from '../../support/new-session.ts';
import { alterRow } from '../../support/raw.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { testNetwork } from '../../support/test-network.ts';

const network = testNetwork({ name: 'one' });
const NOW_MS = 1_800_000_000_000;
const COIN_UNITS = 1_000_000n;

/** Returns what `quayside doctor` finds wrong with the sums, after such a change of the file by hand. */
async function auditAfter(change: string): Promise<readonly string[]> {
  const { database, file } = closing(openTempDatabase());
  const store = merchantStore();
  await database.stores.create(store);
  const keys = ['01', '02'].map((byte) => byte.repeat(20));
  await database.addresses.add({ family: network.family, mode: 'test', source: 'x', firstIndex: 0, keys });
  const chain = ingestedChain(() => database, { nowMs: () => NOW_MS }, network);
  await chain.mine();
  await chain.report('following');
  const wish = { storeId: store.id, name: '1', networks: [network], amountMinor: 1000, nowMs: NOW_MS };
  const created = await database.sessions.create(newSession(wish));
  assert.ok(created.kind === 'created');
  // Two more than its price, which are held.
  const block = await chain.mine([
    { to: keys[0] ?? '', currency: 'USDT', units: 7n * COIN_UNITS },
    { to: keys[0] ?? '', currency: 'USDT', units: 5n * COIN_UNITS },
  ]);
  await chain.confirm(block);
  assert.equal((await database.ledger.verify()).problems, []);
  alterRow(file, change);
  return (await database.ledger.verify()).problems;
}

const found: readonly (readonly [what: string, change: string, line: RegExp])[] = [
  [
    'a sum that is not that of the transfers, shown beside them',
    `UPDATE sessions SET sums = replace(sums, '12000000', '13000000') WHERE payment_count = 2`,
    /^session cs_0+1: the sums say .*confirmed 13000000, the transfers .*confirmed 12000000$/,
  ],
  [
    'a sum that was lost',
    "UPDATE sessions SET sums = '[]' WHERE payment_count = 2",
    /the sums say nothing, the transfers .*12000000/,
  ],
  [
    'a transfer that no sum knows',
    `UPDATE transfers SET units = '8000000' WHERE units = '7000000'`,
    /confirmed 12000000, the transfers .*confirmed 13000000/,
  ],
  [
    'held money that is not what the sums leave over',
    `UPDATE held_money SET value_par = '${10n ** 18n}' WHERE value_par = '${2n * 10n ** 18n}'`,
    /held money is kept as surplus 1\d+, the sums say surplus 2\d+$/,
  ],
];
for (const [what, change, line] of found)
  test(`${what}: it is found`, async () => {
    const wrong = await auditAfter(change);
    assert.is(wrong.filter((text) => line.test(text)).length, 1, wrong.join('\n'));
  });

test.run();
