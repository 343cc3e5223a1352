/**
 * Faults by the errors of EVM nodes.
 *
 * Sources: error codes of EIP-1474, and the texts of geth, its forks, Erigon, Nethermind, reth, anvil and the usual
 * gateways.
 */
import type { ErrorMeaning } from '../json-rpc.ts';

export const evmErrors: readonly ErrorMeaning[] = [
  {
    code: 'node_batch_limited',
    is: ({ message }) =>
      /batch.*(too (large|big|many)|limit|size|exceed|not (allowed|supported))|(in|per) (a )?batch/i.test(message),
    advice: 'the node takes no such batch: raise its limit (geth: --rpc.batch-request-limit)',
  },
  {
    code: 'node_rate_limited',
    is: ({ code, message }) => code === -32005 || code === 429 || /rate.?limit|too many requests|quota/i.test(message),
    advice: 'the node or a gateway in front of it limits requests: raise its limit',
  },
  {
    code: 'node_method_missing',
    is: ({ code, message }) => code === -32601 || /method not found|does not exist\/is not available/i.test(message),
    advice: 'enable the eth namespace on the node',
  },
  {
    code: 'node_response_too_large',
    is: ({ code, message }) => code === -32003 || /response (is )?too (large|big)|exceeds? .*size/i.test(message),
    advice: "raise the node's limit of responses (geth: --rpc.batch-response-max-size)",
  },
  {
    code: 'node_history_pruned',
    // geth answers "historical state … is not available" if it stores state by path, "not supported" if by hash.
    is: ({ message }) =>
      /pruned|missing trie node|(history|state)\b.* (not |un)available|^not supported$/i.test(message),
    advice:
      'the node no longer keeps blocks or states this old: wait for finality if it lags, give the node more history, or use an archive node',
  },
  {
    code: 'node_fee_capped',
    is: ({ message }) => /exceeds the configured cap/i.test(message),
    advice: 'the node refuses a transaction with so high a fee: raise its --rpc.txfeecap',
  },
  {
    code: 'node_indexing',
    is: ({ message }) => /indexing is in progress/i.test(message),
    advice: 'the node is still building its index of transactions: wait for it',
  },
  {
    code: 'node_block_unknown',
    is: ({ code, message }) => code === -39001 || /(block|header)\b.*(not found|unknown)|unknown block/i.test(message),
    advice: 'the node does not have that block; its chain is read again',
  },
];
