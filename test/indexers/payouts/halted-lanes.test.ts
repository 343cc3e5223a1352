/**
 * A halted wallet that has used very many unknown numbers is read piece by piece, and goes on after the last.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  explainNumbers,
  type LaneParts,
  leftText,
  NUMBERS_MAX,
  passNumbers,
} from '../../../indexers/payouts/halted-lanes.ts';
import type { HaltedLane } from '../../../src/database/money-out.ts';

const network = 'test:one';
const payer = 'aa'.repeat(20);

test('each run reads the next numbers, and the wallet goes on once all were read', async () => {
  const asked: number[] = [];
  let lane: HaltedLane | null = { network, payer, code: 'payout_nonce_foreign', message: '', nextNonce: 3 };
  const final = 3 + 2 * NUMBERS_MAX + 50;
  const parts = {
    node: {
      count: async () => ({ final, head: final, pending: final }),
      async usedBy(_payer: string, nonce: number) {
        asked.push(nonce);
        return null;
      },
    },
    database: { listPayouts: async () => [] },
  } as unknown as LaneParts;
  const database = {
    async raiseLane(_network: string, _payer: string, nextNonce: number) {
      if (lane) lane = { ...lane, nextNonce };
    },
    async resumeLane() {
      lane = null;
      return true;
    },
  };
  const left: number[] = [];
  for (let runs = 0; lane !== null; runs++) {
    assert.ok(runs < 3, 'it ends');
    const { lanes, used } = await explainNumbers(parts, [lane]);
    assert.is(used.length, Math.min(NUMBERS_MAX, final - lane.nextNonce));
    for (const one of lanes) {
      left.push(one.left);
      if (one.left > 0) {
        const text = leftText(one, { key: network, family: 'evm' });
        assert.match(text, `stays halted: ${one.left} more of its numbers are unknown here`);
        assert.match(text, '`quayside payout resume test:one` again');
      }
    }
    await passNumbers(database, network, lanes, 0);
  }
  assert.equal(left, [NUMBERS_MAX + 50, 50, 0]);
  assert.equal(
    asked,
    Array.from({ length: final - 3 }, (_, at) => 3 + at),
  );
});

test.run();
