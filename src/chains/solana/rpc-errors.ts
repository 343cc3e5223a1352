/**
 * Faults by the errors of Solana nodes.
 *
 * Source: Agave, `rpc-client-api/src/custom_error.rs`.
 */
import type { ErrorMeaning, RpcError } from '../json-rpc.ts';

/** Returns whether the slot's block will be readable in a moment. */
export const isNotYet = ({ code }: RpcError): boolean => code === -32004 || code === -32014;

/** Returns whether the slot was skipped or its block is missing. Neither the node nor we can tell which. */
export const isSkippedOrMissing = ({ code }: RpcError): boolean => code === -32007 || code === -32009;

/** Returns whether the node is behind its cluster. −32016: it has not reached a slot that a gateway saw elsewhere. */
export const isBehind = ({ code }: RpcError): boolean => code === -32005 || code === -32016;

export const solanaErrors: readonly ErrorMeaning[] = [
  {
    code: 'node_history_pruned',
    is: ({ code }) => code === -32001,
    advice:
      'the node no longer keeps blocks this old: raise its --limit-ledger-size, or catch up from a node that does',
  },
  {
    code: 'node_block_pending',
    is: ({ code }) => code === -32004,
    advice: 'the block is not there yet; it is requested again',
  },
  {
    code: 'node_unhealthy',
    is: isBehind,
    advice: 'the node is behind the cluster: wait for it',
  },
  {
    code: 'node_block_missing',
    is: isSkippedOrMissing,
    advice:
      'the slot has no block, or the node lost it (a restart from a snapshot leaves a gap); it is skipped only if the next block confirms it',
  },
  {
    code: 'node_history_disabled',
    is: ({ code }) => code === -32011,
    advice: 'start the node with --enable-rpc-transaction-history',
  },
  {
    code: 'node_status_pending',
    is: ({ code }) => code === -32014,
    advice: "the node has not written the block's results yet; it is requested again",
  },
  {
    code: 'node_version_unsupported',
    is: ({ code }) => code === -32015,
    advice: 'the block holds transactions of a version that this Quayside does not know: update it',
  },
  {
    code: 'node_rate_limited',
    is: ({ code, message }) => code === 429 || code === -32429 || /rate.?limit|too many requests/i.test(message),
    advice: 'the node or a gateway in front of it limits requests: raise its limit',
  },
  {
    code: 'node_method_missing',
    is: ({ code }) => code === -32601,
    advice: 'the method is disabled: start the node with --full-rpc-api',
  },
];
