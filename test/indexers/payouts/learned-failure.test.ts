/**
 * Transactions of our wallets that failed, of which neither the database nor the signer's journal knows, because a
 * whole machine was put back to a state from before: the payout engine with each chain's own clients in front of a
 * simulated node.
 */

import { ed25519 } from '@noble/curves/ed25519.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { PublicKey, SystemProgram, TransactionMessage } from '@solana/web3.js';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { settleNever } from '../../../indexers/payouts/exits.ts';
import { createPayoutWallets } from '../../../indexers/payouts/wallets.ts';
import { transferData } from '../../../src/chains/erc20.ts';
import { signTransaction } from '../../../src/chains/evm/transaction-bytes.ts';
import { chains } from '../../../src/chains/index.ts';
import { tronAddress } from '../../../src/chains/tron/address.ts';
import {
  rawBytes,
  signedTransaction,
  transactionDigest,
  wireSignature,
} from '../../../src/chains/tron/transaction-bytes.ts';
import { GENERATIONS_MAX, LEARNED_GENERATION, type Payout } from '../../../src/core/payout.ts';
import { SHORT_MS } from '../../../src/core/wallet-books.ts';
import { SANDBOX_CHAIN_ID } from '../../support/sandbox-node.ts';
import { askRpc } from '../../support/simulated-node.ts';
import { COIN, closeBenches, type NodeBench, network, openNodeBench, READ_MS, thief } from './node-bench.ts';

const families = ['evm', 'tron', 'solana'] as const;
type Family = (typeof families)[number];
const USDT = 1_000_000n;
const MINUTES = Math.ceil((2 * SHORT_MS) / READ_MS);
test.after(closeBenches);

/** A bench whose wallets hold coins and tokens, and that knows all balances and numbers. */
async function openFunded(family: Family, refund = 0): Promise<NodeBench> {
  const bench = await openNodeBench(family, { wallets: { refund, gas: 0 } });
  const { sim, walletKey, pass } = bench;
  for (const key of [walletKey('refund', 0), walletKey('refund', 1), walletKey('gas', 0)])
    sim.world.fund(key.key, 100n * COIN[family]);
  for (const index of [0, 1]) sim.pay(walletKey('refund', index).key, 50n * USDT);
  for (let n = 0; n < 2; n++) assert.is(await pass(READ_MS), null);
  return bench;
}

/** Sends a transaction that is included and fails. */
async function failing({ sim, advance }: NodeBench, send: () => Promise<string>): Promise<string> {
  sim.faults.set({ rates: { send_failed: 1 } });
  const tx = await send();
  sim.faults.heal();
  advance(15_000);
  return tx;
}

async function isUnstopped({ database }: NodeBench): Promise<void> {
  assert.equal([await database.listFreezes(), await database.haltedLanes()], [[], []]);
  assert.equal(
    (await database.listAlarms(20)).map(({ code }) => code),
    [],
  );
  const { unbalanced, differences } = await database.verifyLedger();
  assert.equal([unbalanced, differences], [[], []]);
}

const held = ({ sim, walletKey }: NodeBench) => sim.world.accounts().native(walletKey('refund', 0).key);

/** The transactions of a payout's attempts, by generation, with what they cost. */
const attemptsOf = async ({ database }: NodeBench, id: string) =>
  (await database.listPayoutAttempts(id)).map(({ generation, tx, feeUnits }) => [generation, tx, feeUnits] as const);

/** What stops a family's payouts when something is unexplained. */
const stopped = { evm: 'payout_nonce_foreign', tron: 'wallet_balance_short', solana: 'wallet_balance_short' } as const;
const stopOf = async ({ database }: NodeBench) => (await database.findFreeze(network))?.code ?? null;

