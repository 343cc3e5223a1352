import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createFinalityCheck } from '../../../indexers/follower/finality-check.ts';
import type { NetworkConfig } from '../../../src/config/network.ts';
import type { Lack } from '../../../src/core/credit-policy.ts';

type Wish = Pick<NetworkConfig, 'confirmations' | 'blockTimeMs'>;

const open = (wish: Wish) => createFinalityCheck({ reorgDepthMax: 128, ...wish });
const nothing: ReadonlySet<Lack> = new Set();
const at = (finalized: number | null, safe: number | null = null) => ({ safe, finalized });

const epochs: Wish = { confirmations: [{ finality: 'finalized', usual: 64 }], blockTimeMs: 12_000 };

test('finality has stalled at more than twice its usual depth and more than five minutes of blocks', () => {
  const slow = open(epochs);
  assert.is(slow(1128, at(1000), nothing), null);
  assert.match(slow(1129, at(1000), nothing)?.message ?? '', /calls block 1000 final, and its head is 1129/);
  const fast = open({ confirmations: [{ finality: 'finalized', usual: 3 }], blockTimeMs: 450 });
  assert.is(fast(1667, at(1000), nothing), null, '300 s are 667 blocks');
  assert.is(fast(1668, at(1000), nothing)?.code, 'finality_stalled');
});

test('no finality at all is finality of the first block', () => {
  const check = open(epochs);
  assert.is(check(128, at(null), nothing), null, 'a young chain');
  assert.match(check(129, at(null), nothing)?.message ?? '', /calls no block final/);
  assert.is(check(5, at(6), nothing), null, 'a final block above the head is a race');
});

test('finality that only large amounts need is watched, and each kind of finality for itself', () => {
  const check = open({
    confirmations: [
      { finality: 'sequencer' },
      { fromPar: 100n, finality: 'safe', usual: 150 },
      { fromPar: 10_000n, finality: 'finalized', usual: 600 },
    ],
    blockTimeMs: 2_000,
  });
  assert.is(check(2000, at(800, 1700), nothing), null);
  assert.match(check(2000, at(799, 1700), nothing)?.message ?? '', /calls block 799 final/);
  assert.match(check(2000, at(800, 1699), nothing)?.message ?? '', /calls block 1699 safe/);
});

test('finality that only a store asks for is watched while one of its payments waits for it', () => {
  const check = open({ confirmations: [{ blocks: 12 }], blockTimeMs: 12_000 });
  assert.is(check(1000, at(null), nothing), null);
  assert.is(check(1000, at(null), new Set<Lack>(['finalized']))?.code, 'finality_stalled');
  assert.is(check(1000, at(872), new Set<Lack>(['finalized'])), null, 'no further than a reorg may reach');
});

test('where depth decides, finality does not matter', () => {
  assert.is(open({ confirmations: [{ blocks: 12 }], blockTimeMs: 12_000 })(1_000_000, at(null), nothing), null);
});

test.run();
