/** Leases: one holder at a time, whose writes are refused once another process has taken over. */
import * as assert from 'uvu/assert';
import { underLease } from '../../../src/database/leases.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { openLog } from '../../../src/lib/log.ts';
import { until } from '../../support/until.ts';
import { fails, inWorlds, merchant } from './place.ts';

const NAME = 'indexer test:one';
const mine = { name: NAME, holder: 'indexer on a:/data', isBack: true };
const theirs = { name: NAME, holder: 'indexer on b:/data', isBack: true };

const test = inWorlds('leases');

test('a lease has one holder, until it is let go; each turn has a higher fence', async ({ database }) => {
  const { leases } = database;
  assert.is(await leases.take(mine), 1);
  assert.is(await leases.take(theirs), null);
  assert.is(await leases.renew({ name: NAME, fence: 1 }), true);
  await leases.letGo({ name: NAME, fence: 1 });
  assert.is(await leases.take(theirs), 2);
  assert.is(await leases.renew({ name: NAME, fence: 1 }), false, 'the earlier holder has lost it');
  await leases.letGo({ name: NAME, fence: 1 });
  const [lease] = await leases.list();
  assert.equal({ ...lease, ageMs: 0 }, { name: NAME, holder: theirs.holder, fence: 2, isHeld: true, ageMs: 0 });
  assert.is(await leases.take({ ...theirs, isBack: false }), null, 'its name alone is no reason');
  assert.is(await leases.take(theirs), 3, 'it was started again');
});

test('of many who take a lease at once, one has it', async ({ place }) => {
  const others = Array.from({ length: 6 }, () => place.connect());
  const wish = (at: number) => ({ name: NAME, holder: `indexer on ${at}:/data`, isBack: true });
  const fences = await Promise.all(others.map((one, at) => one.leases.take(wish(at))));
  assert.equal(
    fences.filter((fence) => fence !== null),
    [1],
  );
  for (const other of others) other.close();
});

test('every write of one who lost the lease is refused, and nothing of it is saved', async ({ database, one }) => {
  const fence = (await database.leases.take(mine)) ?? 0;
  let losses = 0;
  const own = database.fenced({ name: NAME, fence }, () => {
    losses += 1;
  });
  one.database = own;
  await one.mine();
  await own.stores.create(merchant('m8'));
  await database.leases.letGo({ name: NAME, fence });
  await own.stores.create(merchant('m9'));
  assert.is(await database.leases.take(theirs), fence + 1);
  await fails(own.stores.create(merchant('late')), 'lease_lost');
  await fails(one.mine(), 'lease_lost');
  assert.is(losses, 2);
  const stores = (await database.stores.list()).map(({ id }) => id);
  assert.equal([stores.includes('m9'), stores.includes('late')], [true, false]);
});

test('work under a lease ends when it is lost, and begins again when it is free', async ({ database, place }) => {
  const parts = { name: NAME, clock: systemClock, log: openLog('test', 'silent') };
  const other = place.connect();
  const stopping = new AbortController();
  const turns: string[] = [];
  const work = (name: string) => async (own: typeof database, signal: AbortSignal) => {
    turns.push(name);
    await until(`${name} is asked to end`, async () => {
      if (!signal.aborted) await own.stores.create(merchant(`${name}-${turns.length}`)).catch(() => {});
      return signal.aborted;
    });
    return name;
  };
  const first = underLease({ ...parts, database, holder: mine.holder }, stopping.signal, work('first'));
  await until('the first works', async () => turns.length === 1);
  // Another process of this name takes it, and lets it go at once.
  const fence = (await other.leases.take(mine)) ?? 0;
  await until('the first has lost it', async () => (await other.stores.list()).length > 1 && turns.length === 1);
  await other.leases.letGo({ name: NAME, fence });
  await until('the first works again', async () => turns.length === 2);
  let looks = 0;
  const take: typeof other.leases.take = async (wish) => {
    const fence = await other.leases.take(wish);
    looks++;
    return fence;
  };
  const looking = { ...other, leases: { ...other.leases, take } };
  const standby = underLease({ ...parts, database: looking, holder: theirs.holder }, stopping.signal, work('standby'));
  await until('the standby has looked', () => looks > 0);
  stopping.abort();
  assert.equal(await Promise.all([first, standby]), ['first', null]);
  assert.is((await database.leases.list())[0]?.isHeld, false, 'it was let go');
  other.close();
});

test.run();