for (const family of families) {
  test(`${family}: the fee of a refund's failed transaction is entered, and the refund is attempted again without a command`, async () => {
    const bench = await openFunded(family);
    const { database, planRefund, passMinutes, paid, walletKey, payUnknown } = bench;
    const before = held(bench);
    const tx = await failing(bench, () => payUnknown('rf_1', thief[family], 2n * USDT));
    const fee = before - held(bench);
    assert.ok(fee > 0n);
    await planRefund('rf_1', thief[family], 2n * USDT);
    const reported = await passMinutes(MINUTES);
    assert.equal(reported, Array(MINUTES).fill(null));
    const [own, failed] = await attemptsOf(bench, 'rf_1');
    assert.equal(failed, [LEARNED_GENERATION, tx, fee]);
    const payout = await database.findPayout('rf_1');
    assert.equal([payout?.state, payout?.generation, payout?.tx], ['succeeded', 0, own?.[1] ?? null]);
    assert.equal(paid(walletKey('refund', 0).key, thief[family]), [2n * USDT]);
    assert.is(before - held(bench), fee + (payout?.feeUnits ?? 0n));
    assert.equal(await database.listOutgoing(network, 10), []);
    await isUnstopped(bench);
  });

  test(`${family}: of a refund that failed and was paid then, both are entered, and it is not paid again`, async () => {
    const bench = await openFunded(family);
    const { database, planRefund, passMinutes, paid, walletKey, payUnknown, advance } = bench;
    const failed = await failing(bench, () => payUnknown('rf_1', thief[family], 2n * USDT));
    const succeeded = await payUnknown('rf_1', thief[family], 2n * USDT);
    advance(15_000);
    await planRefund('rf_1', thief[family], 2n * USDT);
    const reported = await passMinutes(MINUTES);
    assert.equal(reported, Array(MINUTES).fill(null));
    const payout = await database.findPayout('rf_1');
    assert.equal([payout?.state, payout?.tx], ['succeeded', succeeded]);
    assert.equal(
      (await attemptsOf(bench, 'rf_1')).map(([generation, tx]) => [generation, tx]),
      [
        [0, succeeded],
        [LEARNED_GENERATION, failed],
      ],
    );
    assert.equal(paid(walletKey('refund', 0).key, thief[family]), [2n * USDT]);
    await isUnstopped(bench);
  });

  test(`${family}: failed transactions to another payee, of another amount or of another form explain nothing`, async () => {
    const bench = await openFunded(family);
    const { database, planRefund, passMinutes, payUnknown, depositKey } = bench;
    await failing(bench, () => payUnknown('rf_1', depositKey(7).key, 2n * USDT));
    await failing(bench, () => payUnknown('rf_1', thief[family], 3n * USDT));
    await failing(bench, () => sendOtherForm[family](bench, 2n * USDT));
    await planRefund('rf_1', thief[family], 2n * USDT);
    await passMinutes(MINUTES);
    assert.is(await stopOf(bench), stopped[family]);
    const learned = (await attemptsOf(bench, 'rf_1')).filter(([generation]) => generation > 0);
    assert.equal([learned, (await database.listPayouts({ network, limit: 10 })).length], [[], 1]);
    const rows = (await database.listOutgoing(network, 10)).map(({ state }) => state);
    // Where there are no numbers, each fee was looked at.
    assert.equal(rows, family === 'evm' ? [] : ['recorded', 'recorded', 'recorded']);
  });

  test(`${family}: as many failed transactions of a refund count as the engine itself would have tried`, async () => {
    const bench = await openFunded(family);
    const { planRefund, passMinutes, payUnknown } = bench;
    for (let n = 0; n <= GENERATIONS_MAX; n++) await failing(bench, () => payUnknown('rf_1', thief[family], 2n * USDT));
    await planRefund('rf_1', thief[family], 2n * USDT);
    await passMinutes(MINUTES);
    assert.is(await stopOf(bench), stopped[family]);
    const learned = (await attemptsOf(bench, 'rf_1')).filter(([generation]) => generation > 0);
    assert.is(learned.length, GENERATIONS_MAX);
  });
}

/** Sends what the signer never makes, with the payee and amount of a refund. */
const sendOtherForm: Readonly<Record<Family, (bench: NodeBench, units: bigint) => Promise<string>>> = {
  // One byte more than the call needs.
  async evm(bench, units) {
    return sendEvm(bench, { data: `${transferData(thief.evm, units)}00` });
  },
  async tron({ sim, tokens, walletKey, node, clock }, units) {
    const block = await (await fetch(`${sim.httpUrl}/wallet/getnowblock`, { method: 'POST' })).json();
    const { blockID, block_header: header } = block as {
      blockID: string;
      block_header: { raw_data: { number: number } };
    };
    const { key, secret } = walletKey('refund', 0);
    const contract = tronAddress.parse(tokens[0]?.address ?? '') ?? '';
    const raw = rawBytes({
      action: { kind: 'trigger', owner: key, contract, data: `${transferData(thief.tron, units)}00` },
      refBlockBytes: (header.raw_data.number % 0x1_0000).toString(16).padStart(4, '0'),
      refBlockHash: blockID.slice(16, 32),
      expirationMs: BigInt(clock.nowMs() + 60_000),
      timestampMs: BigInt(clock.nowMs()),
      feeLimit: 50n * COIN.tron,
    });
    const digest = transactionDigest(raw);
    const signature = secp256k1.sign(digest, secret, { prehash: false, format: 'recovered' });
    assert.equal(await node.broadcast(signedTransaction(raw, wireSignature(signature))), { kind: 'accepted' });
    return Buffer.from(digest).toString('hex');
  },
  async solana({ sim, walletKey, node }, units) {
    const { key, secret } = walletKey('refund', 0);
    const { result } = await askRpc(sim.httpUrl, 'getLatestBlockhash', []);
    const { blockhash } = (result as { value: { blockhash: string } }).value;
    const [fromPubkey, toPubkey] = [key, thief.solana].map((hex) => new PublicKey(Buffer.from(hex, 'hex'))) as [
      PublicKey,
      PublicKey,
    ];
    const instructions = [SystemProgram.transfer({ fromPubkey, toPubkey, lamports: units })];
    const content = { payerKey: fromPubkey, recentBlockhash: blockhash, instructions };
    const message = new TransactionMessage(content).compileToLegacyMessage().serialize();
    const signed = Buffer.concat([Buffer.of(1), ed25519.sign(message, secret), message]);
    assert.equal(await node.broadcast(new Uint8Array(signed)), { kind: 'accepted' });
    return '';
  },
};

