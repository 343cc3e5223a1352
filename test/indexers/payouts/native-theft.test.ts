/**
 * Native coin that somebody else takes from the refund wallet, where transactions have no numbers that would tell: the
 * payout engine with the chain's own client in front of a simulated node, a real signing service and a real database.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { PublicKey, SystemProgram, TransactionMessage } from '@solana/web3.js';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { solanaSpending } from '../../../src/chains/solana/spend.ts';
import { tronSpending } from '../../../src/chains/tron/spend.ts';
import { SHORT_MS } from '../../../src/core/wallet-books.ts';
import { askRpc, type SimulatedNode } from '../../support/simulated-node.ts';
import { seed } from '../../support/temp-signer.ts';
import { simulatedChains } from '../../support/test-network.ts';
import { COIN, closeBenches, network, openNodeBench, READ_MS, thief } from './node-bench.ts';

type Family = 'tron' | 'solana';
test.after(closeBenches);

/** Returns a transfer of native coin that the refund wallet's key has signed elsewhere. */
const steal: Readonly<Record<Family, (sim: SimulatedNode, units: bigint, nowMs: number) => Promise<Uint8Array>>> = {
  async tron({ httpUrl }, units, nowMs) {
    const block = await (await fetch(`${httpUrl}/wallet/getnowblock`, { method: 'POST' })).json();
    const { blockID, block_header: header } = block as {
      blockID: string;
      block_header: { raw_data: { number: number } };
    };
    const terms = {
      ref_block_number: String(header.raw_data.number),
      ref_block_hash: blockID.slice(16, 32),
      timestamp_ms: String(nowMs),
      expiration_ms: String(nowMs + 60_000),
      fee_limit: '0',
    };
    const { chainId, tokens } = simulatedChains.tron;
    const place = { chainId, tokens, treasury: thief.tron, feeUnitsMax: 100n * COIN.tron };
    const intent = { kind: 'gas', id: 'ga_1', network, form: 'transfer', index: 0, units } as const;
    const receiver = { ...tronSpending.derive(seed, { role: 'collection', index: 0 }), key: thief.tron };
    const keys = [tronSpending.derive(seed, { role: 'refund' }), receiver];
    return tronSpending.sign({ network: place, intent, terms }, keys).bytes;
  },
  async solana({ httpUrl }, units) {
    const { result } = await askRpc(httpUrl, 'getLatestBlockhash', []);
    const { blockhash } = (result as { value: { blockhash: string } }).value;
    const { key, secret } = solanaSpending.derive(seed, { role: 'refund' });
    const [from, to] = [key, thief.solana].map((hex) => new PublicKey(Buffer.from(hex, 'hex'))) as [
      PublicKey,
      PublicKey,
    ];
    const instructions = [SystemProgram.transfer({ fromPubkey: from, toPubkey: to, lamports: units })];
    const content = { payerKey: from, recentBlockhash: blockhash, instructions };
    const message = new TransactionMessage(content).compileToLegacyMessage().serialize();
    return new Uint8Array(Buffer.concat([Buffer.of(1), ed25519.sign(message, secret), message]));
  },
};

for (const family of ['tron', 'solana'] as const) {
  test(`${family}: native coin that leaves the refund wallet without a payout freezes money out, and the signer`, async () => {
    const { sim, database, service, node, clock, walletKey, pass } = await openNodeBench(family);
    const wallet = walletKey('refund', 0).key;
    const held = () => sim.world.accounts().native(wallet);
    sim.world.fund(wallet, 10n * COIN[family]);
    assert.is(await pass(READ_MS), null);
    // What an operator adds is no reason; it is expected from now on.
    sim.world.fund(wallet, 5n * COIN[family]);
    for (let n = 0; n < 5; n++) assert.is(await pass(READ_MS), null);
    const before = held();
    const stolen = await steal[family](sim, 7n * COIN[family], clock.nowMs());
    assert.equal(await node.broadcast(stolen), { kind: 'accepted' });
    assert.is(await pass(READ_MS), null, 'one reading may be that of a node that is behind');
    assert.ok(before - held() >= 7n * COIN[family]);
    let lastedMs = 0;
    for (; lastedMs < 2 * SHORT_MS && (await database.findFreeze(network)) === null; lastedMs += READ_MS)
      await pass(READ_MS);
    assert.ok(lastedMs >= SHORT_MS - READ_MS, `after ${lastedMs} ms`);
    assert.is((await database.findFreeze(network))?.code, 'wallet_balance_short');
    const alarm = (await database.listAlarms(10)).find(({ code }) => code === 'wallet_balance_short');
    assert.match(alarm?.message ?? '', `payouts thaw ${network} --because`);
    await pass(READ_MS);
    assert.match(service.freezeState().freeze?.reason ?? '', 'have left the wallets, and no payout explains it');
    const [entry] = await database.listAudit(1);
    assert.equal([entry?.command, entry?.operator], ['payouts freeze', 'quayside']);
  });
}

test.run();
