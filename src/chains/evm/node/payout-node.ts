/**
 * The indexer's half of EVM payouts: quotes them, broadcasts signed transactions, and determines their outcome. It has
 * no keys.
 *
 * Methods used: eth_chainId, eth_getBalance, eth_getTransactionCount, eth_feeHistory, eth_maxPriorityFeePerGas,
 * eth_gasPrice, eth_call, eth_estimateGas, eth_sendRawTransaction, eth_getTransactionReceipt, eth_getTransactionByHash,
 * eth_getBlockByNumber, eth_getBlockReceipts.
 * Source: https://github.com/ethereum/execution-apis.
 */

import { invariant } from '../../../core/fault.ts';
import { type Clock, systemClock } from '../../../lib/clock.ts';
import { agreeOnOutcome, agreeOnPaid } from '../../outcome-quorum.ts';
import { bySymbol, type PayoutNode, type PayoutNodeOptions } from '../../spend.ts';
import { evmAddress } from '../address.ts';
import { readBroadcast } from './payout-broadcast.ts';
import { askCost, askOutcome } from './payout-outcome.ts';
import { askQuote, balanceCall } from './payout-quote.ts';
import {
  type EvmRpc,
  errorFault,
  expectChain,
  finalBlock,
  openEvmRpc,
  quantity,
  readAmount,
  readCount,
} from './rpc.ts';

/** Concurrent requests. Payouts need few. */
const CONCURRENCY_MAX = 4;
const IDLE_MS_MAX = 60_000;

/** @param block a number in hex, or a tag; `pending` also counts pending transactions */
const countCall = (key: string, block: string) => ({ method: 'eth_getTransactionCount', params: [`0x${key}`, block] });

/**
 * Starts connecting; the first call waits for the connection.
 * @throws Fault permanent `node_url_invalid`
 */
export function openPayoutNode(options: PayoutNodeOptions, clock: Clock = systemClock): PayoutNode {
  const { chainId, tokens, finalDepth } = options;
  const open = (url: string) =>
    openEvmRpc({ ...options, url, concurrencyMax: CONCURRENCY_MAX, idleMsMax: IDLE_MS_MAX }, clock);
  const main = open(options.rpcUrl ?? options.url);
  const nodes = options.witnessUrl === undefined ? [main] : [main, open(options.witnessUrl)];
  const { rpc, host } = main;
  const tokenKeys = tokens.map(({ address }) => {
    const key = evmAddress.parse(address);
    invariant(key, `the token address ${address} is a valid EVM address`);
    return key;
  });

  async function balance(key: string) {
    const [chain, native, ...held] = await rpc.batch([
      { method: 'eth_chainId', params: [] },
      { method: 'eth_getBalance', params: [`0x${key}`, 'latest'] },
      ...tokens.map((token) => balanceCall(token.address, key)),
    ]);
    expectChain(chain, chainId, host);
    const units = held.map((answer) => readAmount(answer, { method: 'eth_call', host }));
    return { native: readAmount(native, { method: 'eth_getBalance', host }), tokens: bySymbol(tokens, units) };
  }

  async function count(key: string) {
    const origin = { method: 'eth_getTransactionCount', host };
    const final = await finalBlock(main, { chainId, finalDepth });
    const [atFinal, atHead] = await rpc.batch([countCall(key, quantity(final)), countCall(key, 'latest')]);
    const pending = await Promise.all(nodes.map((node) => pendingOn(node, key)));
    // A node that is no archive keeps about 128 states, and finality may lag by more.
    const isGone = !atFinal.ok && errorFault(atFinal.error, origin).code === 'node_history_pruned';
    return {
      final: isGone ? null : readCount(atFinal, origin),
      head: readCount(atHead, origin),
      pending: Math.max(...pending),
    };
  }

  /** @throws Fault transient */
  async function pendingOn({ rpc, host }: EvmRpc, key: string): Promise<number> {
    const [chain, count] = await rpc.batch([{ method: 'eth_chainId', params: [] }, countCall(key, 'pending')]);
    expectChain(chain, chainId, host);
    return readCount(count, { method: 'eth_getTransactionCount', host });
  }

  return {
    balance,
    count,
    quote: (draft, nonce, outbid) => askQuote(main, { draft, nonce, outbid, chainId, tokenKeys }),
    async broadcast(bytes) {
      const method = 'eth_sendRawTransaction';
      const answer = await rpc.attempt(method, [`0x${Buffer.from(bytes).toString('hex')}`]);
      return readBroadcast(answer, { method, host });
    },
    async paidBy(draft, tx) {
      const question = { draft, chainId, finalDepth };
      return agreeOnPaid(await Promise.all(nodes.map((node) => askCost(node, question, tx))));
    },
    async outcome(draft, attempts) {
      if (attempts.length === 0) return { kind: 'waiting', included: null };
      const question = { draft, attempts, chainId, finalDepth };
      return agreeOnOutcome(await Promise.all(nodes.map((node) => askOutcome(node, question))));
    },
    async close() {
      await Promise.all(nodes.map(({ transport }) => transport.close()));
    },
  };
}