async function sendEvm(
  { node, tokens, walletKey }: NodeBench,
  { data, maxFeeWei = 200n * 10n ** 9n }: Readonly<{ data: string; maxFeeWei?: bigint }>,
): Promise<string> {
  const { key, secret } = walletKey('refund', 0);
  const { head } = (await node.count(key)) ?? { head: 0 };
  const place = {
    chainId: BigInt(SANDBOX_CHAIN_ID),
    nonce: BigInt(head),
    to: tokens[0]?.address.slice(2).toLowerCase() ?? '',
  };
  const fees = { tipWei: 2n * 10n ** 9n, maxFeeWei, gas: 100_000n };
  const { tx, bytes } = signTransaction({ ...place, ...fees, valueWei: 0n, data }, secret);
  assert.equal(await node.broadcast(bytes), { kind: 'accepted' });
  return tx;
}

for (const family of families) {
  test(`${family}: a refund of which a failed transaction was learned can be ended as never paid`, async () => {
    const bench = await openFunded(family);
    const { database, node, tokens, signer, clock, planRefund, passMinutes, payUnknown } = bench;
    await failing(bench, () => payUnknown('rf_1', thief[family], 2n * USDT));
    await planRefund('rf_1', thief[family], 2n * USDT);
    const payout = async () => (await database.findPayout('rf_1')) as Payout;
    await database.recordWait({
      ...{ id: 'rf_1', generation: 0, wait: { code: 'would_fail', message: 'not now' } },
      ...{ nextLookAtMs: clock.nowMs() + 3_600_000, nowMs: clock.nowMs() },
    });
    await passMinutes(2);
    assert.is((await attemptsOf(bench, 'rf_1')).length, 1);
    const { spendRules: rules } = chains[family];
    const wallets = createPayoutWallets({ network, tokens, rules, signer });
    const act = {
      atMs: clock.nowMs(),
      operator: 'anna',
      command: 'payouts resolve',
      reason: 'the customer took it back',
    };
    await settleNever({ node, wallets, rules, database, act, isDryRun: false }, await payout(), false);
    assert.is((await payout()).state, 'failed');
    await passMinutes(2);
    assert.is((await attemptsOf(bench, 'rf_1')).length, 1);
  });
}

test("evm: a failed transaction that could cost more than the signer's policy allows explains nothing", async () => {
  for (const [gwei, stop] of [
    [499n, null],
    [501n, 'payout_nonce_foreign'],
  ] as const) {
    const bench = await openFunded('evm');
    const data = transferData(thief.evm, 2n * USDT);
    await failing(bench, () => sendEvm(bench, { data, maxFeeWei: gwei * 10n ** 9n }));
    await bench.planRefund('rf_1', thief.evm, 2n * USDT);
    await bench.passMinutes(2);
    assert.is(await stopOf(bench), stop);
  }
});

test('solana: the fee of a failed sweep is entered as a payout that has failed', async () => {
  const bench = await openFunded('solana');
  const { sim, database, depositKey, treasury, passMinutes, addDeposits, sweep, walletKey } = bench;
  const { key } = depositKey(0);
  for (const one of [key, treasury]) sim.pay(one, 5n * USDT);
  await passMinutes(1);
  await addDeposits([key]);
  const gas = () => sim.world.accounts().native(walletKey('gas', 0).key);
  const before = gas();
  const tx = await failing(bench, () => sweep('sw_1', 0, 5n * USDT));
  assert.equal(await passMinutes(MINUTES), Array(MINUTES).fill(null));
  const [payout, ...others] = await database.listPayouts({ network, kind: 'sweep', limit: 10 });
  assert.equal([payout?.state, others], ['failed', []]);
  assert.equal(await attemptsOf(bench, payout?.id ?? ''), [[LEARNED_GENERATION, tx, before - gas()]]);
  await isUnstopped(bench);
});

test.run();
