/**
 * Reads signed Solana payouts with web3.js.
 */
import { base58 } from '@scure/base';
import {
  ComputeBudgetInstruction,
  PublicKey,
  SystemInstruction,
  SystemProgram,
  Transaction,
  type TransactionInstruction,
} from '@solana/web3.js';
import type { Terms } from '../../../core/spend.ts';
import type { ReadBySdk, SdkReading } from '../../second-opinion.ts';

const tokenProgram = new PublicKey('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
const accountProgram = new PublicKey('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL');
const TRANSFER_CHECKED = 12;
const CREATE_IF_ABSENT = 1;
/** As in `lock.ts`, which this file does not trust. */
const LOCK_BYTES = 1;

const keyOf = (key: PublicKey): string => key.toBuffer().toString('hex');
const accountOf = (owner: PublicKey, mint: PublicKey): PublicKey =>
  PublicKey.findProgramAddressSync([owner.toBuffer(), tokenProgram.toBuffer(), mint.toBuffer()], accountProgram)[0];

export const readBySdk: ReadBySdk = (bytes, tokens, payee) => {
  const transaction = Transaction.from(bytes);
  const { feePayer, signature, recentBlockhash, instructions, signatures } = transaction;
  if (!feePayer || !signature || recentBlockhash === undefined || !transaction.verifySignatures())
    throw new Error('its signatures are not complete and valid');
  const [limit, price, ...rest] = instructions;
  if (!limit || !price) throw new Error('it has no compute budget');
  const system = rest.filter(({ programId }) => programId.equals(SystemProgram.programId));
  const isRefund = system.length > 0;
  const [locks, coins] = [system.slice(0, 2), system.slice(2)];
  const [account, ...more] = rest.slice(system.length);
  const transfers = isRefund ? more : rest;
  const to = new PublicKey(Buffer.from(payee, 'hex'));
  const effects = [...coins.map(readCoins), ...transfers.map((one) => readTransfer(one, to, tokens))];
  if (isRefund && effects.length !== 1) throw new Error('a refund is one transfer');
  if (isRefund && account) checkAccount(account, to, effects[0]?.token ?? '');
  return {
    tx: base58.encode(signature),
    chainId: null,
    signers: signatures.map(({ publicKey }) => keyOf(publicKey)),
    effects,
    terms: {
      blockhash: recentBlockhash,
      compute_unit_limit: String(ComputeBudgetInstruction.decodeSetComputeUnitLimit(limit).units),
      compute_unit_price: String(ComputeBudgetInstruction.decodeSetComputeUnitPrice(price).microLamports),
      ...(isRefund && readLock(locks, feePayer)),
    },
  };
};

function readCoins(instruction: TransactionInstruction): SdkReading['effects'][number] {
  const { fromPubkey, toPubkey, lamports } = SystemInstruction.decodeTransfer(instruction);
  return { token: null, from: keyOf(fromPubkey), to: keyOf(toPubkey), units: BigInt(lamports) };
}

/**
 * Reads a transfer, which names the token accounts of the owner who signs and of the payee.
 * @throws Error for other accounts
 */
function readTransfer(
  { programId, keys, data }: TransactionInstruction,
  to: PublicKey,
  tokens: Parameters<ReadBySdk>[1],
): SdkReading['effects'][number] {
  const [from, mint, target, owner, ...more] = keys.map(({ pubkey }) => pubkey);
  if (!from || !mint || !target || !owner || more.length > 0) throw new Error('a transfer names other accounts');
  const token = tokens.find(({ address }) => address === mint.toBase58());
  if (!programId.equals(tokenProgram) || data.length !== 10 || data[0] !== TRANSFER_CHECKED || !token)
    throw new Error('it does something besides transfers of a token of this network');
  if (!from.equals(accountOf(owner, mint))) throw new Error(`${from} is not the token account of ${owner}`);
  if (!target.equals(accountOf(to, mint)))
    throw new Error(`it pays ${target}, which is not the token account of ${to}`);
  if (data[9] !== token.decimals) throw new Error(`it counts ${data[9]} decimals instead of ${token.decimals}`);
  return { token: token.address, from: keyOf(owner), to: keyOf(to), units: data.readBigUInt64LE(1) };
}

/** @throws Error if the instruction does anything but open the payee's token account */
function checkAccount({ programId, keys, data }: TransactionInstruction, owner: PublicKey, mint: string): void {
  const isOpening = programId.equals(accountProgram) && data.length === 1 && data[0] === CREATE_IF_ABSENT;
  const [, account, of, token] = keys.map(({ pubkey }) => pubkey);
  const isPayees = of?.equals(owner) && token?.toBase58() === mint && account?.equals(accountOf(owner, token));
  if (!isOpening || !isPayees) throw new Error(`it opens another account than the token account of ${owner}`);
}

/**
 * Returns the terms in the instructions of a lock.
 * @throws Error if the instructions are not the deposit and the allocation of a lock by the fee payer
 */
function readLock(instructions: readonly TransactionInstruction[], payer: PublicKey): Terms {
  const [first, second, ...more] = instructions;
  if (!first || !second || more.length > 0) throw new Error('it does something besides making a lock');
  const { fromPubkey, toPubkey, lamports } = SystemInstruction.decodeTransfer(first);
  const { accountPubkey, basePubkey, space, programId } = SystemInstruction.decodeAllocateWithSeed(second);
  const isLock =
    fromPubkey.equals(payer) &&
    basePubkey.equals(payer) &&
    toPubkey.equals(accountPubkey) &&
    programId.equals(SystemProgram.programId);
  if (!isLock || space !== LOCK_BYTES) throw new Error('it makes an account that is not a lock');
  return { lock_deposit_lamports: String(lamports) };
}
