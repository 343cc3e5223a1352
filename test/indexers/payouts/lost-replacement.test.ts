/**
 * A payout is sent; a later run, of which nothing is known any more, pays more for its number, and that is what gets
 * into a block.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { evmSpending } from '../../../src/chains/evm/spend.ts';
import type { PayoutNode, SpendKey } from '../../../src/chains/spend.ts';
import type { Intent } from '../../../src/core/intent.ts';
import { isRefused, type Terms } from '../../../src/core/spend.ts';
import { refundOf } from '../../support/temp-signer.ts';
import { simulatedChains } from '../../support/test-network.ts';
import { COIN, closeBenches, network, openNodeBench, thief } from './node-bench.ts';

const USDT = 1_000_000n;
/** Below the base fee of every block. */
const tooLow: Terms = { max_fee_per_gas: '500000000', max_priority_fee_per_gas: '1' };
const dear: Terms = { max_fee_per_gas: '5000000000', max_priority_fee_per_gas: '2000000' };
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
  const { sim, database, node, tokens, treasury, walletKey, passMinutes } = bench;
  for (const role of ['refund', 'gas'] as const) sim.world.fund(walletKey(role, 0).key, 100n * COIN.evm);
  sim.pay(walletKey('refund', 0).key, 50n * USDT);
  await passMinutes(1);
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
    async find(id: string) {
      const payout = await database.findPayout(id);
      assert.ok(payout);
      return payout;
    },
  };
}

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

test.run();
