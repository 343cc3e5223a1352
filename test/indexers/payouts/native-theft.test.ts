/**
 * Native coin that somebody else takes from the refund wallet, where transactions have no numbers that would tell: the
 * payout engine with the chain's own client in front of a simulated node, a real signing service and a real database.
 */
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { adoptPayouts } from '../../../indexers/payouts/journal.ts';
import { chains } from '../../../src/chains/index.ts';
import { solanaSpending } from '../../../src/chains/solana/spend.ts';
import { SHORT_MS } from '../../../src/core/wallet-books.ts';
import { COIN, closeBenches, type NodeBenchOptions, network, openNodeBench, READ_MS } from './node-bench.ts';

type Family = 'tron' | 'solana';
const USDT = 1_000_000n;
const payee = {
  tron: 'cc'.repeat(20),
  solana: solanaSpending.derive(new Uint8Array(64).fill(8), { role: 'gas' }).key,
} as const;
test.after(closeBenches);

/** A wallet with coins. */
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
  return { ...bench, wallet, codes: async () => (await bench.database.holds.list()).map(({ code }) => code) };
}

for (const family of ['tron', 'solana'] as const) {
  test(`${family}: native coin that is gone freezes money out, and the signer, after three minutes`, async () => {
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
    await adoptPayouts({ network, rules, signer, payouts: database.payouts, nowMs: clock.nowMs() });
    restart();
    for (let n = 0; n < 6; n++) await pass(READ_MS);
    const [attempt] = await database.payouts.attempts('rf_1');
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
}

test.run();
