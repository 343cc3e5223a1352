/**
 * Solana's payouts over real HTTP against the simulated node: quoted, signed by the signer's own code, sent, and judged
 * by what is final. `spend-svm.test.ts` proves what the programs really do with these bytes.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../../../src/chains/index.ts';
import type { SentAttempt } from '../../../../src/chains/spend.ts';
import type { Intent, RefundIntent } from '../../../../src/core/intent.ts';
import { has } from '../../../support/fields.ts';
import { faultOf } from '../../../support/refusal.ts';
import { withClient } from '../../payout-bench.ts';
import { quoted, refused } from '../../seed-wallets.ts';
import { makeSimulatedPayouts } from '../../simulated-payouts.ts';

const bench = withClient(await makeSimulatedPayouts('solana'));
test.after(() => bench.close());
const { node, sandbox: sim, world, signOn, mine, held, finalBlocks: FINAL } = bench;
const wallets = await bench.openFundedWallets();
const { keyOf } = wallets;
bench.giveNative(keyOf({ role: 'gas' }), bench.nativeUnits);
mine();

const refund = (units: bigint, to?: string): RefundIntent => wallets.refund('USDT', units, to);
const draftOf = (intent: Intent) => wallets.draft(intent);
const lockOf = (intent: Intent): string => draftOf(intent).lock ?? '';

async function prepare(intent: Intent) {
  const quote = quoted(await node.quote(draftOf(intent), null, []));
  return { quote, attempt: signOn(wallets, intent, quote.terms) };
}

const outcome = (intent: Intent, ...attempts: SentAttempt[]) => node.outcome(draftOf(intent), attempts);

const refusal = async (intent: Intent) => refused(await node.quote(draftOf(intent), null, []));

/** Runs with a fault of the node that occurs each time. */
async function withFault<T>(fault: string, run: () => Promise<T>): Promise<T> {
  sim.faults.set({ rates: { [fault]: 1 } });
  try {
    return await run();
  } finally {
    sim.faults.heal();
    sim.faults.set({ rates: {} });
  }
}

test('a second transaction for the same refund fails, and the first still counts', async () => {
  const intent = refund(1_000_000n);
  const first = await prepare(intent);
  mine();
  const second = await prepare(intent);
  assert.is.not(first.attempt.tx, second.attempt.tx);
  await node.broadcast(first.attempt.bytes);
  mine();
  const refused = await node.broadcast(second.attempt.bytes);
  assert.is(refused.kind === 'rejected' && refused.code, 'account_in_use');
  // A node without preflight would accept it; the lock makes it fail in its block.
  mine(FINAL + 3);
  assert.is((await outcome(intent, first.attempt, second.attempt)).kind, 'succeeded');
  assert.is(held(intent.to), 1_000_000n);
  assert.match((await refusal(intent)).message, 'paid before');
});

test('a node that denies a payment is contradicted by the lock', async () => {
  const intent = refund(3_000_000n);
  const { attempt } = await prepare(intent);
  await node.broadcast(attempt.bytes);
  mine(200);
  const fault = await withFault('unknown_block', () => faultOf(outcome(intent, attempt)));
  has(fault, { code: 'payout_outcome_unclear', kind: 'transient' });
  assert.match(fault.message, chains.solana.address.format(lockOf(intent)));
  assert.is((await outcome(intent, attempt)).kind, 'succeeded');
});

test('lamports at the lock, sent before, during and after an attempt, neither stop a refund nor count as paid', async () => {
  const intent = refund(600_000n);
  const give = () => {
    world.fund(lockOf(intent), 650_240n);
    mine();
  };
  give();
  const lost = await prepare(intent);
  await withFault('send_dropped', async () =>
    assert.equal(await node.broadcast(lost.attempt.bytes), { kind: 'accepted' }),
  );
  give();
  mine(200);
  assert.equal(await outcome(intent, lost.attempt), { kind: 'dead' });
  assert.equal(await node.outcome(draftOf(intent), []), { kind: 'waiting', included: null });
  const { attempt } = await prepare(intent);
  assert.equal(await node.broadcast(attempt.bytes), { kind: 'accepted' });
  give();
  mine(FINAL + 4);
  assert.is((await outcome(intent, attempt)).kind, 'succeeded');
  assert.is(held(intent.to), 600_000n);
  const fault = await faultOf(node.outcome(draftOf(intent), []));
  assert.match(fault.message, chains.solana.address.format(lockOf(intent)));
  assert.match((await refusal(intent)).message, 'paid before');
});

test('a refund that failed in its block moved nothing and cost its fee; it may be signed again', async () => {
  const intent = refund(1_000n);
  const { attempt } = await prepare(intent);
  await withFault('send_failed', () => node.broadcast(attempt.bytes));
  mine(FINAL + 4);
  assert.is((await outcome(intent, attempt)).kind, 'waiting', 'until its last block is final');
  mine(180);
  const end = await outcome(intent, attempt);
  assert.ok(end.kind === 'failed' && end.feeUnits > 0n);
  assert.is(held(intent.to), 0n);
  const again = await prepare(intent);
  await node.broadcast(again.attempt.bytes);
  mine(FINAL + 4);
  assert.is((await outcome(intent, again.attempt)).kind, 'succeeded');
});

test.run();
