/**
 * The simulated EVM node from the point of view of wallets. What it reads by hand was signed by the signer's library;
 * what it answers is read by the payout client that real nodes are read with.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openPayoutNode } from '../../src/chains/evm/node/payout-node.ts';
import type { PayoutNode, SentAttempt, SpendNetwork } from '../../src/chains/spend.ts';
import type { Intent } from '../../src/core/intent.ts';
import type { Outcome } from '../../src/core/spend.ts';
import { type Attempt, createSeedWallets, quoted, type SeedWallets } from '../chains/seed-wallets.ts';
import {
  SANDBOX_CHAIN_ID,
  type SimulatedNode,
  sandboxTokens,
  startSimulatedNode,
  usdtKey,
} from '../support/simulated-node.ts';

const FINAL_BLOCKS = 3;
const ETHER = 10n ** 18n;
const network: SpendNetwork = {
  chainId: SANDBOX_CHAIN_ID,
  tokens: sandboxTokens,
  treasury: '71'.repeat(20),
  feeUnitsMax: 100n * ETHER,
};
const { openWallets, signOn, prepareOn } = createSeedWallets(network);
const nothingYet: Outcome = { kind: 'waiting', included: null };

let sandbox: SimulatedNode;
let node: PayoutNode;
test.before.each(async () => {
  sandbox = await startSimulatedNode({ family: 'evm', seed: 'wallets', finalityDistance: FINAL_BLOCKS });
  node = openPayoutNode({
    url: sandbox.httpUrl,
    chainId: SANDBOX_CHAIN_ID,
    tokens: sandboxTokens,
    finalDepth: FINAL_BLOCKS,
    requestTimeoutMs: 10_000,
    responseBytesMax: 1_000_000,
  });
});
test.after.each(async () => {
  await node.close();
  await sandbox.close();
});

const mine = (blocks = 1): void => {
  for (let left = blocks; left > 0; left--) sandbox.world.mine();
};
const control = async (method: string, params: Record<string, unknown>) => {
  const { error } = await sandbox.ask(method, [params]);
  assert.is(error, undefined, `${method}: ${error?.message}`);
};
const held = (key: string): bigint => sandbox.world.accounts().token(usdtKey, key);

/** Wallets of a seed whose refund wallet holds an ether and 1000 USDT. */
async function openFundedWallets(): Promise<SeedWallets> {
  const wallets = openWallets();
  const wallet = `0x${wallets.keyOf({ role: 'refund' })}`;
  await control('sandbox_fund', { to: wallet, amount: ETHER.toString() });
  await control('sandbox_pay', { to: wallet, amount: '1000000000' });
  mine();
  return wallets;
}

const prepare = (wallets: SeedWallets, intent: Intent, outbid: readonly Attempt[] = []) =>
  prepareOn(node, wallets, intent, outbid);
const outcomeOf = (wallets: SeedWallets, intent: Intent, attempts: readonly SentAttempt[]) =>
  node.outcome(wallets.draft(intent), attempts);
async function send(attempt: Attempt): Promise<void> {
  assert.equal(await node.broadcast(attempt.bytes), { kind: 'accepted' });
}

test('replacements are accepted from 10 % more, and the one that is mined is found', async () => {
  const wallets = await openFundedWallets();
  const intent = wallets.refund('USDT', 5n);
  const first = await prepare(wallets, intent);
  await send(first);
  const fee = BigInt(first.terms.max_fee_per_gas ?? 0);
  const meagre = signOn(wallets, intent, { ...first.terms, max_fee_per_gas: (fee + fee / 20n).toString() });
  const answer = await node.broadcast(meagre.bytes);
  assert.is(answer.kind === 'rejected' && answer.code, 'replacement_underpriced');
  const second = await prepare(wallets, intent, [first]);
  await send(second);
  assert.is(sandbox.world.pending().length, 1);
  mine(1 + FINAL_BLOCKS);
  const outcome = await outcomeOf(wallets, intent, [first, meagre, second]);
  assert.is(outcome.kind === 'succeeded' && outcome.tx, second.tx);
  assert.is(held(intent.to), 5n);
});

test('an offer below the base fee waits until it is replaced', async () => {
  const wallets = await openFundedWallets();
  const intent = wallets.refund('USDT', 5n);
  const { terms } = quoted(await node.quote(wallets.draft(intent), 0, []));
  const cheap = signOn(wallets, intent, { ...terms, max_fee_per_gas: '900000000', max_priority_fee_per_gas: '1000' });
  await send(cheap);
  mine(2);
  assert.equal(await outcomeOf(wallets, intent, [cheap]), nothingYet);
  const dear = await prepare(wallets, intent, [cheap]);
  await send(dear);
  mine();
  const outcome = await outcomeOf(wallets, intent, [cheap, dear]);
  assert.is(outcome.kind === 'waiting' && outcome.included?.tx, dear.tx);
});

