import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type BlockGap, closesGap, gapAt, gapsOutside, gapsThrough } from '../../src/core/gap.ts';

const gap = (from: number, to: number, more: Partial<BlockGap> = {}): BlockGap => ({
  from,
  to,
  because: 'skipped',
  atMs: 1,
  closedAtMs: null,
  holdsPayouts: false,
  ...more,
});
const ends = (gaps: readonly BlockGap[]): number[][] => gaps.map(({ from, to }) => [from, to]);

test('the gap that contains a number and reaches highest is found, ends included', () => {
  const gaps = [gap(10, 20), gap(15, 30), gap(12, 25)];
  assert.is(gapAt(gaps, 9), null);
  assert.is(gapAt(gaps, 10)?.to, 20);
  assert.is(gapAt(gaps, 15)?.to, 30);
  assert.is(gapAt(gaps, 30)?.to, 30);
  assert.is(gapAt(gaps, 31), null);
});

test('what is read again between two numbers takes the gaps away that lie between them, and no other', () => {
  const gaps = [gap(10, 20), gap(11, 29), gap(12, 30)];
  assert.equal(ends(gapsOutside(gaps, 10, 30)), [
    [10, 20],
    [12, 30],
  ]);
  assert.equal(ends(gapsThrough(gaps, 11)), [
    [10, 11],
    [11, 11],
  ]);
});

test('a gap is closed when all of it was read and nothing in it is doubtful', () => {
  const read = { from: 10, to: 20, doubtful: [9, 21] };
  assert.is(closesGap(read, gap(10, 20)), true);
  assert.is(closesGap(read, gap(9, 20)), false);
  assert.is(closesGap(read, gap(10, 21)), false);
  assert.is(closesGap(read, gap(10, 20, { closedAtMs: 5 })), false, 'it was closed before');
  for (const number of [10, 20]) assert.is(closesGap({ ...read, doubtful: [number] }, gap(10, 20)), false);
});

test.run();
