import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createTurns } from '../../src/lib/turns.ts';

test('each gets a turn of the event loop of its own, in the order in which they came', async () => {
  let turn = 0;
  let isOver = false;
  const count = () => {
    turn++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const takeTurn = createTurns();
  const got: [string, number][] = [];
  const take = (name: string) => takeTurn().then(() => got.push([name, turn]));
  const later = take('a').then(() => take('d'));
  await Promise.all([take('b'), take('c'), later]);
  await take('e');
  isOver = true;
  assert.equal(got.map(([name]) => name).join(''), 'abcde');
  assert.is(new Set(got.map(([, at]) => at)).size, 5);
});

test.run();
