/**
 * Refunds on Solana as in the recordings: their lock is an account without data, created with a seed. Built by web3.js.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { base58 } from '@scure/base';
import {
  ComputeBudgetProgram,
  PublicKey,
  SystemProgram,
  TransactionInstruction,
  TransactionMessage,
} from '@solana/web3.js';
import { LOCK_SEED_CHARACTERS, lockAddress } from '../../src/chains/solana/lock.ts';
import { solanaSpending } from '../../src/chains/solana/spend.ts';
import { TOKEN_ACCOUNT_PROGRAM, TOKEN_PROGRAM, tokenAddress } from '../../src/chains/solana/token-account.ts';
import type { SpendNetwork } from '../../src/chains/spend.ts';
import type { RefundIntent } from '../../src/core/intent.ts';
import type { Terms } from '../../src/core/spend.ts';

const TRANSFER_CHECKED = 12;
const CREATE_IF_ABSENT = 1;

const keyOf = (hex: string): PublicKey => new PublicKey(Buffer.from(hex, 'hex'));
const reader = (pubkey: PublicKey, isSigner = false) => ({ pubkey, isSigner, isWritable: false });
const writer = (pubkey: PublicKey, isSigner = false) => ({ pubkey, isSigner, isWritable: true });

/** @param terms with `lock_lamports` */
export function signRecordedRefund(seed: Uint8Array, { tokens }: SpendNetwork, intent: RefundIntent, terms: Terms) {
  const { key, secret } = solanaSpending.derive(seed, { role: 'refund' });
  const [payer, to] = [keyOf(key), keyOf(intent.to)];
  const token = tokens.find(({ symbol }) => symbol === intent.currency);
  if (!token) throw new Error('the token is configured');
  const mint = new PublicKey(token.address);
  const [source, target] = [key, intent.to].map((owner) => new PublicKey(tokenAddress(owner, token.address)));
  if (!source || !target) throw new Error('both have a token account');
  const lockText = intent.id.padEnd(LOCK_SEED_CHARACTERS, '0').slice(0, LOCK_SEED_CHARACTERS);
  const units = Buffer.alloc(8);
  units.writeBigUInt64LE(intent.units);
  const instructions = [
    ComputeBudgetProgram.setComputeUnitLimit({ units: Number(terms.compute_unit_limit) }),
    ComputeBudgetProgram.setComputeUnitPrice({ microLamports: BigInt(terms.compute_unit_price ?? 0) }),
    SystemProgram.createAccountWithSeed({
      ...{ fromPubkey: payer, basePubkey: payer, seed: lockText, lamports: Number(terms.lock_lamports), space: 0 },
      newAccountPubkey: keyOf(lockAddress(key, lockText)),
      programId: SystemProgram.programId,
    }),
    new TransactionInstruction({
      programId: new PublicKey(TOKEN_ACCOUNT_PROGRAM),
      keys: [
        writer(payer, true),
        writer(target),
        ...[to, mint, SystemProgram.programId, new PublicKey(TOKEN_PROGRAM)].map((one) => reader(one)),
      ],
      data: Buffer.of(CREATE_IF_ABSENT),
    }),
    new TransactionInstruction({
      programId: new PublicKey(TOKEN_PROGRAM),
      keys: [writer(source), reader(mint), writer(target), reader(payer, true)],
      data: Buffer.concat([Buffer.of(TRANSFER_CHECKED), units, Buffer.of(token.decimals)]),
    }),
  ];
  const content = { payerKey: payer, recentBlockhash: terms.blockhash ?? '', instructions };
  const message = new TransactionMessage(content).compileToLegacyMessage().serialize();
  const signature = ed25519.sign(message, secret);
  return { tx: base58.encode(signature), bytes: new Uint8Array(Buffer.concat([Buffer.of(1), signature, message])) };
}
