/** When the engine freezes the signer. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createSignerFreezer } from '../../../indexers/payouts/signer-freeze.ts';
import { transient } from '../../../src/core/fault.ts';
import type { Freeze } from '../../../src/database/payouts/holds.ts';
import type { FreezeState } from '../../../src/signer/protocol.ts';
import { fails } from '../../conformance/database/place.ts';
import { handClock } from '../../support/hand-clock.ts';

const network = 'test:one';
const outflow: Freeze = {
  network,
  code: 'wallet_outflow_foreign',
  reason: 'transaction t1 moved money out',
  frozenBy: 'quayside',
  sinceMs: 5,
};

/** A signer, and an installation with these freezes. */
function place(approvers: readonly string[]) {
  const freezes: Freeze[] = [];
  const asked: string[] = [];
  const clock = handClock();
  const seen = { isAway: false, questions: 0 };
  let state: FreezeState = { fingerprint: '00000000', freeze: null, approvers };
  const signer = {
    async freezeState() {
      seen.questions++;
      if (seen.isAway) throw transient('signer_unreachable', 'no signer');
      return state;
    },
    async freeze(reason: string, frozenBy: string) {
      asked.push(`${frozenBy}: ${reason}`);
      state = { ...state, freeze: { number: asked.length, nonce: '0'.repeat(32), reason, frozenBy, frozenAtMs: 1 } };
      return state;
    },
  };
  const lines: string[] = [];
  return {
    clock,
    seen,
    freezes,
    asked,
    lines,
    thaw: () => {
      state = { ...state, freeze: null };
    },
    start: () =>
      createSignerFreezer({
        network,
        signer,
        clock,
        holds: { list: async () => freezes },
        log: { warn: (_: unknown, line?: string) => void lines.push(line ?? '') },
      }),
  };
}

test('the signer is frozen at once with the network, and again while that is frozen', async () => {
  const { clock, freezes, asked, thaw, start } = place(['anna']);
  const engine = start();
  const byHand = { ...outflow, code: 'payouts_frozen', reason: 'maintenance', frozenBy: 'ann' };
  freezes.push({ ...outflow, network: 'test:two' }, { ...byHand, network: null }, byHand);
  freezes.push({ ...outflow, code: 'row_altered' });
  await engine.renew();
  assert.equal(asked, [], 'other networks, and operators, freeze it on their own');
  freezes.push(outflow);
  await engine.renew();
  await engine.renew();
  assert.equal(asked, [`quayside: ${network}: transaction t1 moved money out`]);
  thaw();
  clock.advance(30_000);
  await engine.renew();
  assert.is(asked.length, 2, 'thawed too early, or restored from an older backup');
  freezes.pop();
  thaw();
  clock.advance(30_000);
  await engine.renew();
  assert.is(asked.length, 2);
});

test('a signer without approvers is not frozen, because nobody could end that; the log says so', async () => {
  const { freezes, asked, lines, start } = place([]);
  freezes.push({ ...outflow, code: 'wallet_balance_short' });
  const engine = start();
  await engine.renew();
  await engine.renew();
  assert.equal({ asked, warnings: lines.length }, { asked: [], warnings: 1 });
  assert.match(String(lines[0]), 'no approver');
});

test('a signer that is away is asked again at the next look, and one that freezes nothing is never asked', async () => {
  const { freezes, asked, seen, start } = place(['anna']);
  const engine = start();
  await engine.renew();
  assert.is(seen.questions, 0);
  freezes.push(outflow);
  seen.isAway = true;
  for (let look = 0; look < 2; look++) await fails(engine.renew(), 'signer_unreachable');
  seen.isAway = false;
  await engine.renew();
  assert.equal({ asked: asked.length, questions: seen.questions }, { asked: 1, questions: 3 });
});

test.run();
