/** This machine's clock, compared with the times of the blocks that networks bring. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { watchClock } from '../../../src/app/watches/clock.ts';
import type { NetworkConfig } from '../../../src/config/network.ts';
import type { Database } from '../../../src/database/database.ts';
import { type HandClock, handClock } from '../../support/hand-clock.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { testNetwork } from '../../support/test-network.ts';
import { CALM_MS, type Watched, watched } from '../../support/watched.ts';

const STEP_S = 5;

/** @returns what adds a network's next block, `below` blocks under its head; our clock is ahead of its by `aheadS` */
function chainOf(database: Database, clock: HandClock, { key, family }: NetworkConfig) {
  let number = 100;
  const hashOf = (height: number) => `0x${key}${height}`;
  return async (aheadS: number, below = 0): Promise<void> => {
    number++;
    const timeS = clock.nowS() - aheadS;
    const block = { hash: hashOf(number), parent: hashOf(number - 1), number, timeS };
    const nowMs = clock.nowMs();
    await database.blocks.ingest({
      network: key,
      family,
      expectTip: number === 101 ? null : hashOf(number - 1),
      watchedThrough: 0,
      decimals: {},
      dustFloorPar: 0n,
      drop: [],
      connect: [{ block, transfers: [] }],
      confirm: [],
      floor: null,
      readThroughS: timeS,
      nowMs,
    });
    const about = { network: key, state: 'following', reason: null, nodeConnected: true, readThroughS: timeS } as const;
    await database.networks.report({ ...about, headNumber: number + below, nodeHeardAtMs: nowMs, pid: 1, nowMs });
  };
}

type Scene = Readonly<{
  bench: Watched;
  /** Lets each network add a block every five seconds; null for one that adds none. */
  run(seconds: number, aheadS: readonly (number | null)[], below?: number): Promise<string[]>;
}>;

async function scene(networks: number, play: (scene: Scene) => Promise<void>): Promise<void> {
  const { database, close } = openTempDatabase();
  const clock = handClock();
  const configs = Array.from({ length: networks }, (_, n) => testNetwork({ name: `n${n}` }));
  const bench = watched(watchClock(database, configs), database, clock);
  const chains = configs.map((config) => chainOf(database, clock, config));
  try {
    await play({
      bench,
      async run(seconds, aheadS, below) {
        let codes: string[] = [];
        for (let left = seconds; left > 0; left -= STEP_S) {
          for (const [n, mine] of chains.entries()) {
            const ahead = aheadS[n] ?? null;
            if (ahead !== null) await mine(ahead, below);
          }
          codes = await bench.after(STEP_S * 1000);
        }
        return codes;
      },
    });
  } finally {
    close();
  }
}

test('a clock that differs from all networks in the same direction is wrong, and the alarm ends when it is set', () =>
  scene(3, async ({ bench, run }) => {
    assert.equal(await run(120, [2, 5, 0]), []);
    assert.equal(await run(120, [90, 100, 80]), ['clock_skewed']);
    assert.match(
      (await bench.open())[0]?.message ?? '',
      /^this machine’s clock is 8\d s ahead of the newest blocks of all 3/,
    );
    await run(10, [2, 5, 0]);
    assert.equal(await run(CALM_MS / 1000, [2, 5, 0]), []);
    assert.equal(await run(120, [-90, -100, -80]), ['clock_skewed']);
    assert.match((await bench.open())[0]?.message ?? '', /is 7\d s behind the newest blocks/);
  }));

test('one chain whose clock is off says nothing about ours', () =>
  scene(3, async ({ run }) => {
    assert.equal(await run(300, [1800, 3, 1]), []);
    assert.equal(await run(300, [1800, -1800, 1]), []);
    assert.equal(await run(300, [1800, -1800, null]), []);
  }));

test('with one network, either clock may be wrong, and that is said', () =>
  scene(1, async ({ bench, run }) => {
    assert.equal(await run(120, [400]), ['clock_skewed']);
    assert.match((await bench.open())[0]?.message ?? '', /of the one network that is read/);
  }));

test('old blocks prove nothing while a network is caught up with, or after a restart', () =>
  scene(2, async ({ run }) => {
    assert.equal(await run(300, [9000, 9000], 50), []);
    // The first block that is seen may be as old as the outage.
    assert.equal(await run(5, [9000, 9000]), []);
    assert.equal(await run(300, [null, null]), []);
  }));

test.run();
