/**
 * Refunds of older versions, whose lock anybody can fund: they end, and are paid once, whatever strangers send there
 * and when. Over real HTTP against the simulated node.
 */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { gatherEvidence } from '../../../../indexers/payouts/exit-evidence.ts';
import { chains } from '../../../../src/chains/index.ts';
import { lockAddress, lockSeed, olderLockSeed } from '../../../../src/chains/solana/lock.ts';
import { openPayoutNode } from '../../../../src/chains/solana/node/payout-node.ts';
import { solanaOfflineKeys } from '../../../../src/chains/solana/offline-keys.ts';
import { solanaSpending } from '../../../../src/chains/solana/spend.ts';
import type { SentAttempt, SpendDraft, SpendNetwork, Terms } from '../../../../src/chains/spend.ts';
import type { RefundIntent } from '../../../../src/core/intent.ts';
import type { Attempt } from '../../../../src/core/payout.ts';
import { judgeNever } from '../../../../src/core/payout-exit.ts';
import type { Token } from '../../../../src/core/transfer.ts';
import { signOlderRefund } from '../../../support/older-refund.ts';
import { startSimulatedNode } from '../../../support/simulated-node.ts';
import { quoted, refused } from '../../seed-wallets.ts';

const chainId = '4Hn1NfY4KzqTSxFKpBQNX5zdu4vcLxqPUsDQzYrim1pd';
const token: Token = { symbol: 'USDT', address: 'B2H5v132f9W36GvwggbZLSNmo7FRVab5fMZSBmvtoeQe', decimals: 6 };
const usdt = chains.solana.address.parse(token.address) ?? '';
const seed = new Uint8Array(64).fill(78);
const SOL = 1_000_000_000n;
const DEPOSIT = 650_240n;
const UNITS = 700_000n;
/** More than the 150 blocks for which an attempt is valid, and the blocks until these are final. */
const EXPIRY = 200;

const sim = await startSimulatedNode({ family: 'solana', seed: 'older locks', chainId, tokens: [token] });
const options = {
  url: sim.httpUrl,
  chainId,
  tokens: [token],
  finalDepth: 32,
  requestTimeoutMs: 5_000,
  responseBytesMax: 1 << 20,
};
const node = openPayoutNode(options);
test.after(async () => {
  await node.close();
  await sim.close();
});

const { world } = sim;
const { key: wallet, secret } = solanaSpending.derive(seed, { role: 'refund' });
const network: SpendNetwork = { chainId, tokens: [token], treasury: wallet, feeUnitsMax: 10_000_000n };
const mine = (blocks = 1): void => {
  for (let left = blocks; left > 0; left--) world.mine();
};

let refunds = 0;
const refund = (): RefundIntent => {
  const nth = ++refunds;
  const to = solanaOfflineKeys.derive(seed, 1_000 + nth, 1)[0] ?? '';
  const mac = 'ab'.repeat(32);
  return { kind: 'refund', id: `rf_${nth}`, network: 'test:solana', currency: 'USDT', to, units: UNITS, mac };
};
const olderLockOf = ({ id }: RefundIntent): string => lockAddress(wallet, olderLockSeed(id));
const draftOf = (intent: RefundIntent, hasOlder = true): SpendDraft => {
  const lock = { key: lockAddress(wallet, lockSeed(secret, intent.id)), hasOlder };
  return { intent, payer: wallet, owners: [wallet], to: intent.to, token, lock };
};
const held = (key: string): bigint => world.accounts().token(usdt, key);

type Signed = SentAttempt & Readonly<{ bytes: Uint8Array }>;

async function signOlder(intent: RefundIntent): Promise<Signed> {
  const { lock_deposit_lamports: _, ...rest } = quoted(await node.quote(draftOf(intent, false), null, [])).terms;
  const terms: Terms = { ...rest, lock_lamports: String(DEPOSIT) };
  return { ...signOlderRefund(seed, network, intent, terms), terms, payer: wallet };
}

/** Whatever the older version's attempt came to, `quayside payouts settle --never` judges on this. */
async function never(intent: RefundIntent, attempts: readonly Signed[]) {
  const database = { listOutgoing: async () => [], findAttemptOwner: async () => null };
  const rows = attempts.map((one) => ({ ...one, generation: 0, nonce: null }) as unknown as Attempt);
  const evidence = await gatherEvidence(
    { node, database, draft: async () => draftOf(intent), payers: [] },
    { intent },
    rows,
  );
  const payout = { id: intent.id, network: intent.network, state: 'sent', tx: null, generation: 0 } as const;
  return judgeNever(payout, evidence);
}

/** Signs and sends it with the lock of today. */
async function payNow(intent: RefundIntent): Promise<SentAttempt> {
  const { terms } = quoted(await node.quote(draftOf(intent), null, []));
  const { tx, bytes } = solanaSpending.sign({ network, intent, terms }, [
    { wallet: { role: 'refund' }, key: wallet, secret },
  ]);
  assert.equal(await node.broadcast(bytes), { kind: 'accepted' });
  return { tx, terms, payer: wallet };
}

mine(2);
world.fund(wallet, 100n * SOL);
sim.pay(wallet, 50_000_000n);
mine();

