/**
 * One payment as an unsigned transaction for the payer's wallet. It creates the recipient's token account if there is
 * none, and transfers the tokens. It is encoded here, so that no process of the server loads Solana's libraries.
 */
import { concatBytes } from '@noble/hashes/utils.js';
import { writeMessage } from './message.ts';
import { createTokenAccount, transferTokens } from './programs.ts';

const SIGNATURE_BYTES = 64;

/** `payer`, `recipient` and `mint` are keys; `units` are base units of the mint, below 2^64. */
type PaymentOrder = Readonly<{
  payer: string;
  recipient: string;
  mint: string;
  units: bigint;
  decimals: number;
  /** Hash of a block, base58. The transaction is valid until 150 blocks after that block. */
  blockhash: string;
}>;

/**
 * Returns the message with an empty place for the payer's signature, as wallets expect it. The payer pays the fee and,
 * if the recipient has no token account yet, its deposit.
 */
export function unsignedPayment({ payer, recipient, blockhash, units, ...token }: PaymentOrder): Uint8Array {
  const message = writeMessage(payer, blockhash, [
    createTokenAccount(payer, recipient, token.mint),
    transferTokens(payer, recipient, units, token),
  ]);
  return concatBytes(Uint8Array.of(1), new Uint8Array(SIGNATURE_BYTES), message);
}
