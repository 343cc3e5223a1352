/**
 * Somebody else takes native coin from the refund wallet, where transactions have no numbers that would tell; or tokens
 * while money out is frozen already. That is a freeze of its own, so the end of the other freeze lets nothing out.
 */
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { adoptPayouts } from '../../../indexers/payouts/journal.ts';
import { chains } from '../../../src/chains/index.ts';
import type { NetworkKey } from '../../../src/core/transfer.ts';
import { SHORT_MS } from '../../../src/core/wallet-books.ts';
import { has } from '../../support/fields.ts';
import { COIN, closeBenches, type NodeBenchOptions, network, openNodeBench, READ_MS, thief } from './node-bench.ts';

type Family = 'tron' | 'solana';
const USDT = 1_000_000n;
const payee = 'cc'.repeat(20);
test.after(closeBenches);

/** A wallet with coins. */
async function openRich(family: Family, options: NodeBenchOptions = {}) {
  const bench = await openNodeBench(family, options);
  const { sim, walletKey, pass } = bench;
  const wallet = walletKey('refund', 0).key;
  sim.world.fund(wallet, 300n * COIN[family]);
  sim.pay(wallet, 50n * USDT);
  assert.is(await pass(READ_MS), null);
  // A reason that an operator adds is none; it is expected from now on.
  sim.world.fund(wallet, 5n * COIN[family]);
  for (let n = 0; n < 5; n++) assert.is(await pass(READ_MS), null);
  return { ...bench, wallet, codes: async () => (await bench.database.holds.list()).map(({ code }) => code) };
}

for (const family of ['tron', 'solana'] as const) {
  test(`${family}: native coin that is gone freezes money out, and the signer, after three minutes`, async () => {
    const { sim, service, wallet, pass, codes } = await openRich(family);
    sim.world.fund(wallet, -7n * COIN[family]);
    assert.is(await pass(READ_MS), null, 'one reading may be that of a node that is behind');
    let lastedMs = 0;
    for (; lastedMs < 2 * SHORT_MS && (await codes()).length === 0; lastedMs += READ_MS) await pass(READ_MS);
    assert.ok(lastedMs >= SHORT_MS - READ_MS, `after ${lastedMs} ms`);
    assert.equal(await codes(), ['wallet_balance_short']);
    await pass(READ_MS);
    assert.match(service.freezeState().freeze?.reason ?? '', 'less than the books say');
  });
}

test('more native coin than its fee may be is missed while a payout’s fee is not known here', async () => {
  const { sim, database, file, signer, clock, wallet, pass, planRefund, restart, codes } = await openRich('tron', {
    // The outcome stays unknown.
    through: (node) => ({
      ...node,
      broadcast: async () => ({ kind: 'accepted' }),
      outcome: async () => ({ kind: 'waiting', included: null }),
    }),
  });
  await planRefund('rf_1', payee, 2n * USDT);
  await pass(READ_MS);
  assert.is((await signer.journal(network, 0, 9)).length, 1);
  // A backup from before it is restored, and what the signer has signed since is adopted.
  const raw = new Sqlite(file);
  raw.exec('DELETE FROM payout_attempts; DELETE FROM payouts; UPDATE payout_engines SET journal_id = 0');
  raw.close();
  restart();
  assert.is(await pass(READ_MS), 'payouts_not_adopted');
  const rules = chains.tron.spendRules;
  await adoptPayouts({ network, rules, signer, payouts: database.payouts, nowMs: clock.nowMs() });
  restart();
  for (let n = 0; n < 6; n++) await pass(READ_MS);
  has((await database.payouts.attempts('rf_1'))[0], { feeUnitsMax: 0n, feeUnits: null });
  assert.equal(await codes(), []);
  const { feeUnitsMax = 0n } = await signer.wallets(network);
  sim.world.fund(wallet, -feeUnitsMax);
  for (let n = 0; n < 5; n++) await pass(READ_MS);
  assert.equal(await codes(), [], 'it may have cost that');
  sim.world.fund(wallet, -7n * COIN.tron);
  for (let n = 0; n < 5; n++) await pass(READ_MS);
  assert.equal(await codes(), ['wallet_balance_short']);
});

// ── While money out is frozen already ───────────────────────────────────────────────────────────────────────────────

/** A wallet with money, an operator who freezes and thaws, and a thief with its key. */
async function openOperated(family: 'evm' | Family) {
  const bench = await openNodeBench(family);
  const { sim, database, walletKey, pass, service, clock } = bench;
  const wallet = walletKey('refund', 0);
  sim.world.fund(wallet.key, 300n * COIN[family]);
  sim.pay(wallet.key, 50n * USDT);
  for (let n = 0; n < 3; n++) assert.is(await pass(READ_MS), null);
  const freezes = async () => (await database.holds.list()).map(({ network: of, code }) => `${of ?? 'all'} ${code}`);
  return {
    ...bench,
    freezes,
    isSignerFrozen: () => service.freezeState().freeze !== null,
    async freezeByHand(of: NetworkKey | null) {
      const freeze = { network: of, code: 'payouts_frozen', reason: 'maintenance', frozenBy: 'alice' };
      const act = { atMs: clock.nowMs(), operator: 'alice', command: 'payout freeze', reason: freeze.reason };
      assert.is(await database.holds.freeze({ ...freeze, sinceMs: clock.nowMs() }, act), true);
    },
    async thawByHand(of: NetworkKey | null) {
      const act = { atMs: clock.nowMs(), operator: 'alice', command: 'payout thaw', reason: 'it is done' };
      const isIt = ({ network: one, code }: { network: NetworkKey | null; code: string }) =>
        one === of && code === 'payouts_frozen';
      await database.holds.thaw({ freezes: (await database.holds.list()).filter(isIt), transfers: [] }, act);
    },
    async steal() {
      await bench.payUnknown('stolen', thief[family], 3n * USDT);
      for (let n = 0; n < 6; n++) await pass(READ_MS);
      assert.equal(bench.paid(wallet.key, thief[family]), [3n * USDT]);
    },
  };
}

for (const family of ['evm', 'tron', 'solana'] as const) {
  // Where transactions have no number, what the thief's transaction cost is missing too.
  const other = family === 'evm' ? 'payout_nonce_foreign' : 'wallet_balance_short';
  const found = [other, 'wallet_outflow_foreign'];
  const own = found.map((code) => `${network} ${code}`);

  test(`${family}: a theft while every network is frozen by an operator`, async () => {
    const { database, freezes, isSignerFrozen, freezeByHand, thawByHand, steal, planRefund, pass } =
      await openOperated(family);
    await freezeByHand(null);
    await steal();
    assert.equal((await freezes()).sort(), ['all payouts_frozen', ...own].sort());
    assert.is(isSignerFrozen(), true);
    const frozen = (await database.audit.list(9)).filter(
      ({ operator, command }) => operator === 'quayside' && command === 'payout freeze',
    );
    assert.equal(frozen.map(({ after }) => after?.code).sort(), found);
    await thawByHand(null);
    assert.equal((await freezes()).sort(), own);
    await planRefund('rf_9', thief[family], 2n * USDT);
    for (let n = 0; n < 4; n++) await pass(READ_MS);
    assert.is((await database.payouts.find('rf_9'))?.state, 'waiting', 'nothing leaves the stolen wallet');
    assert.is((await database.wallets.listForeign(network, 9)).length, 1, 'nobody has looked at it');
  });
}

test.run();
