/** How long nothing is signed after a gap, in which the machine may have been put back. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createSettlingIn, type SettlingIn } from '../../../indexers/payouts/settling-in.ts';
import { closing } from '../../support/closing.ts';
import { handClock } from '../../support/hand-clock.ts';
import { openTempDatabase } from '../../support/temp-database.ts';

const SETTLE_MS = 1_860_000;
const network = 'test:one';

/** A machine whose chain makes a block a second; the database is as old as `ageMs` when it starts. */
function openMachine(ageMs: number) {
  const { database } = closing(openTempDatabase());
  const clock = handClock(Date.now() + ageMs);
  const number = () => Math.floor(clock.nowMs() / 1000);
  const head = async () => ({ hash: '', parent: '', number: number(), timeS: number() });
  let looks = 0;
  const lastLook = async () => void looks++;
  return {
    clock,
    database,
    number,
    looks: () => looks,
    /** A process. */
    start: () =>
      createSettlingIn({ network, settleMs: SETTLE_MS, chainNode: { head }, engines: database.engines, clock }),
    async run(run: SettlingIn, ms: number, floor = number) {
      for (let left = ms; left > 0; left -= 10_000) {
        clock.advance(Math.min(left, 10_000));
        await run.beat();
        await run.renew(floor(), lastLook);
      }
      await run.beat();
      await run.renew(floor(), lastLook);
      return run.current()?.code ?? null;
    },
  };
}

test('a new installation, and a restart within two minutes, wait for nothing', async () => {
  const { clock, start, run } = openMachine(1_000);
  assert.is(await run(start(), 3_600_000), null);
  clock.advance(110_000);
  assert.is(await run(start(), 0), null);
});

test('a look before the first heartbeat begins no settling-in, and lets nothing be signed', async () => {
  const { start, run, database } = openMachine(1_000);
  const one = start();
  await one.renew(0, async () => assert.unreachable('nothing is over'));
  assert.is(one.current()?.code, 'payouts_settling');
  assert.equal(await database.engines.list(), []);
  assert.is(await run(one, 0), null);
});

test('after a longer gap nothing is signed for the time of the family, and until the head of that moment is read', async () => {
  const { start, run, number, looks, database } = openMachine(86_400_000);
  const one = start();
  assert.is(await run(one, SETTLE_MS - 10_000), 'payouts_settling');
  const [engine] = await database.engines.list();
  assert.is.not(engine?.settlingUntilMs, null);
  const behind = number();
  assert.is(await run(one, 20_000, () => behind), 'payouts_settling', 'the last block is not read');
  assert.is(looks(), 0);
  assert.is(await run(one, 60_000), null);
  assert.is(looks(), 1, 'what is on its way is looked for once more');
  assert.is((await database.engines.list())[0]?.settlingUntilMs, null);
});

test('a restart before that goes on waiting; a process that stood still begins again', async () => {
  const { clock, start, run, database } = openMachine(86_400_000);
  assert.is(await run(start(), SETTLE_MS - 60_000), 'payouts_settling');
  const untilMs = (await database.engines.list())[0]?.settlingUntilMs ?? 0;
  assert.is(await run(start(), 0), 'payouts_settling');
  assert.is((await database.engines.list())[0]?.settlingUntilMs, untilMs, 'within two minutes it goes on');
  const one = start();
  assert.is(await run(one, SETTLE_MS + 60_000), null);
  clock.advance(121_000);
  assert.is(await run(one, 0), 'payouts_settling');
  assert.ok(((await database.engines.list())[0]?.settlingUntilMs ?? 0) > clock.nowMs());
});

test('a clock that was put back proves no heartbeat', async () => {
  const { clock, start, run } = openMachine(86_400_000);
  assert.is(await run(start(), SETTLE_MS + 60_000), null);
  clock.advance(-3_600_000);
  assert.is(await run(start(), 0), 'payouts_settling');
});

test.run();
