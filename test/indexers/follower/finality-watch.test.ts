import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createFinalityWatch } from '../../../indexers/follower/finality-watch.ts';
import type { NetworkConfig } from '../../../src/config/network.ts';
import type { Lack } from '../../../src/core/credit-policy.ts';
import type { Alarm } from '../../../src/database/database.ts';
import { handClock } from '../../support/hand-clock.ts';

type Wish = Pick<NetworkConfig, 'confirmations' | 'blockTimeMs' | 'creditsUnfinal'>;

function open(wish: Wish) {
  const clock = handClock();
  const alarms: Omit<Alarm, 'id'>[] = [];
  const database = { raiseAlarm: async (alarm: Omit<Alarm, 'id'>) => void alarms.push(alarm) };
  return {
    clock,
    alarms,
    watch: createFinalityWatch({ key: 'test:any', reorgDepthMax: 128, ...wish }, database, clock),
  };
}

const nothing: ReadonlySet<Lack> = new Set();
const at = (finalized: number | null, safe: number | null = null) => ({ safe, finalized });

const epochs: Wish = { confirmations: [{ finality: 'finalized', usual: 64 }], blockTimeMs: 12_000 };

test('finality has stalled at more than twice its usual depth and more than five minutes of blocks', async () => {
  const slow = open(epochs).watch;
  assert.is(await slow.look(1128, at(1000), nothing), null);
  assert.match(
    (await slow.look(1129, at(1000), nothing))?.message ?? '',
    /calls block 1000 final, and its head is 1129/,
  );
  const fast = open({ confirmations: [{ finality: 'finalized', usual: 3 }], blockTimeMs: 450 }).watch;
  assert.is(await fast.look(1667, at(1000), nothing), null, '300 s are 667 blocks');
  assert.is((await fast.look(1668, at(1000), nothing))?.code, 'finality_stalled');
});

test('no finality at all is finality of the first block', async () => {
  const { watch } = open(epochs);
  assert.is(await watch.look(128, at(null), nothing), null, 'a young chain');
  assert.match((await watch.look(129, at(null), nothing))?.message ?? '', /calls no block final/);
  assert.is(await watch.look(5, at(6), nothing), null, 'a final block above the head is a race');
});

test('finality that only large amounts need is watched, and each kind of finality for itself', async () => {
  const tiers: Wish = {
    confirmations: [
      { finality: 'sequencer' },
      { fromPar: 100n, finality: 'safe', usual: 150 },
      { fromPar: 10_000n, finality: 'finalized', usual: 600 },
    ],
    blockTimeMs: 2_000,
  };
  const { watch } = open(tiers);
  assert.is(await watch.look(2000, at(800, 1700), nothing), null);
  assert.match((await watch.look(2000, at(799, 1700), nothing))?.message ?? '', /calls block 799 final/);
  assert.match((await watch.look(2000, at(800, 1699), nothing))?.message ?? '', /calls block 1699 safe/);
});

test('finality that only a store asks for is watched while one of its payments waits for it', async () => {
  const { watch } = open({ confirmations: [{ blocks: 12 }], blockTimeMs: 12_000 });
  assert.is(await watch.look(1000, at(null), nothing), null);
  assert.is((await watch.look(1000, at(null), new Set<Lack>(['finalized'])))?.code, 'finality_stalled');
  assert.is(await watch.look(1000, at(872), new Set<Lack>(['finalized'])), null, 'no further than a reorg may reach');
});

test('where depth decides, finality does not matter', async () => {
  const { watch } = open({ confirmations: [{ blocks: 12 }], blockTimeMs: 12_000 });
  assert.is(await watch.look(1_000_000, at(null), nothing), null);
});

test('where the settings ask for finality and the node shows none, that depth alone decides is said, and an alarm', async () => {
  const { watch, clock, alarms } = open({ confirmations: [{ blocks: 19 }], blockTimeMs: 3_000, creditsUnfinal: true });
  assert.is((await watch.look(100, at(null), nothing))?.code, 'finality_not_asked');
  clock.advance(60_000);
  assert.match((await watch.look(120, at(null), nothing))?.message ?? '', /credited at 19 blocks, .*set solid_url/);
  assert.equal(
    alarms.map(({ code }) => code),
    ['finality_not_asked'],
  );
});

test('an alarm is raised once, after a minute, and again after finality has moved', async () => {
  const { watch, clock, alarms } = open(epochs);
  await watch.look(2000, at(null), nothing);
  clock.advance(59_000);
  await watch.look(2005, at(null), nothing);
  assert.equal(alarms, [], 'a node that was restarted');
  for (const _ of 'abc') {
    clock.advance(1_000);
    await watch.look(2006, at(null), nothing);
  }
  assert.equal(
    alarms.map(({ code, network, sessionId }) => [code, network, sessionId]),
    [['finality_stalled', 'test:any', null]],
  );
  await watch.look(2010, at(2000), nothing);
  await watch.look(3000, at(2000), nothing);
  clock.advance(60_000);
  await watch.look(3005, at(2000), nothing);
  assert.is(alarms.length, 2);
});

test.run();
