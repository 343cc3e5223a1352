/**
 * A connection to one EVM node. The calls are the same over `ws://` and `wss://`, with wake-ups, and over `http://` and
 * `https://`, by polling. Blocks are requested by hash wherever the answer contains money.
 *
 * Methods used: eth_chainId, eth_syncing, eth_getCode, eth_call (decimals), eth_getBlockByNumber, eth_getBlockByHash,
 * eth_getLogs, eth_getBlockReceipts, eth_getTransactionReceipt, eth_subscribe. Source:
 * https://github.com/ethereum/execution-apis.
 */

import type { BlockRef } from '../../../core/block.ts';
import { type Fault, invariant } from '../../../core/fault.ts';
import { type Clock, systemClock } from '../../../lib/clock.ts';
import { readRange } from '../../block-range.ts';
import type { Attestation, Node, NodeIdentity, NodeOptions, RawContent } from '../../chain.ts';
import { nonsense, type RpcAnswer } from '../../json-rpc.ts';
import { noContract, noDecimals, TOKEN_DECIMALS_MAX } from '../../token-contract.ts';
import { blockUnknown, type Header, hex, readHeader, readQuantity, readReceipt, TRANSFER_TOPIC } from '../wire.ts';
import { askHoldings } from './holdings.ts';
import { errorFault, openEvmRpc, quantity, readFinalized, resultOf } from './rpc.ts';

/** Headers that are kept until the block's content is requested, about 700 bytes each. */
const HEADERS_KEPT_MAX = 2_048;
/** Selector of `decimals()`. */
const DECIMALS_CALL = '0x313ce567';

/**
 * Starts connecting; the first call waits for the connection.
 * @throws Fault permanent `node_url_invalid`
 */
