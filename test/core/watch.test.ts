import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { judgeTrouble, type Trouble, type WatchRule } from '../../src/core/watch.ts';

const rule: WatchRule = { raiseAfterMs: 300, calmMs: 60 };

/** Looks at these times; `x` is trouble. @returns the step of each look */
function steps(looks: readonly [atMs: number, what: 'x' | '-'][], of = rule): string {
  let trouble: Trouble | null = null;
  return looks
    .map(([atMs, what]) => {
      const judged = judgeTrouble(trouble, what === 'x', atMs, of);
      trouble = judged.trouble;
      return judged.step;
    })
    .join(' ');
}

test('an alarm is raised when it has lasted, kept while it lasts, and ended when it has been over for long enough', () => {
  assert.is(
    steps([
      [0, 'x'],
      [299, 'x'],
      [300, 'x'],
      [400, 'x'],
      [500, '-'],
      [559, '-'],
      [560, '-'],
      [600, '-'],
    ]),
    'wait wait raise keep wait wait end wait',
  );
});

test('a pause shorter than the calm belongs to the trouble, before and after the alarm', () => {
  assert.is(
    steps([
      [0, 'x'],
      [100, '-'],
      [150, 'x'],
      [250, '-'],
      [300, 'x'],
      [310, '-'],
      [369, 'x'],
      [370, '-'],
      [429, '-'],
      [430, '-'],
    ]),
    'wait wait wait wait raise wait keep wait wait end',
  );
});

test('a trouble that is over before its time raises nothing, and does not count for the next one', () => {
  const looks = [0, 1000, 2000].flatMap((from): [number, 'x' | '-'][] => [
    [from, 'x'],
    [from + 290, 'x'],
    [from + 300, '-'],
    [from + 360, '-'],
  ]);
  assert.is(steps(looks), Array.from({ length: 12 }, () => 'wait').join(' '));
});

test('a clock that is set back neither raises early nor keeps an alarm for ever', () => {
  assert.is(
    steps([
      [1000, 'x'],
      [500, 'x'],
      [799, 'x'],
      [800, 'x'],
      [900, '-'],
      [200, '-'],
      [260, '-'],
    ]),
    'wait wait wait raise wait wait end',
  );
});

test.run();
