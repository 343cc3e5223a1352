/**
 * Coins that moved between two of our wallets, of which neither the database nor the signer's journal knows, because
 * both were put back to a state from before `wallet empty`: the payout engine with each chain's own clients in front of
 * a simulated node.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { PublicKey, SystemProgram, TransactionMessage } from '@solana/web3.js';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createSpendLearner } from '../../../indexers/payouts/spend-learner.ts';
import { signTransaction } from '../../../src/chains/evm/transaction-bytes.ts';
import { transferCall } from '../../../src/chains/evm/wire.ts';
import type { SpendDraft } from '../../../src/chains/spend.ts';
import { Fault, permanent, transient } from '../../../src/core/fault.ts';
import type { Intent } from '../../../src/core/intent.ts';
import { SHORT_MS } from '../../../src/core/wallet-books.ts';
import { openLog } from '../../../src/lib/log.ts';
import { handClock } from '../../support/hand-clock.ts';
import { SANDBOX_CHAIN_ID } from '../../support/sandbox-node.ts';
import { askRpc } from '../../support/simulated-node.ts';
import { COIN, closeBenches, type NodeBench, network, openNodeBench, READ_MS, thief } from './node-bench.ts';

const families = ['evm', 'tron', 'solana'] as const;
const USDT = 1_000_000n;
const MINUTES = Math.ceil((2 * SHORT_MS) / READ_MS);
test.after(closeBenches);

/** A bench whose first refund wallet holds coins and tokens, and that knows the balances and numbers of all wallets. */
async function openFunded(family: (typeof families)[number], refund: number): Promise<NodeBench> {
  const bench = await openNodeBench(family, { wallets: { refund, gas: 0 } });
  const { sim, walletKey, pass } = bench;
  for (const index of [0, 1]) sim.world.fund(walletKey('refund', index).key, 100n * COIN[family]);
  sim.pay(walletKey('refund', 0).key, 50n * USDT);
  for (let n = 0; n < 2; n++) assert.is(await pass(READ_MS), null);
  return bench;
}

const movesOf = async ({ database }: NodeBench) =>
  (await database.listPayouts({ network, kind: 'move', limit: 10 })).map(({ state, tx }) => [state, tx]).sort();

async function isUnstopped({ database }: NodeBench): Promise<void> {
  assert.equal([await database.listFreezes(), await database.haltedLanes()], [[], []]);
  assert.equal(
    (await database.listAlarms(20)).map(({ code }) => code),
    [],
  );
  const { unbalanced, differences } = await database.verifyLedger();
  assert.equal([unbalanced, differences], [[], []]);
}

for (const family of families) {
  for (const [refund, what] of [
    [1, 'before wallet empty'],
    [0, 'before the rotation'],
  ] as const) {
    test(`${family}: put back to ${what}, moves are entered with their cost, and payouts go on without a command`, async () => {
      const bench = await openFunded(family, refund);
      const { sim, database, walletKey, passMinutes, planRefund, paid } = bench;
      const [former, later] = [walletKey('refund', 0).key, walletKey('refund', 1).key];
      const txs = [await bench.move('mv_1', 'USDT', 50n * USDT)];
      bench.advance(READ_MS);
      txs.push(await bench.move('mv_2', null, (4n * COIN[family]) / 10n));
      const reported = await passMinutes(MINUTES);
      assert.ok(
        reported.every((code) => code === null),
        reported.join(),
      );
      assert.equal(await movesOf(bench), txs.map((tx) => ['succeeded', tx]).sort());
      for (const { id, feeUnits } of await database.listPayouts({ network, kind: 'move', limit: 10 })) {
        const [attempt] = await database.listPayoutAttempts(id);
        assert.equal([attempt?.payer, attempt?.feeUnits, (feeUnits ?? 0n) > 0n], [former, feeUnits, true]);
      }
      assert.equal(await database.listOutgoing(network, 10), []);
      await isUnstopped(bench);
      // The wallet that pays now goes on.
      const payer = refund === 1 ? later : former;
      sim.pay(payer, 5n * USDT);
      await planRefund('rf_1', thief[family], 2n * USDT);
      await passMinutes(3);
      assert.is((await database.findPayout('rf_1'))?.state, 'succeeded');
      assert.equal(paid(payer, thief[family]), [2n * USDT]);
      await isUnstopped(bench);
    });
  }
}

