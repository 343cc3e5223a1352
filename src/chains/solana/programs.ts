/**
 * The programs that payments and payouts call, and the instructions that both contain. Pure.
 *
 * Sources: https://solana.com/docs/core/programs, spl-token's `instruction.rs`, the Associated Token Account program.
 */
import { bytesToHex, concatBytes, hexToBytes } from '@noble/hashes/utils.js';
import { base58 } from '@scure/base';
import type { AccountMeta, WrittenInstruction } from './message.ts';
import { TOKEN_ACCOUNT_PROGRAM, TOKEN_PROGRAM, tokenAccountOf } from './token-account.ts';

/** Address keys of the programs. */
export const SYSTEM = '00'.repeat(32);
export const TOKENS = bytesToHex(TOKEN_PROGRAM);
export const TOKEN_ACCOUNTS = bytesToHex(TOKEN_ACCOUNT_PROGRAM);
export const COMPUTE_BUDGET = bytesToHex(base58.decode('ComputeBudget111111111111111111111111111111'));

/** Numbers of the instructions `CreateIdempotent` and `TransferChecked`. */
const CREATE_IF_ABSENT = 1;
const TRANSFER_CHECKED = 12;

/** Writes a number in `length` bytes, the lowest first. */
export const littleEndian = (value: bigint, length: number): Uint8Array =>
  Uint8Array.from({ length }, (_, at) => Number((value >> BigInt(8 * at)) & 0xffn));

export const reader = (key: string, isSigner = false): AccountMeta => ({ key, isSigner, isWritable: false });
export const writer = (key: string, isSigner = false): AccountMeta => ({ key, isSigner, isWritable: true });

const accountOf = (owner: string, mint: string): string =>
  bytesToHex(tokenAccountOf(hexToBytes(owner), hexToBytes(mint)));

/** Creates an owner's account of a token, unless it exists. */
export const createTokenAccount = (feePayer: string, owner: string, mint: string): WrittenInstruction => ({
  program: TOKEN_ACCOUNTS,
  accounts: [
    writer(feePayer, true),
    writer(accountOf(owner, mint)),
    reader(owner),
    reader(mint),
    reader(SYSTEM),
    reader(TOKENS),
  ],
  data: Uint8Array.of(CREATE_IF_ABSENT),
});

/** Moves tokens between the token accounts of two owners. The first owner signs. */
export const transferTokens = (
  from: string,
  to: string,
  units: bigint,
  { mint, decimals }: Readonly<{ mint: string; decimals: number }>,
): WrittenInstruction => ({
  program: TOKENS,
  accounts: [writer(accountOf(from, mint)), reader(mint), writer(accountOf(to, mint)), reader(from, true)],
  data: concatBytes(Uint8Array.of(TRANSFER_CHECKED), littleEndian(units, 8), Uint8Array.of(decimals)),
});
