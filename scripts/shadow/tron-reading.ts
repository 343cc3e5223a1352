/**
 * The second reading of a TRON block: the block by its id, and the infos of its contract calls one by one, where the
 * follower asks for the block by height and for all infos at once.
 * @module
 */
import PQueue from 'p-queue';
import * as z from 'zod';
import type { NodeOptions } from '../../src/chains/chain.ts';
import { tronAddress } from '../../src/chains/tron/address.ts';
import { openTronRpc } from '../../src/chains/tron/node/rpc.ts';
import type { BlockRef } from '../../src/core/block.ts';
import { transient } from '../../src/core/fault.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { SecondTransfer } from './difference.ts';
import { blockUnknown, contradictory, expectShape, type SecondReading } from './reading.ts';

const BLOCK = '/wallet/getblock';
const INFO = '/wallet/gettransactioninfobyid';
const TRANSFER = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
/** The last 20 of a topic's 32 bytes are the address. */
const ADDRESS_AT = 24;
/** Only these run a contract, and only contracts write logs. */
const CONTRACT_CALLS: readonly string[] = ['TriggerSmartContract', 'CreateSmartContract'];
/** A block has hundreds of infos; the follower's requests to the same node should not wait for them. */
const INFOS_AT_ONCE_MAX = 8;

const transaction = z.object({
  txID: z.string(),
  ret: z.array(z.object({ contractRet: z.string().optional() })).default([]),
  raw_data: z.object({ contract: z.array(z.object({ type: z.string() })).default([]) }),
});
const block = z.object({ blockID: z.string(), transactions: z.array(transaction).default([]) });
const log = z.object({ address: z.string(), topics: z.array(z.string()).default([]), data: z.string().default('') });
const info = z.object({
  id: z.string(),
  blockNumber: z.number().default(0),
  result: z.string().optional(),
  receipt: z.object({ result: z.string().optional() }).default({}),
  log: z.array(log).default([]),
});
type Info = z.infer<typeof info>;

const isEmpty = (value: unknown): boolean => JSON.stringify(value) === '{}';

/** Opens a connection of its own. @throws Fault permanent `node_url_invalid` */
export function openTronReading(options: NodeOptions, clock: Clock): SecondReading {
  const { ask, host, transport } = openTronRpc(options, clock);
  const tokens = new Map(options.tokens.map(({ address, symbol }) => [tronAddress.parse(address), symbol]));
  const infos = new PQueue({ concurrency: INFOS_AT_ONCE_MAX });

  async function infoOf(ref: BlockRef, txID: string): Promise<Info> {
    const answer = await ask({ path: INFO, body: { value: txID } });
    if (isEmpty(answer)) throw transient('node_infos_missing', `the second reading: ${host} has no info of ${txID}`);
    const found = expectShape(info, answer, 'a transaction info');
    if (found.id !== txID || found.blockNumber !== ref.number) {
      throw contradictory(ref, `the info of ${found.id} in block ${found.blockNumber} instead of ${txID}`);
    }
    return found;
  }

  function transfersOf({ txID, ret }: z.infer<typeof transaction>, one: Info, firstIndex: number): SecondTransfer[] {
    const hasSucceeded =
      ret[0]?.contractRet === 'SUCCESS' && one.receipt.result === 'SUCCESS' && one.result !== 'FAILED';
    if (!hasSucceeded) return [];
    return one.log.flatMap(({ address, topics, data }, at) => {
      const currency = tokens.get(address);
      const [topic, from, to, ...more] = topics;
      if (!currency || topic !== TRANSFER || from === undefined || to === undefined || more.length > 0) return [];
      const units = BigInt(`0x${data}`);
      if (units === 0n) return [];
      const index = firstIndex + at;
      return [{ tx: txID, index, currency, from: from.slice(ADDRESS_AT), to: to.slice(ADDRESS_AT), units }];
    });
  }

  async function read(ref: BlockRef): Promise<SecondTransfer[]> {
    // The first block's transactions were never executed.
    if (ref.number === 0) return [];
    const answer = await ask({ path: BLOCK, body: { id_or_num: ref.hash, detail: true } });
    if (isEmpty(answer)) throw blockUnknown(ref, host);
    const { blockID, transactions } = expectShape(block, answer, 'a block');
    if (blockID !== ref.hash) throw blockUnknown(ref, host);
    const calls = transactions.filter(({ raw_data: raw }) => CONTRACT_CALLS.includes(raw.contract[0]?.type ?? ''));
    const answers = await infos.addAll(
      calls.map(
        ({ txID }) =>
          () =>
            infoOf(ref, txID),
      ),
    );
    let index = 0;
    return calls.flatMap((call, at) => {
      const one = answers[at];
      if (!one) return [];
      const found = transfersOf(call, one, index);
      index += one.log.length;
      return found;
    });
  }

  return { method: 'gettransactioninfobyid', read, close: transport.close };
}