/** Plans what the gas wallet pays for: coin for a deposit address, and on Solana the fee of its sweep. */
async function planGasWork({ family, database, clock }: NodeBench): Promise<string> {
  const from = [{ index: 0, units: 5n * USDT }];
  const intent: Intent =
    family === 'solana'
      ? { kind: 'sweep', id: 'sw_1', network, currency: 'USDT', from }
      : { kind: 'gas', id: 'ga_1', network, form: 'transfer', index: 0, units: COIN[family] / 100n };
  const nowMs = clock.nowMs();
  await database.planPayouts([{ intent, sessionId: null, servesId: null, notBeforeMs: nowMs, nowMs }]);
  return intent.id;
}

for (const family of families) {
  for (const [gas, what] of [
    [1, 'the gas wallet was emptied'],
    [0, 'the gas wallet was rotated'],
  ] as const) {
    test(`${family}: put back to before ${what}, the move is entered with its cost, and the wallet that pays goes on`, async () => {
      const bench = await openNodeBench(family, { wallets: { refund: 0, gas } });
      const { sim, database, walletKey, depositKey, pass, passMinutes } = bench;
      const [former, later] = [walletKey('gas', 0).key, walletKey('gas', 1).key];
      // The wallet that pays now has some, so that no alarm is raised.
      for (const key of [former, later]) sim.world.fund(key, 1_000n * COIN[family]);
      for (const key of [depositKey(0).key, bench.treasury]) sim.pay(key, 5n * USDT);
      for (let n = 0; n < 2; n++) assert.is(await pass(READ_MS), null);
      await bench.addDeposits([depositKey(0).key]);
      const [before, moved] = [sim.world.accounts().native(former), 900n * COIN[family]];
      const tx = await bench.move('mv_1', null, moved, [0, 1], 'gas');
      const reported = await passMinutes(MINUTES);
      assert.ok(
        reported.every((code) => code === null),
        reported.join(),
      );
      assert.equal(await movesOf(bench), [['succeeded', tx]]);
      const [payout] = await database.listPayouts({ network, kind: 'move', limit: 10 });
      const intent = { kind: 'move', network, role: 'gas', fromIndex: 0, toIndex: 1, currency: null, units: moved };
      assert.equal({ ...payout?.intent, id: '' }, { ...intent, id: '' });
      const fee = before - moved - sim.world.accounts().native(former);
      assert.equal([payout?.feeUnits, fee > 0n], [fee, family !== 'tron'], 'all that has left; bandwidth is free');
      assert.equal(await database.listOutgoing(network, 10), []);
      await isUnstopped(bench);
      const payer = gas === 1 ? later : former;
      const id = await planGasWork(bench);
      await passMinutes(3);
      const [attempt] = await database.listPayoutAttempts(id);
      assert.equal([(await database.findPayout(id))?.state, attempt?.payer], ['succeeded', payer]);
      await isUnstopped(bench);
    });
  }
}

test('evm: moves that are older than the states of the node are found after each other', async () => {
  const bench = await openFunded('evm', 1);
  const txs = [await bench.move('mv_1', 'USDT', 50n * USDT)];
  bench.advance(READ_MS);
  txs.push(await bench.move('mv_2', null, COIN.evm));
  // Nodes that are no archive keep 128 states.
  bench.advance(200 * 12_000);
  const reported = await bench.passMinutes(2);
  assert.ok(
    reported.every((code) => code === null),
    reported.join(),
  );
  assert.equal(await movesOf(bench), txs.map((tx) => ['succeeded', tx]).sort());
  await isUnstopped(bench);
});

