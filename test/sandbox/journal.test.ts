import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { isLinked } from '../../src/core/block.ts';
import { Fault } from '../../src/core/fault.ts';
import { type DurableWorldOptions, openDurableWorld, readJournal } from '../../src/sandbox/journal.ts';
import { extendWorld, type World } from '../simulated/world.ts';
import { closing } from '../support/closing.ts';
import { handClock } from '../support/hand-clock.ts';
import { accountKey, usdcKey, usdtKey } from '../support/simulated-node.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-journal-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
const newFile = () => join(folder, `chains-${files++}`, 'ethereum.jsonl');

const shape = { seed: 'journal test', tokens: [usdtKey, usdcKey], keyBytes: 20 };

function openAt(file: string, more: Partial<DurableWorldOptions> = {}): Readonly<{ world: World; close(): void }> {
  const { world, close } = openDurableWorld({
    file,
    seed: shape.seed,
    clock: handClock(),
    finalityDistance: 64,
    ...more,
  });
  return { world: extendWorld(() => world, shape), close };
}

function pay(world: World, units: bigint): void {
  world.pay({ kind: 'contract', from: accountKey('a'), outputs: [{ token: usdcKey, to: accountKey('b'), units }] });
  world.mine();
}

/** A chain with payments, empty blocks, an orphaned payment and one that was mined again. */
function live(world: World): void {
  pay(world, 10n ** 30n);
  for (let at = 0; at < 5; at++) world.mine();
  pay(world, 2n);
  world.reorg({ depth: 1, keep: 'none' });
  pay(world, 3n);
  world.reorg({ depth: 2, keep: 'all', blocks: 3 });
  world.mine(2);
}

/** Returns the text of a journal of the chain above. */
function livedJournal(): string {
  const file = newFile();
  const { world, close } = openAt(file);
  live(world);
  close();
  return readFileSync(file, 'utf8');
}

function fileWith(text: string): string {
  const file = newFile();
  openAt(file).close();
  writeFileSync(file, text);
  return file;
}

test('a world continues where it ended, orphans included', () => {
  const file = newFile();
  const first = openAt(file);
  live(first.world);
  first.close();
  const second = openAt(file, { seed: 'the seed in the file applies' });
  assert.equal([...second.world.kept()], [...first.world.kept()]);
  assert.equal([...second.world.canonical()], [...first.world.canonical()]);
  assert.equal(second.world.transfers(), first.world.transfers());
  const tip = second.world.tip();
  assert.is(second.world.mine().parent, tip.hash);
  second.close();

  const undisturbed = closing(openAt(newFile()));
  live(undisturbed.world);
  assert.equal(undisturbed.world.mine(), second.world.tip(), 'as if it had never stopped');
});

test('cut off at any byte, it is a shorter chain of the same world and keeps growing', () => {
  const text = livedJournal();
  const whole = closing(openAt(fileWith(text)));
  const firstLineBytes = text.indexOf('\n') + 1 + text.slice(text.indexOf('\n') + 1).indexOf('\n') + 1;
  for (let length = firstLineBytes; length < text.length; length += 37) {
    const file = fileWith(text.slice(0, length));
    const { world, close } = openAt(file);
    assert.is(whole.world.byHash(world.tip().hash)?.hash, world.tip().hash, `cut at ${length}: a block of the chain`);
    pay(world, 7n);
    const chain = [...world.canonical()];
    assert.ok(isLinked(chain));
    assert.is(chain[0]?.number, 0);
    close();
    const again = openAt(file);
    assert.equal([...again.world.canonical()], chain, `cut at ${length}: blocks after the cut are durable`);
    again.close();
  }
});

test('damage in the middle is refused with the line and the remedy', () => {
  const lines = livedJournal().split('\n');
  for (const [line, damage] of [
    [3, '{"hash":"00'],
    [5, '\0\0\0\0'],
    [1, '{}'],
  ] as const) {
    const damaged = lines.with(line - 1, damage).join('\n');
    const file = fileWith(damaged);
    assert.throws(
      () => openAt(file),
      (error: unknown) =>
        error instanceof Fault &&
        error.code === 'sandbox_journal_corrupt' &&
        error.kind === 'permanent' &&
        error.message.includes(`line ${line} of`) &&
        error.message.includes('delete the file'),
    );
    assert.is(readFileSync(file, 'utf8'), damaged, 'the file is unchanged');
  }
});

test('a torn end made of zeros is dropped', () => {
  const file = fileWith(livedJournal());
  const before = readJournal(file).blocks;
  appendFileSync(file, `${'\0'.repeat(4096)}`);
  assert.equal(readJournal(file).blocks, before);
});

test('the file stays small, however long the world runs', () => {
  const file = newFile();
  const small = { windowBlocks: 50, olderPaidBlocksMax: 5, compactAfterBlocks: 100 };
  const { world, close } = openAt(file, small);
  let bytesMax = 0;
  for (let at = 0; at < 1000; at++) {
    if (at % 10 === 0) pay(world, 5n);
    else world.mine();
    bytesMax = Math.max(bytesMax, statSync(file).size);
  }
  close();
  assert.ok(bytesMax < 100_000, `${bytesMax} bytes at most`);
  const again = closing(openAt(file, small));
  assert.equal([...again.world.canonical()], [...world.canonical()]);
  assert.is(again.world.floor(), world.floor());
  assert.is(readJournal(file).blocks.length, [...world.kept()].length, 'opening compacts');
});

test('only its owner may read the file', () => {
  const file = newFile();
  openAt(file).close();
  assert.is(statSync(file).mode & 0o777, 0o600);
});

test.run();
