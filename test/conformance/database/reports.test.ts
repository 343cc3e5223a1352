/** Money that stores received, and sessions that they created, by period. */
import * as assert from 'uvu/assert';
import { newSessionId } from '../../../src/lib/id.ts';
import { addressOf, cancelSession, inWorlds, keyOf, newSession, pays, sessionOf, T0_MS } from './place.ts';

const QUARTER_MS = 900_000;
const own = { storeId: 'm1', mode: 'test' } as const;
const others = [
  { ...own, mode: 'live' },
  { ...own, storeId: 'other' },
] as const;
/** The quarter of an hour before the first entry, that of it, and the next. */
const bounds = [-1, 0, 1, 2].map((after) => T0_MS + after * QUARTER_MS);

const test = inWorlds('reports');

test('credits and what a reorg takes back are summed in the quarter of their entry, in the file and after a restart', async ({
  database,
  place,
  one,
}) => {
  const sums = (of: typeof own | (typeof others)[number] = own) => database.ledger.sumCredits(of, bounds);
  for (const name of ['1', '2']) await database.sessions.create(newSession(name));
  assert.is(await database.ledger.hasCredits(own), false);
  // The third address has no session: its money belongs to nobody, and to no quarter.
  const coins = [1, 2, 3].map((nth) => pays(keyOf(nth), 1000n));
  const block = await one.mine([...coins, { ...pays(keyOf(1), 0n), units: 1n }]);
  assert.equal(await sums(), [[], [], []], 'not before it is confirmed');
  await one.confirm(block);
  const par = 20n * 10n ** 18n + 10n ** 12n;
  const credited = { currency: 'USDT', credits: 3, par } as const;
  assert.equal(await sums(), [[], [credited], []]);
  one.nowMs += QUARTER_MS;
  await one.reorg(1, [[]]);
  assert.equal(await sums(), [[], [credited], [{ ...credited, credits: 0, par: -par }]]);
  for (const other of others) {
    assert.equal(await sums(other), [[], [], []]);
    assert.is(await database.ledger.hasCredits(other), false);
  }
  const again = place.connect();
  assert.is(await again.ledger.hasCredits(own), true);
  again.close();
});

test('sessions are counted while they are open, by the time of their creation', async ({ database, place, one }) => {
  const create = async (name: string) =>
    sessionOf(await database.sessions.create(newSession(name, { id: newSessionId(one.nowMs), nowMs: one.nowMs })));
  const counts = (of: typeof own | (typeof others)[number] = own, from = database) =>
    Promise.all(bounds.map((sinceMs) => from.sessions.countOpen(of, sinceMs)));
  const first = await create('1');
  for (const name of ['2', '3', '3']) await create(name);
  assert.equal(await counts(), [3, 3, 0, 0], 'a repeated request creates nothing');
  one.nowMs += QUARTER_MS;
  await one.readThrough(one.nowMs / 1000);
  const { id } = await create('4');
  await one.confirm(await one.mine([pays(addressOf(first), 1000n)]));
  assert.equal(await counts(), [3, 3, 1, 0], 'one is paid');
  for (const other of others) assert.equal(await counts(other), [0, 0, 0, 0]);
  await cancelSession(database, id, one.nowMs);
  const again = place.connect();
  assert.equal(await counts(own, again), [2, 2, 0, 0]);
  again.close();
  await database.sessions.settleDue(one.nowMs + 100 * QUARTER_MS, 10);
  assert.equal(await counts(), [0, 0, 0, 0], 'expired');
});

test.run();