test('the nodes are asked for what used a number until they show it, and not again while nothing explains it', async () => {
  const asked: (string | undefined)[] = [];
  const learner = createSpendLearner({
    network: { key: network, family: 'evm', mode: 'test' },
    node: {
      async usedBy(_payer, _nonce, after) {
        asked.push(after);
        return asked.length < 3 ? null : { tx: 't2', tokens: [], native: null };
      },
      readTransfer: async () => null,
      paidBy: async () => null,
      failedBy: async () => null,
    },
    database: {
      nextNonce: async () => ({ nonce: 7, unsignedNonce: 7, lastTx: 't1' }),
      recordLearned: async () => false,
      recordFailed: async () => false,
      refundsBehind: async () => [],
      recordOutgoing: async () => {},
      depositIndex: async () => null,
    },
    wallets: {
      own: async () => ({ refund: 'aa', gas: 'bb', treasury: 'cc', others: [], feeUnitsMax: 1n }),
      find: async () => null,
      draft: () => Promise.reject(new Error('nothing is known of it')),
    },
    followJournal: async () => {},
    clock: handClock(),
    log: openLog('test', 'silent'),
  });
  for (let n = 0; n < 8; n++) await learner.learnNumbers('aa', 8);
  assert.equal(asked, ['t1', 't1', 't1']);
});

test('numbers beyond the first 200 are learned in the next passes, and none after one that nothing explains', async () => {
  const learned: number[] = [];
  let strange = Number.POSITIVE_INFINITY;
  const learner = createSpendLearner({
    network: { key: network, family: 'evm', mode: 'test' },
    node: {
      usedBy: async (_payer, nonce) => ({ tx: `t${nonce}`, tokens: [], native: { to: 'bb', units: 5n } }),
      async readTransfer(_payer, _treasury, tx) {
        if (Number(tx.slice(1)) >= strange) return 'other';
        return { tx, currency: null, to: 'bb', owners: [{ key: 'aa', units: 5n }], feeUnitsMax: 1n };
      },
      paidBy: async (_draft, tx) => ({ feeUnits: 1n, nonce: Number(tx.slice(1)) }),
      failedBy: async () => null,
    },
    database: {
      async nextNonce() {
        const nonce = 7 + learned.length;
        return { nonce, unsignedNonce: nonce, lastTx: null };
      },
      recordLearned: async ({ tx }) => learned.push(Number(tx.slice(1))) > 0,
      recordFailed: async () => false,
      refundsBehind: async () => [],
      recordOutgoing: async () => {},
      depositIndex: async () => null,
    },
    wallets: {
      own: async () => ({ refund: 'aa', gas: 'cc', treasury: 'dd', others: [], feeUnitsMax: 1n }),
      find: async (key) => ({ role: 'refund', index: key === 'aa' ? 0 : 1, key }),
      draft: async () => ({ to: 'bb', owners: ['aa'] }) as unknown as SpendDraft,
    },
    followJournal: async () => {},
    clock: handClock(),
    log: openLog('test', 'silent'),
  });
  const counts: (boolean | number)[] = [];
  for (let pass = 0; pass < 3; pass++) counts.push(await learner.learnNumbers('aa', 457), learned.length);
  assert.equal(counts, [true, 200, true, 400, false, 450]);
  assert.equal(
    learned,
    Array.from({ length: 450 }, (_, at) => 7 + at),
  );
  strange = 500;
  assert.is(await learner.learnNumbers('aa', 900), false, 'the wallet halts at it, and payouts do not wait for it');
});

test('a move that the signer’s journal may name is not learned before the journal was read', async () => {
  const learned: string[] = [];
  const faults = [transient('signer_unreachable', 'no answer'), permanent('payouts_not_adopted', 'another engine')];
  const transfer = { tx: 't2', currency: null, to: 'bb', owners: [{ key: 'aa', units: 5n }], feeUnitsMax: 1n };
  const learner = createSpendLearner({
    network: { key: network, family: 'evm', mode: 'test' },
    node: {
      usedBy: async () => ({ tx: 't2', tokens: [], native: { to: 'bb', units: 5n } }),
      readTransfer: async () => transfer,
      paidBy: async () => ({ feeUnits: 1n, nonce: 7 }),
      failedBy: async () => null,
    },
    database: {
      nextNonce: async () => ({ nonce: 7, unsignedNonce: 7, lastTx: 't1' }),
      recordLearned: async ({ tx }) => learned.push(tx) > 0,
      recordFailed: async () => false,
      refundsBehind: async () => [],
      recordOutgoing: async () => {},
      depositIndex: async () => null,
    },
    wallets: {
      own: async () => ({ refund: 'aa', gas: 'cc', treasury: 'dd', others: [], feeUnitsMax: 1n }),
      find: async (key) => ({ role: 'refund', index: key === 'aa' ? 0 : 1, key }),
      draft: async () => ({ to: 'bb', owners: ['aa'] }) as unknown as SpendDraft,
    },
    async followJournal() {
      const fault = faults.shift();
      if (fault) throw fault;
    },
    clock: handClock(),
    log: openLog('test', 'silent'),
  });
  await learner.learnNumbers('aa', 8);
  assert.equal(learned, [], 'the signer is asked again');
  const code = await learner.learnNumbers('aa', 8).then(
    () => null,
    (error: unknown) => error instanceof Fault && error.code,
  );
  assert.equal([code, learned], ['payouts_not_adopted', []]);
  await learner.learnNumbers('aa', 8);
  assert.equal(learned, ['t2']);
});

