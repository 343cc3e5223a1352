/**
 * Which faults can hit which methods, besides those of connections.
 */
import type { Family } from '../../src/chains/chain.ts';
import type { FaultKind } from './faults.ts';

type Kinds = ReadonlyMap<string, readonly FaultKind[]>;
const kindsOf = (rows: Readonly<Record<string, readonly FaultKind[]>>): Kinds => new Map(Object.entries(rows));

const evm = kindsOf({
  eth_chainId: ['wrong_chain'],
  eth_call: ['wrong_decimals', 'states_gone'],
  eth_estimateGas: ['states_gone'],
  eth_getBalance: ['states_gone'],
  eth_blockNumber: ['lag', 'backwards'],
  eth_getBlockByNumber: ['lag', 'backwards', 'unknown_block', 'unlinked'],
  eth_getBlockByHash: ['lag', 'unknown_block'],
  eth_getLogs: ['lag', 'unknown_block', 'empty_content', 'sibling_content'],
  eth_getTransactionReceipt: ['lag', 'unknown_block'],
  eth_getTransactionCount: ['lag', 'backwards', 'states_gone'],
  eth_sendRawTransaction: ['send_dropped', 'send_denied', 'send_failed'],
  eth_getTransactionByHash: ['lag', 'unknown_block'],
  eth_getBlockReceipts: ['lag', 'unknown_block', 'empty_content', 'sibling_content'],
});

const tron = kindsOf({
  getblock: ['wrong_chain', 'lag', 'backwards', 'unknown_block', 'unlinked'],
  gettransactioninfobyblocknum: [
    'lag',
    'unknown_block',
    'empty_content',
    'sibling_content',
    'history_closed',
    'failed_logs',
  ],
  gettransactioninfobyid: ['lag', 'unknown_block', 'history_closed', 'failed_logs'],
  gettransactionbyid: ['lag', 'unknown_block', 'history_closed'],
  triggerconstantcontract: ['wrong_decimals', 'wrong_chain', 'call_failed'],
  broadcasthex: ['send_dropped', 'send_denied', 'send_failed'],
});

const solana = kindsOf({
  getGenesisHash: ['wrong_chain'],
  getHealth: ['unhealthy'],
  getMultipleAccounts: ['restarted', 'wrong_decimals'],
  getSlot: ['restarted', 'lag', 'backwards', 'finality_ahead'],
  getBlocks: ['restarted', 'lag', 'blocks_lost'],
  getBlocksWithLimit: ['restarted', 'lag', 'blocks_lost'],
  getBlock: [
    'restarted',
    'lag',
    'unknown_block',
    'empty_content',
    'sibling_content',
    'unlinked',
    'blocks_lost',
    'clock_behind',
  ],
  getSignatureStatuses: ['restarted', 'lag', 'unknown_block'],
  getTransaction: ['restarted', 'lag', 'unknown_block', 'clock_behind'],
  sendTransaction: ['unhealthy', 'send_dropped', 'send_denied', 'send_failed'],
});

const methods: Readonly<Record<Family, Kinds>> = { evm, tron, solana };
const finalityFaults: readonly FaultKind[] = ['finality_missing', 'finality_stalled'];

/** Returns the faults that can hit a call. @param method of TRON, the last part of the path */
export function faultsOfMethod(family: Family, method: string, params: unknown): readonly FaultKind[] {
  const kinds = methods[family].get(method) ?? [];
  const isOfFinality = Array.isArray(params) && (params[0] === 'finalized' || params[0] === 'safe');
  return isOfFinality && method === 'eth_getBlockByNumber' ? [...finalityFaults, ...kinds] : kinds;
}