test('a stranger funded the lock: the attempt is dead, it can be ended by a command, and is paid once with the new lock', async () => {
  const intent = refund();
  const older = await signOlder(intent);
  world.fund(olderLockOf(intent), DEPOSIT);
  mine();
  const answer = await node.broadcast(older.bytes);
  assert.is(answer.kind === 'rejected' && answer.code, 'account_in_use');
  assert.match(refused(await node.quote(draftOf(intent), null, [])).message, 'paid before', 'not final yet');
  mine(EXPIRY);
  assert.equal(await node.outcome(draftOf(intent), [older]), { kind: 'dead' });
  assert.is(await node.findMark(draftOf(intent)), null);
  assert.is((await never(intent, [older])).kind, 'never');
  const paid = await payNow(intent);
  mine(40);
  assert.is((await node.outcome(draftOf(intent), [paid])).kind, 'succeeded');
  assert.is(held(intent.to), UNITS);
  assert.match(refused(await node.quote(draftOf(intent), null, [])).message, 'paid before');
});

test('a node that has lost the beginning of the lock’s history proves nothing', async () => {
  const intent = refund();
  const older = await signOlder(intent);
  await node.broadcast(older.bytes);
  mine(EXPIRY);
  world.fund(olderLockOf(intent), 1n);
  mine(40);
  sim.faults.set({ rates: { blocks_lost: 1 }, lagBlocks: 60 });
  try {
    assert.match(String(await node.findMark(draftOf(intent))), chains.solana.address.format(olderLockOf(intent)));
    assert.match(refused(await node.quote(draftOf(intent), null, [])).message, 'paid before');
  } finally {
    sim.faults.heal();
    sim.faults.set({ rates: { blocks_lost: 0 } });
  }
  assert.is((await node.outcome(draftOf(intent), [older])).kind, 'succeeded');
});

test('both nodes must show it', async () => {
  const witness = await startSimulatedNode({ family: 'solana', seed: 'older locks', chainId, tokens: [token] });
  const both = openPayoutNode({ ...options, witnessUrl: witness.httpUrl });
  try {
    const intent = refund();
    // The witness saw a payment where the first node saw a stranger; both accounts exist.
    world.fund(olderLockOf(intent), DEPOSIT);
    mine(EXPIRY);
    for (let left = 5; left > 0; left--) witness.world.mine();
    witness.world.fund(wallet, SOL);
    witness.pay(wallet, 50_000_000n);
    witness.world.mine();
    const other = openPayoutNode({ ...options, url: witness.httpUrl });
    const { lock_deposit_lamports: _, ...rest } = quoted(await other.quote(draftOf(intent, false), null, [])).terms;
    const terms = { ...rest, lock_lamports: String(DEPOSIT) };
    assert.is((await other.broadcast(signOlderRefund(seed, network, intent, terms).bytes)).kind, 'accepted');
    await other.close();
    for (let left = EXPIRY; left > 0; left--) witness.world.mine();
    assert.match(String(await both.findMark(draftOf(intent))), chains.solana.address.format(olderLockOf(intent)));
    assert.match(refused(await both.quote(draftOf(intent), null, [])).message, 'paid before');
    assert.is(await node.findMark(draftOf(intent)), null);
  } finally {
    await both.close();
    await witness.close();
  }
});

test('the first transaction is found below more of them than a page has', async () => {
  const intent = refund();
  const lock = olderLockOf(intent);
  for (let block = 0; block < 3; block++) {
    for (let at = 0; at < 400; at++) world.fund(lock, DEPOSIT);
    mine();
  }
  mine(40);
  assert.is(await node.findMark(draftOf(intent)), null);
});

type Event = 'fund' | 'send older' | 'lose older' | 'fail older' | 'wait';
const events: readonly Event[] = ['fund', 'fund', 'send older', 'lose older', 'fail older', 'wait'];

test('in whatever order strangers fund the lock and attempts are sent or lost, it ends and is paid once', async () => {
  const histories = fc.array(fc.constantFrom(...events), { minLength: 1, maxLength: 6 });
  const property = fc.asyncProperty(histories, async (history) => {
    const intent = refund();
    const attempts: Signed[] = [];
    for (const event of history) {
      if (event === 'fund') world.fund(olderLockOf(intent), DEPOSIT);
      else if (event === 'wait') mine(EXPIRY);
      else {
        const older = await signOlder(intent);
        const rates = { send_dropped: event === 'lose older' ? 1 : 0, send_failed: event === 'fail older' ? 1 : 0 };
        sim.faults.set({ rates });
        await node.broadcast(older.bytes);
        sim.faults.heal();
        sim.faults.set({ rates: { send_dropped: 0, send_failed: 0 } });
        attempts.push(older);
      }
      mine();
    }
    mine(EXPIRY);
    const paidBefore = held(intent.to);
    const exit = await never(intent, attempts);
    if (paidBefore > 0n) {
      assert.equal([exit.kind, exit.kind === 'refused' && exit.code], ['refused', 'payout_was_paid']);
      assert.is((await node.quote(draftOf(intent), null, [])).kind, 'refused');
    } else {
      assert.is(exit.kind, 'never', exit.kind === 'refused' ? exit.message : '');
      const paid = await payNow(intent);
      mine(40);
      assert.is((await node.outcome(draftOf(intent), [paid])).kind, 'succeeded');
    }
    assert.is(held(intent.to), UNITS, 'paid once');
  });
  await fc.assert(property, { numRuns: 12, seed: 13, endOnFailure: true });
});

test.run();
