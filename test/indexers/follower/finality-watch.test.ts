import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createFinalityWatch } from '../../../indexers/follower/finality-watch.ts';
import type { NetworkConfig } from '../../../src/config/network.ts';
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
    watch: createFinalityWatch({ key: 'test:any', ...wish }, database, clock),
  };
}

const epochs: Wish = { confirmations: { finality: true, usual: 64 }, blockTimeMs: 12_000 };

test('finality has stalled at more than twice its usual depth and more than five minutes of blocks', async () => {
  const slow = open(epochs).watch;
  assert.is(await slow.look(1128, 1000), null);
  assert.match((await slow.look(1129, 1000))?.message ?? '', /calls block 1000 final, and its head is 1129/);
  const fast = open({ confirmations: { finality: true, usual: 3 }, blockTimeMs: 450 }).watch;
  assert.is(await fast.look(1667, 1000), null, '300 s are 667 blocks');
  assert.is((await fast.look(1668, 1000))?.code, 'finality_stalled');
});

test('no finality at all is finality of the first block', async () => {
  const { watch } = open(epochs);
  assert.is(await watch.look(128, null), null, 'a young chain');
  assert.match((await watch.look(129, null))?.message ?? '', /calls no block final/);
  assert.is(await watch.look(5, 6), null, 'a final block above the head is a race');
});

test('where depth decides, finality does not matter', async () => {
  const { watch } = open({ confirmations: { blocks: 12 }, blockTimeMs: 12_000 });
  assert.is(await watch.look(1_000_000, null), null);
});

test('where the settings ask for finality and the node shows none, that depth alone decides is said, and an alarm', async () => {
  const { watch, clock, alarms } = open({ confirmations: { blocks: 19 }, blockTimeMs: 3_000, creditsUnfinal: true });
  assert.is((await watch.look(100, null))?.code, 'finality_not_asked');
  clock.advance(60_000);
  assert.match((await watch.look(120, null))?.message ?? '', /credited at 19 blocks, .*set solid_url/);
  assert.equal(
    alarms.map(({ code }) => code),
    ['finality_not_asked'],
  );
});

test('an alarm is raised once, after a minute, and again after finality has moved', async () => {
  const { watch, clock, alarms } = open(epochs);
  await watch.look(2000, null);
  clock.advance(59_000);
  await watch.look(2005, null);
  assert.equal(alarms, [], 'a node that was restarted');
  for (const _ of 'abc') {
    clock.advance(1_000);
    await watch.look(2006, null);
  }
  assert.equal(
    alarms.map(({ code, network, sessionId }) => [code, network, sessionId]),
    [['finality_stalled', 'test:any', null]],
  );
  await watch.look(2010, 2000);
  await watch.look(3000, 2000);
  clock.advance(60_000);
  await watch.look(3005, 2000);
  assert.is(alarms.length, 2);
});

test.run();
