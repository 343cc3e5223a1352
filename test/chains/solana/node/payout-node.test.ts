/**
 * Solana's payouts over real HTTP against the simulated node: quoted, signed by the signer's own code, sent, and judged
 * by what is final. What the programs really do with these bytes is proved in `spend-svm.test.ts`.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../../../src/chains/index.ts';
import { openPayoutNode } from '../../../../src/chains/solana/node/payout-node.ts';
import { solanaOfflineKeys } from '../../../../src/chains/solana/offline-keys.ts';
import { solanaSpending } from '../../../../src/chains/solana/spend.ts';
import { tokenAddress } from '../../../../src/chains/solana/token-account.ts';
import type { SentAttempt, SpendNetwork } from '../../../../src/chains/spend.ts';
import type { Intent, RefundIntent, SweepIntent } from '../../../../src/core/intent.ts';
import type { Token } from '../../../../src/core/transfer.ts';
import { faultOf } from '../../../conformance/chain.ts';
import { startSimulatedNode } from '../../../support/simulated-node.ts';
import { createSeedWallets, quoted, refused } from '../../seed-wallets.ts';

const chainId = '4Hn1NfY4KzqTSxFKpBQNX5zdu4vcLxqPUsDQzYrim1pd';
const tokens: readonly Token[] = [
  { symbol: 'USDT', address: 'B2H5v132f9W36GvwggbZLSNmo7FRVab5fMZSBmvtoeQe', decimals: 6 },
  { symbol: 'USDC', address: '3SMCgcukXvR6bD6scBhQRDWUtZ2d3U4faQoweXAqb8uJ', decimals: 6 },
];
const usdt = chains.solana.address.parse(tokens[0]?.address ?? '') ?? '';
const SOL = 1_000_000_000n;
const FINAL = 31;

const sim = await startSimulatedNode({ family: 'solana', seed: 'payouts', chainId, tokens });
const limits = { finalDepth: 32, requestTimeoutMs: 5_000, responseBytesMax: 1 << 20 };
const node = openPayoutNode({ url: sim.httpUrl, chainId, tokens, ...limits });
test.after(async () => {
  await node.close();
  await sim.close();
});

const strangers = new Uint8Array(64).fill(77);
const strangerAt = (index: number): string => solanaOfflineKeys.derive(strangers, index, 1)[0] ?? '';
const treasury = strangerAt(900);
const network: SpendNetwork = { chainId, tokens, treasury, feeUnitsMax: 10_000_000n };
const { openWallets, signOn } = createSeedWallets(network, solanaSpending, (number) => strangerAt(1_000 + number));
const wallets = openWallets();
const { keyOf } = wallets;
const [refundWallet, gasWallet] = [keyOf({ role: 'refund' }), keyOf({ role: 'gas' })];

const { world } = sim;
const mine = (blocks = 1): void => {
  for (let left = blocks; left > 0; left--) world.mine();
};
const held = (key: string): bigint => world.accounts().token(usdt, key);
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

// Wallets with a float, and a treasury that has held the token before.
mine(2);
world.fund(refundWallet, SOL);
world.fund(gasWallet, SOL);
for (const to of [refundWallet, treasury]) sim.pay(to, 50_000_000n);
mine();

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
  assert.is(fault.code, 'payout_outcome_unclear');
  assert.is(fault.kind, 'transient');
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

test('a node that is behind refuses nothing: it has not looked at the transaction', async () => {
  const intent = refund(1n);
  const { attempt } = await prepare(intent);
  const fault = await withFault('unhealthy', () => faultOf(node.broadcast(attempt.bytes)));
  assert.equal([fault.kind, fault.code], ['transient', 'node_unhealthy']);
  assert.match(fault.message, /^sendTransaction at .*Node is behind by 42 slots.*wait for it$/);
  assert.equal(await node.broadcast(attempt.bytes), { kind: 'accepted' });
  mine(FINAL + 4);
  assert.is((await outcome(intent, attempt)).kind, 'succeeded');
});

test('a payee with more lamports than a float can count is paid', async () => {
  const intent = refund(7n);
  world.fund(intent.to, 2n ** 53n + 1n);
  mine();
  const { attempt } = await prepare(intent);
  await node.broadcast(attempt.bytes);
  mine(FINAL + 4);
  assert.is((await outcome(intent, attempt)).kind, 'succeeded');
});

test('an answer that is an error proves nothing', async () => {
  const intent = refund(1n);
  const { attempt } = await prepare(intent);
  assert.is((await withFault('send_denied', () => node.broadcast(attempt.bytes))).kind, 'rejected');
  mine(FINAL + 4);
  assert.is((await outcome(intent, attempt)).kind, 'succeeded');
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

test('a sweep empties three owners into the treasury, and the gas wallet pays', async () => {
  const indices = [3, 4, 5];
  for (const index of indices) sim.pay(keyOf({ role: 'collection', index }), BigInt(index) * 1_000_000n);
  mine();
  const sweep: SweepIntent = {
    kind: 'sweep',
    id: 'sw_1',
    network: 'test:any',
    currency: 'USDT',
    from: indices.map((index) => ({ index, units: BigInt(index) * 1_000_000n })),
  };
  const before = held(treasury);
  const { quote, attempt } = await prepare(sweep);
  assert.ok(quote.feeUnitsMax < 30_000n, 'no deposits');
  assert.equal(await node.broadcast(attempt.bytes), { kind: 'accepted' });
  mine(FINAL + 4);
  assert.is((await outcome(sweep, attempt)).kind, 'succeeded');
  assert.is(held(treasury), before + 12_000_000n);
  const empty = await refusal(sweep);
  assert.is(empty.refused, 'token_short');
  assert.is(empty.missingUnits, 3_000_000n);
});

test('a mint and a token account are no payees', async () => {
  const mint = await refusal(refund(1n, usdt));
  assert.is(mint.refused, 'destination_invalid');
  // A token account's own address, which payers paste by mistake: nobody has its key.
  const account = chains.solana.address.parse(tokenAddress(treasury, tokens[0]?.address ?? '')) ?? '';
  assert.is((await refusal(refund(1n, account))).refused, 'destination_invalid');
});

test.run();
