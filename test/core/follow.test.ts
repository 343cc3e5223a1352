import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type BlockRef, isLinked } from '../../src/core/block.ts';
import { type Plan, plan } from '../../src/core/follow.ts';

/** `chain('a1 a2 b3')`: blocks named by fork and number, each the child of the one before, from `root` on. */
function chain(names: string, parent = 'root'): BlockRef[] {
  const blocks: BlockRef[] = [];
  for (const hash of names.split(' ')) {
    const number = Number(hash.slice(1));
    blocks.push({ hash, parent: blocks.at(-1)?.hash ?? parent, number, timeS: number * 10 });
  }
  return blocks;
}

const names = (blocks: readonly BlockRef[]): string => blocks.map((block) => block.hash).join(' ');

function describe(result: Plan): string {
  switch (result.kind) {
    case 'rest':
      return `rest ${result.why}`;
    case 'ask':
      return `ask ${result.hash}`;
    case 'advance':
      return `advance -[${names(result.drop)}] +[${names(result.connect)}]`;
    case 'halt':
      return 'halt';
  }
}

const tail = chain('a1 a2 a3 a4 a5');
const table: readonly Readonly<{ about: string; branch: BlockRef[]; floor: number; expect: string }>[] = [
  { about: 'the same tip', branch: chain('a5', 'a4'), floor: 0, expect: 'rest level' },
  { about: 'an overlapping branch that ends at the tip', branch: tail, floor: 0, expect: 'rest level' },
  { about: 'a node that shows an older block of ours', branch: chain('a3', 'a2'), floor: 0, expect: 'rest behind' },
  { about: 'a node below our floor', branch: chain('a1'), floor: 3, expect: 'rest behind' },
  { about: 'a node far below everything we hold', branch: chain('a0'), floor: 3, expect: 'rest behind' },
  { about: 'a fork that is still shorter', branch: chain('b4', 'a3'), floor: 0, expect: 'rest behind' },
  { about: 'the next block', branch: chain('a6', 'a5'), floor: 0, expect: 'advance -[] +[a6]' },
  {
    about: 'several blocks with numbers left out',
    branch: chain('a7 a9', 'a5'),
    floor: 0,
    expect: 'advance -[] +[a7 a9]',
  },
  { about: 'new blocks behind an overlap', branch: chain('a4 a5 a6', 'a3'), floor: 0, expect: 'advance -[] +[a6]' },
  { about: 'a sibling of the tip', branch: chain('b5', 'a4'), floor: 0, expect: 'advance -[a5] +[b5]' },
  { about: 'a fork with an overlap', branch: chain('a3 b4 b5', 'a2'), floor: 0, expect: 'advance -[a4 a5] +[b4 b5]' },
  { about: 'a fork just above the floor', branch: chain('b4 b5', 'a3'), floor: 3, expect: 'advance -[a4 a5] +[b4 b5]' },
  { about: 'a fork that drops the block at the floor', branch: chain('b4 b5', 'a3'), floor: 4, expect: 'halt' },
  { about: 'a branch that does not reach us yet', branch: chain('b7 b8', 'b6'), floor: 0, expect: 'ask b6' },
  { about: 'a foreign branch down at the floor', branch: chain('b3 b4 b5', 'b2'), floor: 3, expect: 'halt' },
  { about: 'a foreign branch below all we hold', branch: chain('b1 b2 b6', 'b0'), floor: 0, expect: 'halt' },
  { about: 'a gap above the floor that may still link', branch: chain('b4 b6', 'b2'), floor: 3, expect: 'ask b2' },
  { about: 'a gap above the oldest that we hold', branch: chain('b2 b6', 'b1'), floor: 0, expect: 'ask b1' },
];

for (const { about, branch, floor, expect } of table) {
  test(`plan: ${about} → ${expect}`, () => {
    assert.is(describe(plan(tail, branch, floor)), expect);
  });
}

test('plan refuses a branch that is not linked and an empty one', () => {
  const broken = [...chain('a6', 'a5'), ...chain('a8', 'a7')];
  assert.throws(() => plan(tail, broken, 0), /linked/);
  assert.throws(() => plan(tail, [], 0), /not empty/);
});

test('isLinked requires parent hashes and rising numbers', () => {
  assert.ok(isLinked([]));
  assert.ok(isLinked(tail));
  assert.not(isLinked(chain('a3 a2')));
  assert.not(isLinked(chain('a3 b3')));
});

test.run();
