/**
 * Native coin that somebody else takes from the refund wallet, where transactions have no numbers that would tell: the
 * payout engine with the chain's own client in front of a simulated node, a real signing service and a real database.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { PublicKey, SystemProgram, TransactionMessage } from '@solana/web3.js';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { adoptPayouts } from '../../../indexers/payouts/adoption.ts';
import { chains } from '../../../src/chains/index.ts';
import { solanaSpending } from '../../../src/chains/solana/spend.ts';
import { tronSpending } from '../../../src/chains/tron/spend.ts';
import { SHORT_MS } from '../../../src/core/wallet-books.ts';
import { askRpc, type SimulatedNode } from '../../support/simulated-node.ts';
import { seed } from '../../support/temp-signer.ts';
import { simulatedChains } from '../../support/test-network.ts';
import { COIN, closeBenches, type NodeBenchOptions, network, openNodeBench, READ_MS, thief } from './node-bench.ts';

type Family = 'tron' | 'solana';
const USDT = 1_000_000n;
/** Until what is sent now is final, and a little more. */
const FINAL_MS = { tron: 30_000, solana: 4_000 } as const;
const payee = {
  tron: 'cc'.repeat(20),
  solana: solanaSpending.derive(new Uint8Array(64).fill(8), { role: 'gas' }).key,
} as const;
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

/** A wallet with coins, and a thief with its key. */
async function openRich(family: Family, options: NodeBenchOptions = {}) {
  const bench = await openNodeBench(family, options);
  const { sim, walletKey, pass } = bench;
  const wallet = walletKey('refund', 0).key;
  sim.world.fund(wallet, 300n * COIN[family]);
  sim.pay(wallet, 50n * USDT);
  assert.is(await pass(READ_MS), null);
  // What an operator adds is no reason; it is expected from now on.
  sim.world.fund(wallet, 5n * COIN[family]);
  for (let n = 0; n < 5; n++) assert.is(await pass(READ_MS), null);
  return { ...bench, wallet, codes: async () => (await bench.database.listFreezes()).map(({ code }) => code) };
}

/** Gives every table the rows that it has in a backup, under an open database. */
function putBackRows(raw: Sqlite.Database, backup: string): void {
  raw.pragma('foreign_keys = OFF');
  raw.prepare('ATTACH ? AS backup').run(backup);
  const isTable = "type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'audit_log'";
  const names = raw.prepare(`SELECT name FROM backup.sqlite_schema WHERE ${isTable}`).pluck().all() as string[];
  const sql = names.map((name) => {
    // Columns that are computed are not among these.
    const columns = (raw.pragma(`table_info("${name}")`) as { name: string }[]).map((one) => `"${one.name}"`).join();
    return `DELETE FROM main."${name}"; INSERT INTO main."${name}" (${columns}) SELECT ${columns} FROM backup."${name}";`;
  });
  raw.exec(`BEGIN; ${sql.join('')} COMMIT`);
}