export function openNode(options: NodeOptions, clock: Clock = systemClock): Node {
  const connection = openEvmRpc(options, clock);
  const { rpc, transport, host } = connection;
  const tokenAddresses = options.tokens.map((token) => token.address.toLowerCase());
  const kept = new Map<string, Header>();

  function keep(header: Header): Header {
    const { hash } = header.ref;
    if (!kept.has(hash) && kept.size >= HEADERS_KEPT_MAX) {
      const oldest = kept.keys().next();
      if (!oldest.done) kept.delete(oldest.value);
    }
    kept.set(hash, header);
    return header;
  }

  /** Reads a block's header from an answer to `eth_getBlockByNumber`; null if the node has no such block. */
  function headerAt(answer: RpcAnswer, number: number): Header | null {
    const origin = { method: 'eth_getBlockByNumber', host };
    const found = resultOf(answer, origin);
    if (found === null) return null;
    const header = readHeader(found, origin);
    if (header.ref.number !== number)
      throw nonsense(origin, `answered with block ${header.ref.number} instead of ${number}`);
    return header;
  }

  const byNumber = (number: number) => ({ method: 'eth_getBlockByNumber', params: [quantity(number), false] });

  async function headerByHash(hash: string): Promise<Header | null> {
    const method = 'eth_getBlockByHash';
    const result = await rpc.call(method, [hash, false]);
    if (result === null) return null;
    const header = readHeader(result, { method, host });
    if (header.ref.hash !== hash)
      throw nonsense({ method, host }, `answered with block ${header.ref.hash} instead of ${hash}`);
    return keep(header);
  }

  /** Returns the header of a block, from memory if `mayRemember`, or else from the node. */
  async function headerOf(block: BlockRef, mayRemember: boolean): Promise<Header> {
    const known = mayRemember ? kept.get(block.hash) : undefined;
    const header = known ?? (await headerByHash(block.hash));
    if (!header) throw blockUnknown(block, { method: 'eth_getBlockByHash', host });
    return header;
  }

  async function identity(): Promise<NodeIdentity> {
    const chain = { method: 'eth_chainId', params: [] };
    const syncing = { method: 'eth_syncing', params: [] };
    const perToken = tokenAddresses.flatMap((address) => [
      { method: 'eth_getCode', params: [address, 'latest'] },
      { method: 'eth_call', params: [{ to: address, data: DECIMALS_CALL }, 'latest'] },
    ]);
    const [ofChain, ofSyncing, ...ofTokens] = await rpc.batch([chain, syncing, ...perToken]);
    const chainId = readQuantity(resultOf(ofChain, { method: chain.method, host }));
    if (chainId === null) throw nonsense({ method: 'eth_chainId', host }, 'answered without a number');
    const isSyncing = resultOf(ofSyncing, { method: syncing.method, host }) !== false;
    const decimals = new Map<string, number | Fault>();
    for (const [at, token] of options.tokens.entries()) {
      const [code, answer] = ofTokens.slice(at * 2);
      invariant(code && answer, 'each token has two answers');
      if (resultOf(code, { method: 'eth_getCode', host }) === '0x') {
        const ageMs = isSyncing ? Number.POSITIVE_INFINITY : await headAgeMs();
        decimals.set(token.address, noContract(host, token.address, ageMs));
        continue;
      }
      // A contract that reverts or returns nothing has no such function.
      const text = answer.ok ? answer.result : null;
      const value = typeof text === 'string' && /^0x[0-9a-f]{64}$/i.test(text) ? BigInt(text) : null;
      const isShown = value !== null && value <= TOKEN_DECIMALS_MAX;
      decimals.set(token.address, isShown ? Number(value) : withoutDecimals(token.address, answer));
    }
    return { chainId: String(chainId), decimals };
  }

  /**
   * A node that was just started has no peers and reports that it is not syncing, so the age of its head is compared.
   */
  const headAgeMs = async (): Promise<number> => clock.nowMs() - (await head()).timeS * 1000;

  const withoutDecimals = (address: string, answer: RpcAnswer): Fault =>
    !answer.ok && !/revert/i.test(answer.error.message)
      ? errorFault(answer.error, { method: 'eth_call', host })
      : noDecimals(host, address);

  async function head(): Promise<BlockRef> {
    const method = 'eth_getBlockByNumber';
    return keep(readHeader(await rpc.call(method, ['latest', false]), { method, host })).ref;
  }

  async function newestBlock(tag: 'safe' | 'finalized'): Promise<BlockRef | null> {
    const origin = { method: 'eth_getBlockByNumber', host };
    const answer = await rpc.attempt(origin.method, [tag, false]);
    return readFinalized(answer, origin)?.ref ?? null;
  }

  async function blocksAt(numbers: readonly number[]): Promise<readonly (BlockRef | null)[]> {
    const answers = await rpc.batch(numbers.map(byNumber));
    return answers.map((answer, at) => {
      const header = headerAt(answer, numbers[at] ?? 0);
      return header && keep(header).ref;
    });
  }

  async function content(block: BlockRef, thorough: boolean): Promise<RawContent> {
    // The header itself may have caused the doubt.
    const { bloom, txCount } = await headerOf(block, !thorough);
    if (thorough) {
      const bytes = await rpc.raw('eth_getBlockReceipts', [block.hash]);
      return { block, kind: 'receipts', bytes, context: { host, bloom, txCount } };
    }
    const filter = { blockHash: block.hash, address: tokenAddresses, topics: [TRANSFER_TOPIC] };
    const bytes = await rpc.raw('eth_getLogs', [filter]);
    return { block, kind: 'logs', bytes, context: { host, bloom } };
  }

  async function attest(block: Pick<BlockRef, 'hash' | 'number'>, txs: readonly string[]): Promise<Attestation> {
    const receipts = txs.map((tx) => ({ method: 'eth_getTransactionReceipt', params: [tx] }));
    const [atHeight, ...answers] = await rpc.batch([byNumber(block.number), ...receipts]);
    const header = headerAt(atHeight, block.number);
    if (!header) return 'unsure';
    if (header.ref.hash !== block.hash) return 'gone';
    const origin = { method: 'eth_getTransactionReceipt', host };
    const isIncluded = (answer: RpcAnswer): boolean | null => {
      if (!answer.ok) {
        const fault = errorFault(answer.error, origin);
        if (fault.code === 'node_indexing') return null;
        throw fault;
      }
      if (answer.result === null) return null;
      const receipt = readReceipt(answer.result, origin);
      return receipt.success && receipt.blockHash === block.hash;
    };
    const included = answers.map(isIncluded);
    if (included.includes(false)) return 'gone';
    // A node's index of transactions may lack old blocks or the newest ones. The block's own receipts decide.
    const unknown = txs.filter((_, at) => included[at] === null);
    return unknown.length === 0 ? 'holds' : attestByBlock(block, unknown);
  }

  async function attestByBlock({ hash }: Pick<BlockRef, 'hash'>, txs: readonly string[]): Promise<Attestation> {
    const origin = { method: 'eth_getBlockReceipts', host };
    const answer = await rpc.attempt(origin.method, [hash]);
    if (!answer.ok) {
      const fault = errorFault(answer.error, origin);
      // The node cannot be asked for the block, so its index decides.
      if (fault.code === 'node_method_missing') return 'gone';
      throw fault;
    }
    const { result: receipts } = answer;
    if (receipts === null) return 'unsure';
    if (!Array.isArray(receipts)) throw nonsense(origin, 'answered with something that is not a list');
    const succeeded = new Set<string>();
    for (const row of receipts) {
      const { blockHash, success } = readReceipt(row, origin);
      if (blockHash !== hash) throw nonsense(origin, `answered with a receipt of block ${blockHash}`);
      if (success) succeeded.add(hex(row.transactionHash));
    }
    return txs.every((tx) => succeeded.has(tx)) ? 'holds' : 'gone';
  }

  return {
    identity,
    head,
    finalized: () => newestBlock('finalized'),
    safe: () => newestBlock('safe'),
    range: (fromNumber, toNumber) => readRange(host, fromNumber, toNumber, blocksAt),
    header: async (hash) => (await headerByHash(hash))?.ref ?? null,
    content,
    attest,
    holdings: (keys, block) => askHoldings(connection, options.tokens, keys, block),
    onChange: transport.onChange,
    health: transport.health,
    close: transport.close,
  };
}