test('full blocks raise the base fee by an eighth each, and an offer that it has passed waits', async () => {
  const wallets = await openFundedWallets();
  const intent = wallets.refund('USDT', 5n);
  const baseFee = async () =>
    Number(
      ((await sandbox.ask('eth_getBlockByNumber', ['pending', false])).result as { baseFeePerGas: string })
        .baseFeePerGas,
    );
  const before = await baseFee();
  const { terms } = quoted(await node.quote(wallets.draft(intent), 0, []));
  const tight = signOn(wallets, intent, {
    ...terms,
    max_fee_per_gas: String(before),
    max_priority_fee_per_gas: '1000',
  });
  for (let at = 0; at < 3; at++) sandbox.world.mine(1000);
  assert.is(await baseFee(), before * (9 / 8) ** 3);
  await send(tight);
  mine();
  assert.equal(await outcomeOf(wallets, intent, [tight]), nothingYet);
  const second = await prepare(wallets, intent, [tight]);
  await send(second);
  mine(1 + FINAL_BLOCKS);
  const outcome = await outcomeOf(wallets, intent, [tight, second]);
  assert.is(outcome.kind === 'succeeded' && outcome.tx, second.tx);
  mine(20);
  assert.is(await baseFee(), before, 'empty blocks lower it again');
});

test('a suggestion far above what blocks paid is not followed', async () => {
  const wallets = await openFundedWallets();
  const draft = wallets.draft(wallets.refund('USDT', 5n));
  for (let at = 0; at < 20; at++) sandbox.world.mine(3);
  const usual = quoted(await node.quote(draft, 0, [])).terms;
  sandbox.faults.set({ rates: { tip_high: 1 } });
  assert.equal(quoted(await node.quote(draft, 0, [])).terms, usual);
});

test('refusals have a real node’s texts', async () => {
  const wallets = await openFundedWallets();
  const intent = wallets.refund('USDT', 5n);
  const { terms } = quoted(await node.quote(wallets.draft(intent), 0, []));
  const codeOn = async (changes: Record<string, string>) => {
    const answer = await node.broadcast(signOn(wallets, intent, { ...terms, ...changes }).bytes);
    return answer.kind === 'rejected' ? answer.code : answer.kind;
  };
  assert.is(await codeOn({ gas_limit: '46000000' }), 'gas_limit');
  assert.is(await codeOn({ max_fee_per_gas: '9999999999999' }), 'accepted');
  assert.is(await codeOn({ max_fee_per_gas: '12999999999999', max_priority_fee_per_gas: '9000000' }), 'fee_capped');
  for (const wrong of [
    new Uint8Array(),
    Uint8Array.of(1, 2),
    Uint8Array.of(2, 0xc0),
    Uint8Array.of(2, 0xf8, 0xff),
    new Uint8Array(100),
  ]) {
    const answer = await node.broadcast(wrong);
    assert.is(answer.kind === 'rejected' && answer.code, 'node_refused');
  }
});

test('a node may lie about a broadcast in three ways', async () => {
  const wallets = await openFundedWallets();
  const intent = wallets.refund('USDT', 5n);
  const attempt = await prepare(wallets, intent);

  sandbox.faults.set({ rates: { send_dropped: 1 } });
  await send(attempt);
  mine();
  assert.equal(await outcomeOf(wallets, intent, [attempt]), nothingYet, 'accepted, and discarded');

  sandbox.faults.heal();
  sandbox.faults.set({ rates: { send_denied: 1 } });
  const denied = await node.broadcast(attempt.bytes);
  assert.is(denied.kind, 'rejected');
  mine(1 + FINAL_BLOCKS);
  assert.is((await outcomeOf(wallets, intent, [attempt])).kind, 'succeeded', 'refused, and mined');

  sandbox.faults.heal();
  sandbox.faults.set({ rates: { unknown_block: 1 } });
  const outcome = await outcomeOf(wallets, intent, [attempt]).catch((error) => error.code);
  assert.is.not(outcome.kind, 'succeeded', 'its inclusion denied');
});

test('a missing answer does not undo the broadcast', async () => {
  const wallets = await openFundedWallets();
  const intent = wallets.refund('USDT', 5n);
  const attempt = await prepare(wallets, intent);
  sandbox.faults.set({ rates: { drop: 1 } });
  const code = await node.broadcast(attempt.bytes).then(
    () => 'an answer',
    (error) => error.code,
  );
  assert.is(code, 'node_unreachable');
  sandbox.faults.heal();
  mine(1 + FINAL_BLOCKS);
  assert.is((await outcomeOf(wallets, intent, [attempt])).kind, 'succeeded');
});

// ── The reader ───────────────────────────────────────────────────────────────────────────────────────────────────────

test.run();
