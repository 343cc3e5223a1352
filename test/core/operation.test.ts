import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterKill, isAsShown, stateAt, WAIT_MS_MAX, type Wish } from '../../src/core/operation.ts';

test('a run sweeps to the treasury that was shown, for at most a quarter more', () => {
  const shown = { treasury: 'aa', costUnits: '100', ids: ['sw_1'] };
  const now = (treasury: string, costUnits: bigint) => isAsShown(shown, { treasury, costUnits });
  assert.equal([now('aa', 80n), now('aa', 125n), now('aa', 126n), now('bb', 80n)], [true, true, false, false]);
});

test('only what changes nothing twice begins again after a kill', () => {
  const again = (wish: Wish) => afterKill(wish, 1) === 'again';
  const settle = { kind: 'settle', payoutId: 'p', paidBy: null, isRenewed: true } as const;
  assert.ok(again({ kind: 'sweep_plan' }));
  assert.ok(again({ ...settle, isCheck: true }));
  assert.not.ok(again({ ...settle, isCheck: false }));
  assert.not.ok(again({ kind: 'sweep_run', planId: 'op_1' }));
  assert.not.ok(again({ kind: 'resume_wallets', isCheck: false, accepted: null }));
  assert.is.not(afterKill({ kind: 'sweep_plan' }, 3), 'again', 'three times are enough');
});

test('only what was not begun expires', () => {
  assert.is(stateAt('requested', 5, 5 + WAIT_MS_MAX - 1), 'requested');
  assert.is(stateAt('requested', 5, 5 + WAIT_MS_MAX), 'expired');
  assert.is(stateAt('running', 5, 5 + 9 * WAIT_MS_MAX), 'running');
});

test.run();
