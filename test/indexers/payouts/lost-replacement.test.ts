/**
 * A payout is sent; a later run, of which nothing is known any more, pays more for its number, and that is what gets
 * into a block.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { settleNever, settlePaid } from '../../../indexers/payouts/exits.ts';
import { explainNumbers } from '../../../indexers/payouts/halted-lanes.ts';
import { createPayoutWallets } from '../../../indexers/payouts/wallets.ts';
import { evmSpending } from '../../../src/chains/evm/spend.ts';
import { chains } from '../../../src/chains/index.ts';
import type { PayoutNode, SpendKey } from '../../../src/chains/spend.ts';
import { Fault } from '../../../src/core/fault.ts';
import type { Intent } from '../../../src/core/intent.ts';
import { isRefused, type Terms } from '../../../src/core/spend.ts';
import { refundOf } from '../../support/temp-signer.ts';
import { simulatedChains } from '../../support/test-network.ts';
import { COIN, closeBenches, network, openNodeBench, thief } from './node-bench.ts';

const USDT = 1_000_000n;
const GAS = 7n * 10n ** 15n;
/** Below the base fee of every block. */
const tooLow: Terms = { max_fee_per_gas: '500000000', max_priority_fee_per_gas: '1' };
const dear: Terms = { max_fee_per_gas: '5000000000', max_priority_fee_per_gas: '2000000' };
const rules = chains.evm.spendRules;
test.after(closeBenches);

/** A bench whose transactions are too cheap to be mined. */
async function openBench() {
  const through = (node: PayoutNode): PayoutNode => ({
    ...node,
    async quote(...of) {
      const quote = await node.quote(...of);
      return isRefused(quote) ? quote : { ...quote, terms: { ...quote.terms, ...tooLow }, feeUnitsMax: 1n };
    },
  });
  const bench = await openNodeBench('evm', { through });
  const { sim, database, node, signer, tokens, treasury, clock, walletKey, passMinutes } = bench;
  for (const role of ['refund', 'gas'] as const) sim.world.fund(walletKey(role, 0).key, 100n * COIN.evm);
  sim.pay(walletKey('refund', 0).key, 50n * USDT);
  await passMinutes(1);
  const wallets = createPayoutWallets({ network, tokens, rules, signer });
  const act = () => ({ atMs: clock.nowMs(), operator: 'anna', command: 'payout resolve', reason: 'put back' });
  return {
    ...bench,
    /** Signs with number 0 as the lost run did, and sends it. */
    async replace(intent: Intent, keys: readonly SpendKey[]): Promise<string> {
      const { chainId } = simulatedChains.evm;
      const terms = { nonce: '0', gas_limit: '100000', ...dear };
      const signed = evmSpending.sign(
        { network: { chainId, tokens, treasury, feeUnitsMax: 10n ** 30n }, intent, terms },
        keys,
      );
      assert.equal(await node.broadcast(signed.bytes), { kind: 'accepted' });
      return signed.tx;
    },
    parts: () => ({ node, wallets, rules, database, act: act(), isDryRun: false }),
    async find(id: string) {
      const payout = await database.findPayout(id);
      assert.ok(payout);
      return payout;
    },
    planGas: async (id: string, index: number) => {
      const intent = { kind: 'gas', id, network, form: 'transfer', index, units: GAS } as const;
      const nowMs = clock.nowMs();
      await database.planPayouts([{ intent, sessionId: null, servesId: null, notBeforeMs: nowMs, nowMs }]);
      return intent;
    },
  };
}

const codeOf = async (work: Promise<unknown>) =>
  work.then(
    () => 'settled',
    (error: unknown) => (error instanceof Fault ? error.code : String(error)),
  );

test('a refund that a lost replacement has paid is settled, and its wallet goes on without a command', async () => {
  const { database, planRefund, replace, walletKey, passMinutes, look, find, paid } = await openBench();
  const wallet = walletKey('refund', 0);
  await planRefund('rf_1', thief.evm, 3n * USDT);
  await look();
  assert.is((await find('rf_1')).state, 'sent');
  const tx = await replace(refundOf('rf_1', 3n * USDT, { network, to: thief.evm }), [wallet]);
  await passMinutes(4);
  assert.equal([(await find('rf_1')).state, (await find('rf_1')).tx], ['succeeded', tx]);
  assert.equal([await database.haltedLanes(), await database.listFreezes()], [[], []]);
  assert.equal(paid(wallet.key, thief.evm), [3n * USDT]);
});

for (const exit of ['settle', 'resume'] as const) {
  test(`gas that a lost replacement has sent is settled by ${exit}, and not sent again`, async () => {
    const { database, planGas, replace, walletKey, depositKey, passMinutes, look, find, parts, sim } =
      await openBench();
    const intent = await planGas('ga_1', 3);
    await look();
    assert.is((await find('ga_1')).state, 'sent');
    const tx = await replace(intent, [walletKey('gas', 0), depositKey(3)]);
    await passMinutes(4);
    assert.equal([(await find('ga_1')).state, (await find('ga_1')).wait?.code], ['stuck', 'payout_nonce_foreign']);
    const halted = await database.haltedLanes();
    assert.is(halted.length, 1);
    const never = settleNever(parts(), await find('ga_1'), false);
    assert.is(await codeOf(never), 'payout_was_paid');
    if (exit === 'settle') {
      const other = sim.pay(walletKey('refund', 0).key, 1n * USDT);
      assert.is(await codeOf(settlePaid(parts(), await find('ga_1'), String(other), false)), 'payout_not_shown');
      assert.is((await settlePaid(parts(), await find('ga_1'), tx, false)).kind, 'paid');
    } else {
      const { used } = await explainNumbers(parts(), halted);
      assert.equal(
        used.map(({ settles, spent }) => [settles, spent?.tx]),
        [['ga_1', tx]],
      );
    }
    assert.equal([(await find('ga_1')).state, (await find('ga_1')).tx], ['succeeded', tx]);
    const { unbalanced, differences } = await database.verifyLedger();
    assert.equal([unbalanced, differences], [[], []]);
  });
}

test.run();
