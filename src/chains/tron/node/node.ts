/**
 * A connection to one java-tron node. The calls are the same over `http://` and `https://`, by polling, and over
 * `ws://` and `wss://`, through the bridge next to it (`quayside tron-ws`) with wake-ups.
 *
 * Methods used: getblock, gettransactioninfobyblocknum, gettransactioninfobyid, triggerconstantcontract, and getblock
 * and triggerconstantcontract of the solidified chain. Source:
 * https://tronprotocol.github.io/documentation-en/api/http/.
 */

import type { BlockRef } from '../../../core/block.ts';
import { type Fault, invariant, transient } from '../../../core/fault.ts';
import { isFields } from '../../../core/fields.ts';
import type { Token } from '../../../core/transfer.ts';
import { type Clock, systemClock } from '../../../lib/clock.ts';
import { readRange } from '../../block-range.ts';
import type { Attestation, Holdings, Node, NodeIdentity, NodeOptions, RawContent } from '../../chain.ts';
import { noContract, noDecimals, TOKEN_DECIMALS_MAX } from '../../token-contract.ts';
import { tronAddress, wireAddress } from '../address.ts';
import { errorFault, isUnknown, messageText, nonsense, readAnswer } from '../answer.ts';
import type { Answers, Call, Part } from '../calls.ts';
import { BLOCK_PATH, blockUnknown, INFOS_PATH, readHeader, readInfo } from '../wire.ts';
import { askHoldings } from './holdings.ts';
import { chainIdOf, openTronRpc, readHeaderAt, SOLID_BLOCK_PATH } from './rpc.ts';

const INFO_PATH = '/wallet/gettransactioninfobyid';
const CONSTANT_PATH = '/wallet/triggerconstantcontract';
/** The caller of `decimals()`, an address that nobody owns. */
const NOBODY = wireAddress('0'.repeat(40));

const blockCall = (idOrNumber: string | number, detail: boolean): Call => ({
  path: BLOCK_PATH,
  body: { id_or_num: String(idOrNumber), detail },
});

/**
 * Starts connecting to a bridge; connects to a node at the first request.
 * @throws Fault permanent `node_url_invalid`
 */
