/**
 * Native coin that somebody else takes from the refund wallet, where transactions have no numbers that would tell: the
 * payout engine with the chain's own client in front of a simulated node, a real signing service and a real database.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { PublicKey, SystemProgram, TransactionMessage } from '@solana/web3.js';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createPayer } from '../../../indexers/payouts/engine.ts';
import { chains } from '../../../src/chains/index.ts';
import { solanaSpending } from '../../../src/chains/solana/spend.ts';
import { tronSpending } from '../../../src/chains/tron/spend.ts';
import { Fault } from '../../../src/core/fault.ts';
import { SHORT_MS } from '../../../src/core/wallet-books.ts';
import { openLog } from '../../../src/lib/log.ts';
import { approverOf } from '../../../src/signer/approval.ts';
import { handClock } from '../../support/hand-clock.ts';
import { askRpc, type SimulatedNode, startSimulatedNode } from '../../support/simulated-node.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { makeSignerFolder, openSigningServiceIn, seed } from '../../support/temp-signer.ts';
import { simulatedChains, testNetwork } from '../../support/test-network.ts';

type Family = 'tron' | 'solana';
const spendings = { tron: tronSpending, solana: solanaSpending } as const;
const COIN = { tron: 1_000_000n, solana: 1_000_000_000n } as const;
const READ_MS = 61_000;
const network = 'test:one';
const closers: (() => unknown)[] = [];
test.after(async () => {
  for (const close of closers.reverse()) await close();
});

const thief = { tron: 'dd'.repeat(20), solana: solanaSpending.derive(new Uint8Array(64).fill(9), { role: 'gas' }).key };

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

async function openBench(family: Family) {
  const clock = handClock(1_795_000_000_000);
  const { chainId, tokens } = simulatedChains[family];
  const sim = await startSimulatedNode({ family, seed: 'theft', chainId, tokens, clock });
  const { database, close } = openTempDatabase();
  const treasury = spendings[family].derive(new Uint8Array(64).fill(3), { role: 'collection', index: 0 }).key;
  const settings = {
    family,
    chain_id: chainId,
    tokens: [...tokens],
    treasury: chains[family].address.format(treasury),
    fee_max: family === 'tron' ? '50' : '0.05',
    caps: Object.fromEntries(tokens.map(({ symbol }) => [symbol, { transaction: '100', hour: '100', day: '100' }])),
    gas_caps: { transaction: '1', day: '1' },
  };
  const approvers = [{ name: 'Anna', key: approverOf(new Uint8Array(32).fill(1)) }];
  const folder = makeSignerFolder({ version: 1, approvers, networks: { [network]: settings } }, false);
  const opened = openSigningServiceIn(folder.dir, clock, undefined, new Map([[family, spendings[family]]]));
  const { service } = opened;
  const payouts = await chains[family].payouts?.();
  assert.ok(payouts);
  const limits = { finalDepth: 10, requestTimeoutMs: 5_000, responseBytesMax: 1 << 20 };
  const node = payouts.openPayoutNode({ url: sim.httpUrl, chainId, tokens, ...limits });
  closers.push(
    () => sim.close(),
    close,
    folder.remove,
    opened.close,
    () => node.close(),
  );
  const block = { hash: 'b0', parent: '', number: 0, timeS: 0 };
  const payer = createPayer({
    network: testNetwork({ name: 'one', family, tokens }),
    rules: chains[family].spendRules,
    node,
    chainNode: { head: async () => block, finalized: async () => block },
    signer: {
      wallets: async (key) => service.wallets(key),
      addresses: async (key, indices) => service.addresses(key, indices),
      refundLock: async (key, id) => service.refundLock(key, id),
      sign: async (request) => service.sign(request),
      journal: async (key, after, limit) => service.journal(key, after, limit),
      fence: async (key) => service.fence(key),
      freezeState: async () => service.freezeState(),
      freeze: async (reason, by) => service.freeze(reason, by),
      close: async () => {},
    },
    secondOpinion: async () => [],
    database,
    clock,
    log: openLog('test', 'silent'),
  });
  const wallet = spendings[family].derive(seed, { role: 'refund' }).key;

  /** Lets time pass and blocks come, and lets the engine run once. @returns the code of what it reports */
  async function pass(ms: number): Promise<string | null> {
    clock.advance(ms);
    sim.world.mine();
    const at = { network, state: 'following', reason: null, headNumber: 1, nodeConnected: true } as const;
    const nowMs = clock.nowMs();
    await database.reportNetwork({ ...at, nodeHeardAtMs: nowMs, readThroughS: 0, pid: 1, nowMs });
    const fault = await payer.look().catch((error: unknown) => {
      if (error instanceof Fault) return error;
      throw error;
    });
    return fault?.code ?? null;
  }
  return { sim, database, service, node, clock, wallet, pass };
}

for (const family of ['tron', 'solana'] as const) {
  test(`${family}: native coin that leaves the refund wallet without a payout freezes money out, and the signer`, async () => {
    const { sim, database, service, node, clock, wallet, pass } = await openBench(family);
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