for (const family of ['tron', 'solana'] as const) {
  test(`${family}: native coin sent to somebody freezes money out, and the signer, once it is final`, async () => {
    const { sim, database, service, node, clock, wallet, pass, codes } = await openRich(family);
    const held = () => sim.world.accounts().native(wallet);
    const before = held();
    const stolen = await steal[family](sim, 7n * COIN[family], clock.nowMs());
    assert.equal(await node.broadcast(stolen), { kind: 'accepted' });
    await pass(FINAL_MS[family]);
    assert.ok(before - held() >= 7n * COIN[family]);
    assert.equal(await codes(), ['wallet_outflow_foreign']);
    const [transfer] = await database.listForeign(network, 9);
    assert.equal([transfer?.currency, transfer?.from, transfer?.to], ['native', wallet, thief[family]]);
    const alarm = (await database.alarms.list(10)).find(({ code }) => code === 'wallet_outflow_foreign');
    assert.match(alarm?.message ?? '', `Transaction ${transfer?.tx} in block`);
    assert.match(alarm?.message ?? '', `payout reconcile ${network} --reason`);
    await pass(FINAL_MS[family]);
    assert.match(service.freezeState().freeze?.reason ?? '', 'moved money out of the refund wallet');
    assert.equal(
      (await database.audit.list(9)).map(({ command, operator }) => [command, operator]),
      [['payout freeze', 'quayside']],
    );
    assert.is(transfer?.units, before - held(), 'with the fee');
    for (let n = 0; n < 5; n++) await pass(READ_MS);
    assert.equal(await codes(), ['wallet_outflow_foreign'], 'what was reported is not missing besides');
  });

  test(`${family}: native coin that is gone without a transfer freezes money out, and the signer, after three minutes`, async () => {
    const { sim, database, service, wallet, pass, codes } = await openRich(family);
    sim.world.fund(wallet, -7n * COIN[family]);
    assert.is(await pass(READ_MS), null, 'one reading may be that of a node that is behind');
    let lastedMs = 0;
    for (; lastedMs < 2 * SHORT_MS && (await codes()).length === 0; lastedMs += READ_MS) await pass(READ_MS);
    assert.ok(lastedMs >= SHORT_MS - READ_MS, `after ${lastedMs} ms`);
    assert.equal(await codes(), ['wallet_balance_short']);
    const alarm = (await database.alarms.list(10)).find(({ code }) => code === 'wallet_balance_short');
    assert.match(alarm?.message ?? '', `payout reconcile ${network} --reason`);
    await pass(READ_MS);
    assert.match(service.freezeState().freeze?.reason ?? '', 'has left the wallets, and no payout explains it');
  });

  test(`${family}: more native coin than its fee may be is missed while a payout's fee is not known here`, async () => {
    const { sim, database, file, signer, clock, wallet, pass, planRefund, restart, codes } = await openRich(family, {
      // The outcome stays unknown.
      through: (node) => ({
        ...node,
        broadcast: async () => ({ kind: 'accepted' }),
        outcome: async () => ({ kind: 'waiting', included: null }),
      }),
    });
    await planRefund('rf_1', payee[family], 2n * USDT);
    await pass(READ_MS);
    assert.is((await signer.journal(network, 0, 9)).length, 1);
    // A backup from before it is restored, and what the signer has signed since is adopted.
    const raw = new Sqlite(file);
    raw.exec('DELETE FROM payout_attempts; DELETE FROM payouts; UPDATE payout_engines SET journal_id = 0');
    raw.close();
    restart();
    assert.is(await pass(READ_MS), 'payouts_not_adopted');
    const rules = chains[family].spendRules;
    await adoptPayouts({ network, rules, signer, database, nowMs: clock.nowMs() });
    restart();
    for (let n = 0; n < 6; n++) await pass(READ_MS);
    const [attempt] = await database.listPayoutAttempts('rf_1');
    assert.equal([attempt?.feeUnitsMax, attempt?.feeUnits], [0n, null]);
    assert.equal(await codes(), []);
    const { feeUnitsMax = 0n } = await signer.wallets(network);
    sim.world.fund(wallet, -feeUnitsMax);
    for (let n = 0; n < 5; n++) await pass(READ_MS);
    assert.equal(await codes(), [], 'it may have cost that');
    sim.world.fund(wallet, -7n * COIN[family]);
    for (let n = 0; n < 5; n++) await pass(READ_MS);
    assert.equal(await codes(), ['wallet_balance_short']);
  });

  test(`${family}: the fee of a generation that failed is no loss after a backup from before it is restored and adopted`, async () => {
    const bench = await openRich(family);
    const { sim, database, file, signer, clock, wallet, pass, look, advance, planRefund, restart, codes } = bench;
    await planRefund('rf_1', payee[family], 2n * USDT);
    const backup = `${file}.backup`;
    const raw = new Sqlite(file);
    raw.prepare('VACUUM INTO ?').run(backup);
    const before = sim.world.accounts().native(wallet);
    sim.faults.set({ rates: { send_failed: 1 } });
    await look();
    sim.faults.heal();
    const find = () => database.findPayout('rf_1');
    for (let n = 0; n < 20 && (await find())?.state !== 'succeeded'; n++) {
      advance(READ_MS);
      await look();
    }
    assert.equal([(await find())?.state, (await find())?.generation], ['succeeded', 1]);
    const fee = before - sim.world.accounts().native(wallet) - ((await find())?.feeUnits ?? 0n);
    putBackRows(raw, backup);
    raw.close();
    restart();
    assert.is(await pass(READ_MS), 'payouts_not_adopted');
    await adoptPayouts({ network, rules: chains[family].spendRules, signer, database, nowMs: clock.nowMs() });
    restart();
    for (let n = 0; n < 8; n++) await pass(READ_MS);
    assert.equal([(await find())?.state, await codes()], ['succeeded', []]);
    const [failed] = await database.listPayoutAttempts('rf_1');
    assert.equal([failed?.generation, failed?.feeUnits], [0, family === 'tron' ? fee : failed?.feeUnits]);
    assert.ok((failed?.feeUnits ?? 0n) > 0n);
    const { unbalanced, differences } = await database.verifyLedger();
    assert.equal([unbalanced, differences], [[], []]);
  });
}

test.run();
