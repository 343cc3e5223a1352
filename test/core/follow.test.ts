import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type BlockRef, isLinked } from '../../src/core/block.ts';
import { type Plan, plan } from '../../src/core/follow.ts';
import { createRandom, type Random } from '../../src/sandbox/random.ts';

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

// ── A seeded block tree ──────────────────────────────────────────────────────────────────────────────────────────────

const REORG_DEPTH_MAX = 12;
const CHUNK = 5;

/** `best` is the chain that the node shows, but for its newest `lag` blocks; the last fork left it after `forkedAt`. */
type Tree = { best: BlockRef[]; lag: number; highest: number; forkedAt: number };

/** A node over a growing tree of blocks. It lags, forgets headers and reorganises between two calls. */
function treeNode(random: Random) {
  const blocks = new Map<string, BlockRef>();
  const tree: Tree = { best: chain('g0'), lag: 0, highest: 0, forkedAt: 0 };
  for (const block of tree.best) blocks.set(block.hash, block);

  function grow(count: number): void {
    for (let n = 0; n < count; n++) {
      const below = tree.best.at(-1);
      if (!below) throw new Error('the tree has a root');
      const number = Math.max(below.number, tree.forkedAt) + 1 + (random.chance(0.2) ? random.int(4) : 0);
      const block = { hash: `h${blocks.size}`, parent: below.hash, number, timeS: number };
      blocks.set(block.hash, block);
      tree.best.push(block);
      tree.highest = Math.max(tree.highest, number);
    }
  }

  return {
    grow,
    /** Replaces all blocks above `ancestor` by `count` others; numbers left out up to there stay left out. */
    fork(ancestor: number, count: number): void {
      tree.best = tree.best.filter((block) => block.number <= ancestor);
      tree.forkedAt = ancestor;
      grow(count);
    },
    setLag(count: number): void {
      tree.lag = count;
    },
    best: () => tree.best,
    /** The chain's promise: blocks at or below this height are never replaced. */
    final: () => Math.max(0, tree.highest - REORG_DEPTH_MAX),
    head: () => tree.best[Math.max(0, tree.best.length - 1 - tree.lag)] ?? tree.best[0],
    range: (from: number, to: number) => tree.best.filter((block) => block.number >= from && block.number <= to),
    header: (hash: string, forgetful: boolean) => (forgetful && random.chance(0.2) ? null : (blocks.get(hash) ?? null)),
  };
}

/**
 * The smallest follower around `plan`: one round asks the node once and advances once.
 * Headers that were walked stay known, so a node that forgets one does not undo the walk.
 */
function shell(node: ReturnType<typeof treeNode>, start: BlockRef) {
  let held: BlockRef[] = [start];
  let floor = 0;
  const walked = new Map<string, BlockRef>();

  function round(forgetful: boolean, between: () => void): Plan['kind'] | 'unsure' {
    const head = node.head();
    const tip = held.at(-1);
    if (!head || !tip) throw new Error('there is a head and a tip');
    between();
    const shown =
      head.number > tip.number ? node.range(tip.number + 1, Math.min(head.number, tip.number + CHUNK)) : [head];
    // Numbers may skip, so a short range can be empty although the head is higher.
    const branch = shown.length > 0 ? [...shown] : [head];
    for (;;) {
      const next = plan(held, branch, floor);
      if (next.kind === 'ask') {
        const header = walked.get(next.hash) ?? node.header(next.hash, forgetful);
        if (!header) return 'unsure';
        walked.set(header.hash, header);
        branch.unshift(header);
        continue;
      }
      if (next.kind === 'advance') {
        assert.ok(next.drop.length + next.connect.length > 0, 'an advance changes something');
        assert.equal(held.slice(held.length - next.drop.length), next.drop, 'what is dropped is the end of the tail');
        assert.ok(
          next.drop.every((block) => block.number > floor),
          'nothing final is dropped',
        );
        held = [...held.slice(0, held.length - next.drop.length), ...next.connect];
        assert.ok(isLinked(held), 'the tail stays linked');
        const top = held.at(-1)?.number ?? 0;
        assert.ok(top >= tip.number, 'the tail never gets shorter');
        floor = Math.max(floor, top - REORG_DEPTH_MAX);
        held = held.slice(-(REORG_DEPTH_MAX + 1));
      }
      return next.kind;
    }
  }

  return { round, held: () => held, floor: () => floor };
}

function follow(seed: number): void {
  const random = createRandom('follow', seed);
  const node = treeNode(random);
  node.grow(1 + random.int(30));
  const start = node.best().findLast((block) => block.number <= node.final());
  if (!start) throw new Error('there is a final block');
  const follower = shell(node, start);
  const disturb = (): void => {
    if (random.chance(0.5)) node.grow(random.int(9));
    if (random.chance(0.15)) node.setLag(random.int(20));
    if (random.chance(0.2)) node.fork(node.final() + random.int(REORG_DEPTH_MAX), random.int(12));
  };
  for (let step = 0; step < 60; step++) {
    disturb();
    const outcome = follower.round(true, () => random.chance(0.2) && disturb());
    assert.is.not(outcome, 'halt', `a reorg above the floor is followed (step ${step})`);
  }
  // Heal, and demand that the node's own chain is reached.
  node.setLag(0);
  node.grow(REORG_DEPTH_MAX * 5);
  for (let step = 0; step < 400 && follower.held().at(-1)?.hash !== node.head()?.hash; step++) {
    assert.is.not(
      follower.round(false, () => {}),
      'halt',
    );
  }
  assert.is(follower.held().at(-1)?.hash, node.head()?.hash, 'a healthy node is caught up with');
  // And a reorg that reaches below the floor stops the follower for good.
  const before = follower.held();
  const final = before.findLast((block) => block.number <= follower.floor());
  if (!final || final.number === 0) return;
  node.fork(random.int(final.number), REORG_DEPTH_MAX * 5);
  for (let step = 0; ; step++) {
    const outcome = follower.round(false, () => {});
    if (outcome === 'halt') break;
    assert.is(outcome, 'rest', 'a fork from below the floor is never followed');
    assert.ok(step < 100, 'a fork from below the floor is noticed');
    node.grow(5);
  }
  assert.equal(follower.held(), before);
}

test('with skips, reorgs, lag and forgotten headers a tree stays linked and above the floor, and ends level', () => {
  const only = process.env.SEED;
  const seeds = only === undefined ? Array.from({ length: 3000 }, (_, n) => n) : [Number(only)];
  for (const seed of seeds) {
    try {
      follow(seed);
    } catch (error) {
      throw new Error(`seed ${seed}: ${error}; replay: SEED=${seed} npx tsx test/core/follow.test.ts`, {
        cause: error,
      });
    }
  }
});

test.run();
