/**
 * One payment as an unsigned transaction for the payer's wallet: creates the recipient's token account if it does not
 * exist, and transfers the tokens. Encoded here, so that no process of the server loads Solana's libraries.
 *
 * Format: a legacy message, https://solana.com/docs/core/transactions; the programs' instructions as in spl-token's
 * `instruction.rs`. All lists are shorter than 128, where a compact length is one byte.
 *
 * @module
 */
import { concatBytes } from '@noble/hashes/utils.js';
import { TOKEN_ACCOUNT_PROGRAM, TOKEN_PROGRAM, tokenAccountOf } from './token-account.ts';

const SYSTEM_PROGRAM = new Uint8Array(32);
const SIGNATURE_BYTES = 64;
/** Numbers of the instructions `CreateIdempotent` and `TransferChecked`. */
const CREATE_IF_ABSENT = 1;
const TRANSFER_CHECKED = 12;

/** Keys are 32 bytes each; `units` are base units of the mint, below 2^64. */
type PaymentOrder = Readonly<{
  payer: Uint8Array;
  recipient: Uint8Array;
  mint: Uint8Array;
  units: bigint;
  decimals: number;
  /** Hash of a block at most 150 blocks old: the transaction is valid as long as that block is. */
  blockhash: Uint8Array;
}>;

/** Indexes in the message's list of accounts: the signer, then the writable accounts, then the read-only ones. */
const PAYER = 0;
const SOURCE = 1;
const TARGET = 2;
const RECIPIENT = 3;
const MINT = 4;
const SYSTEM = 5;
const TOKENS = 6;
const TOKEN_ACCOUNTS = 7;
/** Counts of signers, read-only signers, other read-only accounts. */
const HEADER = [1, 0, 5];

/**
 * Returns what the payer signs. The payer pays the fee and, if the recipient has no account yet, that account's
 * deposit.
 */
function paymentMessage(order: PaymentOrder): Uint8Array {
  const { payer, recipient, mint, units, decimals, blockhash } = order;
  const accounts = [
    payer,
    tokenAccountOf(payer, mint),
    tokenAccountOf(recipient, mint),
    recipient,
    mint,
    SYSTEM_PROGRAM,
    TOKEN_PROGRAM,
    TOKEN_ACCOUNT_PROGRAM,
  ];
  return concatBytes(
    Uint8Array.of(...HEADER, accounts.length),
    ...accounts,
    blockhash,
    Uint8Array.of(2),
    instruction(TOKEN_ACCOUNTS, [PAYER, TARGET, RECIPIENT, MINT, SYSTEM, TOKENS], [CREATE_IF_ABSENT]),
    instruction(TOKENS, [SOURCE, MINT, TARGET, PAYER], [TRANSFER_CHECKED, ...littleEndian64(units), decimals]),
  );
}

/** Returns the message with an empty place for the payer's signature, as wallets expect it. */
export const unsignedPayment = (order: PaymentOrder): Uint8Array =>
  concatBytes(Uint8Array.of(1), new Uint8Array(SIGNATURE_BYTES), paymentMessage(order));

const instruction = (program: number, accounts: readonly number[], data: readonly number[]): Uint8Array =>
  Uint8Array.of(program, accounts.length, ...accounts, data.length, ...data);

function littleEndian64(value: bigint): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, value, true);
  return bytes;
}
