/**
 * `geth --dev`: a chain that makes a block each second by itself.
 */
import { type EvmNode, headOf } from '../support/evm-node.ts';
import { until } from '../support/until.ts';
import { accounts, openSender } from './accounts.ts';
import { receiptOf } from './driven-geth.ts';
import { startGeth } from './geth.ts';

/** geth's own, of `--dev`. */
const CHAIN_ID = 1337;
const FUNDS = '0x21e19e0c9bab2400000';

const unsupported = (): Promise<never> => Promise.reject(new Error('geth --dev makes its blocks as it likes'));

/** Starts it and funds the accounts out of the one that geth holds the key of. */
export async function startDevGeth(): Promise<EvmNode> {
  const geth = await startGeth(null, ['--dev', '--dev.period', '1']);
  const { rpc } = geth;
  const head = () => headOf({ rpc });
  const { send, sendRaw } = openSender(CHAIN_ID, rpc);

  async function mine(blocks = 1): Promise<void> {
    const { number } = await head();
    await until('geth has made the blocks', async () => {
      const { pending, queued } = await rpc<{ pending: string; queued: string }>('txpool_status');
      return (await head()).number >= number + blocks && Number(pending) + Number(queued) === 0;
    });
  }

  const [rich] = await rpc<readonly string[]>('eth_accounts');
  const fund = (to: string, value: string) => rpc('eth_sendTransaction', [{ from: rich, to, value }]);
  for (const to of accounts) await fund(to, FUNDS);
  await mine();
  return {
    ...geth,
    chainId: CHAIN_ID,
    accounts,
    send,
    sendRaw,
    mine,
    head,
    receipt: (tx) => receiptOf(rpc, tx),
    async give(address, wei) {
      await fund(address, `0x${wei.toString(16)}`);
      await mine();
    },
    mineEvery: unsupported,
    reorg: unsupported,
  };
}
