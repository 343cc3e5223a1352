/**
 * Money is stolen while money out is frozen already: that is a freeze of its own, and the signer is frozen for it. So
 * the end of the other freeze lets nothing out.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { NetworkKey } from '../../../src/core/transfer.ts';
import { COIN, closeBenches, network, openNodeBench, READ_MS, thief } from './node-bench.ts';

const USDT = 1_000_000n;
const payee = 'cc'.repeat(20);

test.after(closeBenches);

/** A wallet with money, an operator who freezes and thaws, and a thief with its key. */
async function open(family: 'evm' | 'tron') {
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

for (const family of ['evm', 'tron'] as const) {
  // Where transactions have no number, what the thief's transaction cost is missing too.
  const other = family === 'evm' ? 'payout_nonce_foreign' : 'wallet_balance_short';
  const found = [other, 'wallet_outflow_foreign'];
  const own = found.map((code) => `${network} ${code}`);

  test(`${family}: a theft while every network is frozen by an operator`, async () => {
    const { database, freezes, isSignerFrozen, freezeByHand, thawByHand, steal, planRefund, pass } = await open(family);
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
    await planRefund('rf_9', payee, 2n * USDT);
    for (let n = 0; n < 4; n++) await pass(READ_MS);
    assert.is((await database.payouts.find('rf_9'))?.state, 'waiting', 'nothing leaves the stolen wallet');
    const states = (await database.wallets.listOutgoing(network, 9)).map(({ state }) => state);
    assert.equal(states, ['foreign'], 'nobody has looked at it');
  });
}

test.run();