export function openNode(options: NodeOptions, clock: Clock = systemClock): Node {
  const { finalityUrl } = options;
  const node = openTronRpc(options, clock);
  const { host, transport, ask, askAll } = node;

  const readPart = (answers: Answers, part: Part, path: string): unknown =>
    readAnswer(answers.bytes.subarray(part.from, part.to), { path, host });

  async function header(hash: string): Promise<BlockRef | null> {
    const value = await ask(blockCall(hash, false));
    if (isUnknown(value)) return null;
    const origin = { path: BLOCK_PATH, host };
    const { ref } = readHeader(value, origin);
    if (ref.hash !== hash) throw nonsense(origin, `answered with block ${ref.hash} instead of ${hash}`);
    return ref;
  }

  async function head(): Promise<BlockRef> {
    const found = await readHeaderAt(node, BLOCK_PATH, null);
    if (!found) throw nonsense({ path: BLOCK_PATH, host }, 'has no newest block');
    return found.ref;
  }

  async function finalized(): Promise<BlockRef | null> {
    if (finalityUrl === null) return null;
    return (await readHeaderAt(node, SOLID_BLOCK_PATH, null))?.ref ?? null;
  }

  async function identity(): Promise<NodeIdentity> {
    const [first, ...decimals] = await Promise.all([
      readHeaderAt(node, BLOCK_PATH, 0),
      ...options.tokens.map(decimalsOf),
    ]);
    if (!first) throw nonsense({ path: BLOCK_PATH, host }, 'has no first block');
    return {
      chainId: chainIdOf(first),
      decimals: new Map(options.tokens.map(({ address }, at) => [address, decimals[at] ?? 0])),
    };
  }

  async function decimalsOf({ address }: Token): Promise<number | Fault> {
    const key = tronAddress.parse(address);
    invariant(key !== null, `the token address ${address} is a valid TRON address`);
    const value = await ask({
      path: CONSTANT_PATH,
      body: { owner_address: NOBODY, contract_address: wireAddress(key), function_selector: 'decimals()' },
    });
    const origin = { path: CONSTANT_PATH, host };
    if (!isFields(value) || !isFields(value.result)) throw nonsense(origin, 'answered without a result');
    const { result, message } = value.result;
    if (result !== true) {
      const text = messageText(message);
      if (/not a valid smart contract|contract is not exist/i.test(text))
        return noContract(host, address, await headAgeMs());
      throw errorFault(text, origin);
    }
    const [word] = Array.isArray(value.constant_result) ? value.constant_result : [];
    // A contract that reverts or returns nothing has no such function.
    const decimals = typeof word === 'string' && /^[0-9a-f]{64}$/i.test(word) ? BigInt(`0x${word}`) : null;
    return decimals !== null && decimals <= TOKEN_DECIMALS_MAX ? Number(decimals) : noDecimals(host, address);
  }

  const headAgeMs = async (): Promise<number> => clock.nowMs() - (await head()).timeS * 1000;

  const blocksAt = (numbers: readonly number[]): Promise<readonly (BlockRef | null)[]> =>
    Promise.all(numbers.map(async (number) => (await readHeaderAt(node, BLOCK_PATH, number))?.ref ?? null));

  /**
   * Reads the block, then the infos of its transactions, then the header again, each by height. Infos belong to the
   * node's block at that height at the time of the request. It was our block if ours was there before and after.
   */
  async function content(block: BlockRef, thorough: boolean): Promise<RawContent> {
    const { number } = block;
    const calls = [blockCall(number, true), { path: INFOS_PATH, body: { num: number } }, blockCall(number, false)];
    const answers = await askAll(calls);
    const [atBlock, atInfos, atHeader] = answers.parts;
    invariant(atBlock && atInfos && atHeader, 'each call has an answer');
    const origin = { path: BLOCK_PATH, host };
    const again = readPart(answers, atHeader, BLOCK_PATH);
    if (isUnknown(again) || readHeader(again, origin).ref.hash !== block.hash) throw blockUnknown(block, origin);
    return {
      block,
      kind: thorough ? 'thorough' : 'light',
      bytes: answers.bytes,
      context: {
        host,
        blockFrom: atBlock.from,
        blockTo: atBlock.to,
        infosFrom: atInfos.from,
        infosTo: atInfos.to,
      },
    };
  }

  /** Requests the header last, so that the infos are those of its block. */
  async function attest(block: Pick<BlockRef, 'hash' | 'number'>, txs: readonly string[]): Promise<Attestation> {
    const byIndex = await Promise.all(txs.map((tx) => succeededIn(block.number, tx)));
    // The node's index of transactions may lag behind its newest blocks. The block's own infos decide.
    const unknown = txs.filter((_, at) => byIndex[at] === null);
    const byBlock = unknown.length === 0 ? true : await succeededByBlock(block.number, unknown);
    const found = await readHeaderAt(node, BLOCK_PATH, block.number);
    if (!found) return 'unsure';
    if (found.ref.hash !== block.hash || byIndex.includes(false) || byBlock === false) return 'gone';
    return byBlock === null ? 'unsure' : 'holds';
  }

  /** Returns whether a transaction succeeded in the block of this number; null if the node does not know it. */
  async function succeededIn(number: number, tx: string): Promise<boolean | null> {
    const value = await ask({ path: INFO_PATH, body: { value: tx } });
    if (isUnknown(value)) return null;
    const origin = { path: INFO_PATH, host };
    const { id, blockNumber, succeeded } = readInfo(value, origin);
    if (id !== tx) throw nonsense(origin, `answered with transaction ${id} instead of ${tx}`);
    return blockNumber === number && succeeded;
  }

  /** Returns whether all of these succeeded in the block of this number; null if the node has no infos of it. */
  async function succeededByBlock(number: number, txs: readonly string[]): Promise<boolean | null> {
    const value = await ask({ path: INFOS_PATH, body: { num: number } });
    const origin = { path: INFOS_PATH, host };
    if (isUnknown(value) || (Array.isArray(value) && value.length === 0)) return null;
    if (!Array.isArray(value)) throw nonsense(origin, 'answered with something that is not a list');
    const infos = value.map((row: unknown) => readInfo(row, origin));
    const succeeded = new Set(infos.flatMap((info) => (info.succeeded && info.blockNumber === number ? info.id : [])));
    return txs.every((tx) => succeeded.has(tx));
  }

  async function holdings(keys: readonly string[]): Promise<Holdings> {
    if (finalityUrl !== null) return askHoldings(node, options.tokens, keys);
    throw transient('node_method_missing', `no address of the solidified chain of ${host} is configured (solid_url)`);
  }

  return {
    identity,
    head,
    finalized,
    range: (fromNumber, toNumber) => readRange(host, fromNumber, toNumber, blocksAt),
    header,
    content,
    attest,
    holdings,
    onChange: transport.onChange,
    health: transport.health,
    close: transport.close,
  };
}