test('a move back to an earlier wallet, which the signer never signs, is recorded and explains nothing', async () => {
  const bench = await openFunded('tron', 0);
  const { database, walletKey, passMinutes } = bench;
  await bench.move('mv_1', null, 3n * COIN.tron, [1, 0]);
  await passMinutes(2);
  assert.equal(await movesOf(bench), []);
  const [row] = await database.listOutgoing(network, 10);
  assert.equal(
    [row?.currency, row?.from, row?.to, row?.state],
    ['native', walletKey('refund', 1).key, walletKey('refund', 0).key, 'recorded'],
  );
});

test('solana: coins that are stolen in a transaction that also moves tokens to our next wallet are missed', async () => {
  const bench = await openFunded('solana', 1);
  const { sim, database, node, walletKey, passMinutes } = bench;
  const { key, secret } = walletKey('refund', 0);
  const { result } = await askRpc(sim.httpUrl, 'getLatestBlockhash', []);
  const { blockhash } = (result as { value: { blockhash: string } }).value;
  const [from, to, other] = [key, walletKey('refund', 1).key, thief.solana].map(
    (hex) => new PublicKey(Buffer.from(hex, 'hex')),
  ) as [PublicKey, PublicKey, PublicKey];
  const send = (toPubkey: PublicKey, lamports: bigint) =>
    SystemProgram.transfer({ fromPubkey: from, toPubkey, lamports });
  const instructions = [send(to, 1_000_000n), send(other, 7n * COIN.solana)];
  const content = { payerKey: from, recentBlockhash: blockhash, instructions };
  const message = new TransactionMessage(content).compileToLegacyMessage().serialize();
  const bytes = new Uint8Array(Buffer.concat([Buffer.of(1), ed25519.sign(message, secret), message]));
  assert.equal(await node.broadcast(bytes), { kind: 'accepted' });
  await passMinutes(MINUTES);
  assert.equal(await movesOf(bench), []);
  assert.is((await database.findFreeze(network))?.code, 'wallet_balance_short');
});

test('evm: a number that another call to our next wallet has used halts the former one', async () => {
  const bench = await openFunded('evm', 1);
  const { sim, database, node, walletKey, passMinutes } = bench;
  const { key, secret } = walletKey('refund', 0);
  const { head } = (await node.sequence(key)) ?? { head: 0 };
  const fees = { tipWei: 2n * 10n ** 9n, maxFeeWei: 200n * 10n ** 9n, gas: 100_000n };
  const { bytes } = signTransaction(
    {
      ...{
        chainId: BigInt(SANDBOX_CHAIN_ID),
        nonce: BigInt(head),
        ...fees,
        to: walletKey('refund', 1).key,
        valueWei: COIN.evm,
      },
      data: transferCall(thief.evm, 1n).slice(2),
    },
    secret,
  );
  assert.equal(await node.broadcast(bytes), { kind: 'accepted' });
  await passMinutes(4);
  assert.equal(await movesOf(bench), []);
  assert.equal(
    (await database.haltedLanes()).map(({ payer, code }) => [payer, code]),
    [[key, 'payout_nonce_foreign']],
  );
  assert.ok(sim.world.accounts().native(key) < 100n * COIN.evm);
});

test.run();
