/**
 * More simulations, and every possible result in at least one of them.
 *
 *   npx tsx test/sim/sim.slow.test.ts --seeds=200      200 seeds from 0
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { simulations } from './simulations.ts';

const SEEDS = 10;

const { seeds, tally } = simulations(SEEDS);

test('the simulations were not idle: every possible result of a session and of a payment occurred', () => {
  if (seeds.length < SEEDS) return;
  const seen = [...tally].map(([name, times]) => `${name}: ${times}`).sort();
  for (const status of ['paid', 'paid late', 'failed', 'expired', 'canceled']) {
    assert.ok(tally.has(`session ${status}`), `no session ${status} in\n${seen.join('\n')}`);
  }
  for (const network of ['ethereum', 'bsc', 'tron', 'solana']) {
    for (const state of ['final', 'orphaned']) {
      assert.ok(tally.has(`payment ${state} on test:${network}`), `no payment ${state} on ${network}`);
    }
  }
  for (const event of [
    'completed',
    'failed',
    'expired',
    'cancelled',
    'detected',
    'partially_paid',
    'late',
    'overpaid',
    'wrong_token',
    'reversed',
  ]) {
    assert.ok(tally.has(`payment.${event}`), `no event payment.${event} in\n${seen.join('\n')}`);
  }
  const faults = ['drop', 'lag', 'empty_content', 'sibling_content', 'unlinked', 'hang', 'batch_limited', 'restarted'];
  for (const fault of faults) {
    assert.ok(tally.has(`fault ${fault}`), `no fault ${fault} in\n${seen.join('\n')}`);
  }
  if (process.env.TALLY) process.stderr.write(`${seen.join('\n')}\n`);
});

test.run();
