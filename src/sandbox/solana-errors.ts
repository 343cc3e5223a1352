/**
 * Errors of a simulated Solana node: why a transaction fails, as `sendTransaction` says it in text and data, and
 * refusals of arguments. Texts are Agave's (`transaction_error.rs`, `instruction_error.rs`, `rpc.rs`).
 */
import { base58 } from '@scure/base';
import { invalidParams, RpcError } from './json-rpc.ts';

/** As JSON writes Agave's `TransactionError`. */
export type TransactionError =
  | 'AccountNotFound'
  | 'AlreadyProcessed'
  | 'BlockhashNotFound'
  | 'InsufficientFundsForFee'
  | 'SignatureFailure'
  | Readonly<{ InsufficientFundsForRent: Readonly<{ account_index: number }> }>
  | Readonly<{ InstructionError: readonly [number, 'InvalidAccountData' | Readonly<{ Custom: number }>] }>;

const texts = {
  AccountNotFound: 'Attempt to debit an account but found no record of a prior credit.',
  AlreadyProcessed: 'This transaction has already been processed',
  BlockhashNotFound: 'Blockhash not found',
  InsufficientFundsForFee: 'Insufficient funds for fee',
  SignatureFailure: 'Transaction did not pass signature verification',
} as const;

function textOf(error: TransactionError): string {
  if (typeof error === 'string') return texts[error];
  if ('InsufficientFundsForRent' in error) {
    const { account_index: index } = error.InsufficientFundsForRent;
    return `Transaction results in an account (${index}) with insufficient funds for rent`;
  }
  const [index, cause] = error.InstructionError;
  const why =
    typeof cause === 'string'
      ? 'invalid account data for instruction'
      : `custom program error: 0x${cause.Custom.toString(16)}`;
  return `Error processing Instruction ${index}: ${why}`;
}

/** −32002: the node has simulated the transaction, and it fails. */
export function preflightFailure(err: TransactionError): RpcError {
  const text = textOf(err);
  // Errors that are names come before any instruction is executed.
  const isExecuted = typeof err !== 'string';
  return new RpcError(-32002, `Transaction simulation failed: ${text}`, {
    accounts: null,
    err,
    fee: isExecuted ? 5000 : null,
    innerInstructions: null,
    loadedAccountsDataSize: isExecuted ? 206 : 0,
    loadedAddresses: null,
    logs: isExecuted ? [`Program failed: ${text.replace(/^.*?: /, '')}`] : [],
    postBalances: null,
    postTokenBalances: null,
    preBalances: null,
    preTokenBalances: null,
    replacementBlockhash: null,
    returnData: null,
    unitsConsumed: isExecuted ? 150 : 0,
  });
}

/**
 * Returns the bytes of a key or a signature in base58, as hex.
 * @throws RpcError −32602
 */
export function readBase58(value: unknown, bytes: number): string {
  const text = String(value);
  const decoded = /^[1-9A-HJ-NP-Za-km-z]*$/.test(text) ? base58.decode(text) : null;
  if (decoded?.length !== bytes) throw invalidParams('Invalid param');
  return Buffer.from(decoded).toString('hex');
}
