/** The program that removes old data at night, on a real installation. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { DAY_MS, systemClock } from '../../src/lib/clock.ts';
import { handClock } from '../support/hand-clock.ts';
import { runProgram } from '../support/quayside-process.ts';
import { openToolBench } from '../support/tool-bench.ts';

const clock = handClock(systemClock.nowMs() - 400 * DAY_MS);
const settings = { retention: { anonymise_days: 60 } };
const { folder, variables, run, database, chain, order, close } = await openToolBench({ clock, settings });
test.after(close);

const paid = await order('1', { orderId: 'order 1', description: 'Roses for Ann' });
const unpaid = await order('2', { description: 'Roses for Ann' });
await paid.pay(10_000_000n);
clock.advance(DAY_MS);
await chain.mine();
await chain.report('following');
await database.sessions.settleDue(clock.nowMs(), 9);

test('the program of every night removes what identifies payers, and the books are the same afterwards', async () => {
  const export_ = async (name: string) => {
    const file = join(folder, name);
    assert.is((await run('export', '--output', file)).code, 0);
    return readFileSync(file, 'utf8');
  };
  const before = await export_('before.csv');
  assert.match(before, /order 1/);
  const ended = await runProgram(['scripts/nightly-retention.ts'], variables);
  assert.is(ended.code, 0, ended.stderr);
  assert.match(ended.stderr, /"anonymised":2.*old data was removed/);
  for (const { id } of [paid, unpaid]) assert.is((await database.sessions.find(id))?.request.description, null);
  assert.is(await export_('after.csv'), before);
  assert.equal((await database.ledger.verify()).problems, []);
  assert.ok(((await database.stats(systemClock.nowMs())).retentionAtMs ?? 0) > clock.nowMs());
});

test('the next night has nothing to do', async () => {
  const ended = await runProgram(['scripts/nightly-retention.ts'], variables);
  assert.is(ended.code, 0, ended.stderr);
  assert.match(ended.stderr, /"anonymised":0,"attempts":0/);
});

test.run();
