/**
 * A former wallet is emptied by hand, with a wallet program: the payout engine with each chain's own clients in front
 * of a simulated node.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { PublicKey, SystemProgram, TransactionMessage } from '@solana/web3.js';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { transferData } from '../../../src/chains/erc20.ts';
import { signTransaction } from '../../../src/chains/evm/transaction-bytes.ts';
import { SHORT_MS } from '../../../src/core/wallet-books.ts';
import { SANDBOX_CHAIN_ID } from '../../support/sandbox-node.ts';
import { askRpc } from '../../support/simulated-node.ts';
import { thawAll } from '../../support/thaw.ts';
import { COIN, closeBenches, type NodeBench, network, openNodeBench, READ_MS, thief } from './node-bench.ts';

const families = ['evm', 'tron', 'solana'] as const;
const USDT = 1_000_000n;
const MINUTES = Math.ceil((2 * SHORT_MS) / READ_MS);
/** What shows that a wallet has sent something, besides the tokens themselves. */
const stops = { evm: 'payout_nonce_foreign', tron: 'wallet_balance_short', solana: 'wallet_balance_short' } as const;
test.after(closeBenches);

/** A bench whose first refund wallet holds coins and tokens, and that knows the balances and numbers of all wallets. */
async function openFunded(family: (typeof families)[number]): Promise<NodeBench> {
  const bench = await openNodeBench(family, { wallets: { refund: 1, gas: 0 } });
  const { sim, walletKey, pass } = bench;
  for (const index of [0, 1]) sim.world.fund(walletKey('refund', index).key, 100n * COIN[family]);
  sim.pay(walletKey('refund', 0).key, 50n * USDT);
  for (let n = 0; n < 2; n++) assert.is(await pass(READ_MS), null);
  return bench;
}

/** What people do who have looked: `payout resume`, `payout thaw`, and then the approver's `signer thaw`. */
async function endFreezes({ database, node, clock, walletKey, thawSigner }: NodeBench): Promise<void> {
  const { key } = walletKey('refund', 0);
  const final = (await node.count(key))?.final ?? null;
  if (final !== null) await database.resumeLane(network, key, final, clock.nowMs());
  const act = { atMs: clock.nowMs(), operator: 'alice', command: 'payout thaw', reason: 'emptied by hand' };
  await thawAll(database, network, act);
  thawSigner();
}

for (const family of families) {
  test(`${family}: what goes to the wallet that pays now is recorded, and payouts go on once a person has looked`, async () => {
    const bench = await openFunded(family);
    const { sim, database, walletKey, passMinutes, planRefund, paid } = bench;
    const [former, later] = [walletKey('refund', 0).key, walletKey('refund', 1).key];
    await bench.payUnknown('by hand', later, 50n * USDT);
    await passMinutes(MINUTES);
    const moved = (await database.listOutgoing(network, 10)).filter(({ currency }) => currency === 'USDT');
    assert.equal(
      moved.map(({ from, to, state }) => [from, to, state]),
      [[former, later, 'recorded']],
    );
    // Tokens are all there; that the wallet sent something is known by its number, or by the fee.
    assert.is((await database.findFreeze(network))?.code, stops[family]);
    await endFreezes(bench);
    await planRefund('rf_1', thief[family], 2n * USDT);
    assert.equal(await passMinutes(MINUTES), Array(MINUTES).fill(null));
    assert.is((await database.findPayout('rf_1'))?.state, 'succeeded');
    assert.equal([paid(later, thief[family]), await database.listFreezes()], [[2n * USDT], []]);
    assert.is(sim.world.transfers().filter(({ from }) => from === former).length, 1);
  });

  test(`${family}: what goes to somebody else freezes the network until a person has looked, and not for ever`, async () => {
    const bench = await openFunded(family);
    const { sim, database, walletKey, passMinutes, planRefund, paid } = bench;
    const later = walletKey('refund', 1).key;
    sim.pay(later, 9n * USDT);
    await bench.payUnknown('stolen', thief[family], 50n * USDT);
    await passMinutes(MINUTES);
    const codes = (await database.listFreezes()).map(({ code }) => code);
    assert.ok(codes.includes('wallet_outflow_foreign'), codes.join());
    await planRefund('rf_1', thief[family], 2n * USDT);
    await passMinutes(2);
    assert.is((await database.findPayout('rf_1'))?.state, 'waiting');
    await endFreezes(bench);
    await passMinutes(MINUTES);
    assert.equal([await database.listFreezes(), (await database.findPayout('rf_1'))?.state], [[], 'succeeded']);
    assert.equal(paid(later, thief[family]), [2n * USDT]);
  });
}

test('solana: coins that are stolen in a transaction that also moves tokens to our other wallet are missed', async () => {
  const bench = await openFunded('solana');
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
  assert.is((await database.findFreeze(network))?.code, 'wallet_balance_short');
});

test('evm: a number that another call to our other wallet has used halts the former one', async () => {
  const bench = await openFunded('evm');
  const { sim, database, node, walletKey, passMinutes } = bench;
  const { key, secret } = walletKey('refund', 0);
  const { head } = (await node.count(key)) ?? { head: 0 };
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
      data: transferData(thief.evm, 1n),
    },
    secret,
  );
  assert.equal(await node.broadcast(bytes), { kind: 'accepted' });
  await passMinutes(4);
  assert.equal(
    (await database.haltedLanes()).map(({ payer, code }) => [payer, code]),
    [[key, 'payout_nonce_foreign']],
  );
  assert.ok(sim.world.accounts().native(key) < 100n * COIN.evm);
});

test.run();
