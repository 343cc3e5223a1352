/** A bench for the family's own tests of payouts, on anvil. A block is final when four are on top of it. */
import { Wallet as EthersWallet } from 'ethers';
import { evmSpending } from '../../../src/chains/evm/spend.ts';
import type { PayoutNodeOptions } from '../../../src/chains/spend.ts';
import { startAnvil } from '../../support/anvil.ts';
import { withClient } from '../payout-bench.ts';
import type { SeedWallets } from '../seed-wallets.ts';
import { ETHER, makeContractPayouts } from './contract-payouts.ts';

const CHAIN_ID = 31_337;
/** Far more than the blocks that the chain itself needs. */
const FINAL_DEPTH = 12;

export async function makePayoutBench() {
  const anvil = await startAnvil({ chainId: CHAIN_ID, slotsInAnEpoch: 2 });
  const contracts = await makeContractPayouts(anvil, 4);
  const open = (more: Partial<PayoutNodeOptions> = {}) => contracts.open({ finalDepth: FINAL_DEPTH, ...more });
  const bench = withClient({ ...contracts, open });
  return {
    ...bench,
    anvil,
    /** Wallets of a seed whose refund wallet holds an ether, 1000 USDT and 1000 USDC. */
    async openFundedWallets(): Promise<SeedWallets> {
      const wallets = await bench.openFundedWallets();
      await bench.usdc.transfer(`0x${wallets.keyOf({ role: 'refund' })}`, 1_000n * ETHER);
      await anvil.mine();
      return wallets;
    },
    /** Puts something else that the refund wallet's key signs with a nonce into the pool. */
    async spendElsewhere(wallets: SeedWallets, nonce: number): Promise<void> {
      const { secret } = evmSpending.derive(wallets.seed, { role: 'refund' });
      const thief = new EthersWallet(`0x${Buffer.from(secret).toString('hex')}`);
      const raw = await thief.signTransaction({
        type: 2,
        chainId: CHAIN_ID,
        nonce,
        to: `0x${'99'.repeat(20)}`,
        value: 1n,
        gasLimit: 21_000n,
        maxFeePerGas: 10n ** 11n,
        maxPriorityFeePerGas: 10n ** 10n,
      });
      await anvil.sendRaw(raw);
    },
  };
}
