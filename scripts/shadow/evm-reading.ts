/**
 * The second reading of an EVM block: its receipts, all at once or one by one, where the follower asks for logs.
 * @module
 */
import * as z from 'zod';
import type { NodeOptions } from '../../src/chains/chain.ts';
import { errorFault, openEvmRpc, resultOf } from '../../src/chains/evm/node/rpc.ts';
import type { BlockRef } from '../../src/core/block.ts';
import type { Currency } from '../../src/core/transfer.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { SecondTransfer } from './difference.ts';
import { blockUnknown, contradictory, expectShape, type SecondReading } from './reading.ts';

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
/** The last 20 of a topic's 32 bytes are the address. */
const ADDRESS_AT = 26;

const hex = z
  .string()
  .regex(/^0x[0-9a-f]*$/i)
  .toLowerCase();
const block = z.object({ hash: hex, transactions: z.array(hex) });
const log = z.object({ address: hex, topics: z.array(hex), data: hex, logIndex: hex });
const receipt = z.object({
  transactionHash: hex,
  blockHash: hex,
  status: z.enum(['0x0', '0x1']),
  logs: z.array(log),
});
type Receipt = z.infer<typeof receipt>;

/** Opens a connection of its own. @throws Fault permanent `node_url_invalid` */
export function openEvmReading(options: NodeOptions, clock: Clock): SecondReading {
  const { rpc, transport, host } = openEvmRpc(options, clock);
  const tokens = new Map(options.tokens.map(({ address, symbol }) => [address.toLowerCase(), symbol]));
  let hasBlockReceipts = true;

  async function receiptsOf(hash: string, txs: readonly string[]): Promise<unknown> {
    if (hasBlockReceipts) {
      const method = 'eth_getBlockReceipts';
      const answer = await rpc.attempt(method, [hash]);
      if (answer.ok) return answer.result;
      const fault = errorFault(answer.error, { method, host });
      if (fault.code !== 'node_method_missing') throw fault;
      hasBlockReceipts = false;
    }
    const method = 'eth_getTransactionReceipt';
    const answers = await rpc.batch(txs.map((tx) => ({ method, params: [tx] })));
    return answers.map((answer) => resultOf(answer, { method, host }));
  }

  async function read(ref: BlockRef): Promise<SecondTransfer[]> {
    const found = await rpc.call('eth_getBlockByHash', [ref.hash, false]);
    if (found === null) throw blockUnknown(ref, host);
    const { hash, transactions } = expectShape(block, found, 'a block');
    const answer = await receiptsOf(ref.hash, transactions);
    if (answer === null) throw blockUnknown(ref, host);
    const receipts = expectShape(z.array(receipt), answer, 'a list of receipts');
    const isWhole =
      hash === ref.hash &&
      receipts.length === transactions.length &&
      receipts.every(
        ({ transactionHash, blockHash }, at) => transactionHash === transactions[at] && blockHash === hash,
      );
    if (!isWhole) throw contradictory(ref, 'receipts that are not those of its transactions');
    return receipts.flatMap((one) => transfersOf(one, tokens));
  }

  return { method: 'eth_getBlockReceipts', read, close: transport.close };
}

function transfersOf(
  { transactionHash: tx, status, logs }: Receipt,
  tokens: ReadonlyMap<string, Currency>,
): SecondTransfer[] {
  if (status === '0x0') return [];
  return logs.flatMap(({ address, topics, data, logIndex }) => {
    const currency = tokens.get(address);
    const [topic, from, to, ...more] = topics;
    if (!currency || topic !== TRANSFER || from === undefined || to === undefined || more.length > 0) return [];
    const units = BigInt(data);
    if (units === 0n) return [];
    const index = Number.parseInt(logIndex, 16);
    return [{ tx, index, currency, from: from.slice(ADDRESS_AT), to: to.slice(ADDRESS_AT), units }];
  });
}
