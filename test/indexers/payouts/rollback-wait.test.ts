/** When new payouts wait for what an earlier run may have signed. */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createRollbackWait, type RollbackWait } from '../../../indexers/payouts/rollback-wait.ts';
import { openRunMarks, type RunMark, runMarkFile } from '../../../indexers/payouts/run-mark.ts';

const LIFE_MS = 1_860_000;
const START_MS = 1_800_000_000_000;

/** A machine with a chain whose time is the clock's, and a block a second. */
function machine(createdAtMs = 0) {
  const clock = { ms: START_MS, nowMs: () => clock.ms };
  let mark: RunMark | 'void' | null = null;
  const marks = {
    read: (): RunMark | 'void' | null => mark,
    write(next: RunMark) {
      mark = next;
    },
    copy() {
      mark = 'void';
    },
  };
  const number = () => Math.floor(clock.ms / 1000);
  const head = async () => ({ hash: '', parent: '', number: number(), timeS: number() });
  return {
    clock,
    marks,
    /** A process; `pass` lets time pass with a mark each ten seconds. */
    start: () =>
      createRollbackWait({
        network: 'test:one',
        lifeMs: LIFE_MS,
        marks,
        chainNode: { head, finalized: async () => null },
        findUnknown: null,
        createdAtMs: async () => createdAtMs,
        clock,
        log: { warn() {} },
      }),
    async pass(wait: RollbackWait, ms: number) {
      for (let left = ms; left > 0; left -= 10_000) {
        clock.ms += Math.min(left, 10_000);
        await wait.beat();
      }
    },
    floor: number,
  };
}

const codeOf = async (wait: RollbackWait, floor: number) => (await wait.renew(floor))?.code ?? null;

/** A run that may sign. */
async function cleared(createdAtMs = START_MS) {
  const one = machine(createdAtMs);
  const wait = one.start();
  await wait.beat();
  wait.note(5);
  assert.is(await codeOf(wait, one.floor()), null);
  return { ...one, wait };
}

test('a new installation, and a restart within two minutes, wait for nothing', async () => {
  const { clock, start, pass, floor, wait } = await cleared();
  await pass(wait, 3_600_000);
  clock.ms += 110_000;
  const next = start();
  await next.beat();
  next.note(5);
  assert.is(await codeOf(next, floor()), null);
});

test('after a longer gap, all that was signed must have expired and be read; a restart does not shorten that', async () => {
  const { clock, start, pass, floor, wait } = await cleared();
  await pass(wait, 60_000);
  clock.ms += 130_000;
  const untilMs = clock.ms + LIFE_MS;
  let next = start();
  await next.beat();
  next.note(5);
  assert.is(await codeOf(next, floor()), 'payouts_rollback_possible');
  assert.match(String(next.current()?.message), new Date(Math.floor(untilMs / 1000) * 1000).toISOString().slice(0, 16));
  await pass(next, LIFE_MS / 2);
  next = start();
  await next.beat();
  next.note(6);
  assert.is(await codeOf(next, floor()), 'payouts_rollback_possible');
  await pass(next, LIFE_MS / 2 - 10_000);
  assert.is(await codeOf(next, floor()), 'payouts_rollback_possible');
  await pass(next, 20_000);
  const last = floor();
  assert.is(await codeOf(next, last - 1), 'payouts_rollback_possible', 'the last block is not read yet');
  await pass(next, 20_000);
  assert.is(await codeOf(next, last), null);
  next = start();
  await next.beat();
  next.note(6);
  assert.is(await codeOf(next, floor()), null);
});

test('signatures that the mark knows and the database lacks begin the wait, and so does a jump of time', async () => {
  const one = await cleared();
  const next = one.start();
  await next.beat();
  next.note(4);
  assert.is(await codeOf(next, one.floor()), 'payouts_rollback_possible');
  const other = await cleared();
  other.clock.ms += 130_000;
  await other.wait.beat();
  assert.is(await codeOf(other.wait, other.floor()), 'payouts_rollback_possible');
});

test('a mark that was copied begins the wait, even in a new installation', async () => {
  const { marks, start, floor } = await cleared();
  marks.copy();
  const wait = start();
  await wait.beat();
  wait.note(5);
  assert.is(await codeOf(wait, floor()), 'payouts_rollback_possible');
});

test('an installation without a mark waits, unless it is new', async () => {
  const { start, floor } = machine(START_MS - 130_000);
  const wait = start();
  await wait.beat();
  wait.note(0);
  assert.is(await codeOf(wait, floor()), 'payouts_rollback_possible');
});

test('a mark counts only in the file that a run wrote, and until the machine boots again', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-mark-'));
  try {
    const file = runMarkFile(folder, 'test:one');
    const marks = openRunMarks(file, 'boot 1');
    assert.is(marks.read(), null);
    const mark = { atMs: Date.now(), journalId: 7, isClear: true, untilMs: null };
    marks.write({ ...mark, journalId: 1_234_567 });
    marks.write(mark);
    assert.equal(marks.read(), mark);
    assert.is(openRunMarks(file, 'boot 2').read(), 'void');
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    assert.equal(marks.read(), mark);
    copyFileSync(file, `${file}.kept`);
    copyFileSync(`${file}.kept`, file);
    assert.is(marks.read(), 'void');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test.run();
