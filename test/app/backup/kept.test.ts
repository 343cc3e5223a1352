import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { keptNames, madeAtMs } from '../../../src/app/backup/kept.ts';
import { DAY_MS } from '../../../src/lib/clock.ts';

const nameAt = (ms: number) => `quayside-${new Date(ms).toISOString().replaceAll(/[-:.]/g, '')}.tar.gz.age`;
const dayOf = (name: string) => new Date(madeAtMs(name) ?? 0).toISOString().slice(0, 10);

test('a name says when it was made; another file says nothing', () => {
  const ms = Date.UTC(2026, 1, 3, 4, 5, 6, 7);
  assert.is(nameAt(ms), 'quayside-20260203T040506007Z.tar.gz.age');
  assert.is(madeAtMs(nameAt(ms)), ms);
  for (const other of ['notes.txt', `${nameAt(ms)}.partial`, `../${nameAt(ms)}`]) assert.is(madeAtMs(other), null);
});

test('after two years of nights, the newest of seven days, four weeks and twelve months are kept', () => {
  const last = Date.UTC(2026, 10, 24, 3);
  let kept: string[] = [];
  // One deletion after the other, as it happens: what a later rule needs must not have been deleted before.
  for (let day = 730; day >= 0; day -= 1) {
    kept = keptNames([...kept, nameAt(last - day * DAY_MS)], { daily: 7, weekly: 4, monthly: 12 });
  }
  const days = kept.map(dayOf);
  assert.equal(
    days.slice(0, 7),
    [24, 23, 22, 21, 20, 19, 18].map((day) => `2026-11-${day}`),
  );
  // 2026-11-22, -15, -08 and -01 were Sundays; of this week the newest is kept anyway.
  assert.equal(days.slice(7, 9), ['2026-11-15', '2026-11-08']);
  const ends = ['2026-10-31', '2026-09-30', '2026-08-31', '2026-07-31', '2026-06-30', '2026-05-31', '2026-04-30'];
  assert.equal(days.slice(9), [...ends, '2026-03-31', '2026-02-28', '2026-01-31', '2025-12-31']);
});

test('the newest is kept whatever is set, and files of other names are no part of it', () => {
  const names = [1, 2, 3].map((day) => nameAt(day * DAY_MS));
  const none = { daily: 0, weekly: 0, monthly: 0 };
  assert.equal(keptNames([...names, 'notes.txt'], none), [names[2]]);
  assert.equal(keptNames([], none), []);
});

test.run();
