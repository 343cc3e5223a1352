/**
 * Signs Solana's payouts. A refund allocates its lock (`lock.ts`), creates the payee's token account if there is none,
 * and then transfers. A second refund with the same id fails as a whole, because the lock is allocated. A sweep moves
 * the tokens of up to six owners, who all sign, and the gas wallet pays the fee.
 *
 * Terms: `blockhash` (base58), and as decimal text `last_valid_block_height`, `compute_unit_limit`,
 * `compute_unit_price` (micro-lamports per unit) and, for refunds, `lock_deposit_lamports`, the deposit of the lock's
 * account. `message.ts` encodes the bytes and reads them. The plan that was read is encoded again and must give the
 * same bytes. Sources: https://solana.com/docs/core/transactions, `system_instruction.rs`, spl-token's
 * `instruction.rs`.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { base58 } from '@scure/base';
import { invariant } from '../../core/fault.ts';
import { type Intent, isPayback, type Wallet } from '../../core/intent.ts';
import type { Terms } from '../../core/spend.ts';
import {
  hotChild,
  type Spending,
  type SpendKey,
  type SpendNetwork,
  type SpendReading,
  sponsoredFees,
} from '../spend.ts';
import { badIntent, badTerms, checkUnits, termReader, tokenOf, unknownBytes } from '../spend-order.ts';
import { LOCK_BYTES, LOCK_SEED_CHARACTERS, lockAddress, lockSeed } from './lock.ts';
import { readSigned, type SignedMessage, type WrittenInstruction, writeMessage } from './message.ts';
import { isSpendable } from './offline-keys.ts';
import {
  COMPUTE_BUDGET,
  createTokenAccount,
  littleEndian,
  reader,
  SYSTEM,
  transferTokens,
  writer,
} from './programs.ts';
import { hardenedChild, masterNode, publicKeyOf } from './slip10.ts';

/** The path of our wallets is m/44'/501'/account'/0' (SLIP-0010). */
const PURPOSE = 44;
const COIN = 501;
/** Account of the first hot wallet, far above any deposit address. */
const HOT_ACCOUNT = 2_000_000_000;
const UNITS_LIMIT = 2n ** 64n;
const LAMPORTS_PER_SIGNATURE = 5_000n;
const MICRO = 1_000_000n;
/** The highest deposit that a token account ever needed. It has only fallen since (SIMD-0437). */
const TOKEN_ACCOUNT_LAMPORTS_MAX = 2_039_280n;
/** Limit of the runtime. */
const COMPUTE_UNITS_MAX = 1_400_000n;
const TRANSACTION_BYTES_MAX = 1_232;
const U64_MAX = UNITS_LIMIT - 1n;

const TRANSFER = 2;
const ALLOCATE_WITH_SEED = 9;
const SET_UNIT_LIMIT = 2;
const SET_UNIT_PRICE = 3;

const KEY = /^[0-9a-f]{64}$/;

/** The whole content of a transaction. Keys are hex. */
type Plan = Readonly<{
  feePayer: string;
  blockhash: string;
  unitLimit: bigint;
  unitPrice: bigint;
  /** Of a refund: the seed of the lock's address, its deposit, and the payee. */
  refund: Readonly<{ seed: string; lockLamports: bigint; to: string }> | null;
  /** All of one mint, to one owner. */
  mint: string;
  decimals: number;
  to: string;
  transfers: readonly Readonly<{ owner: string; units: bigint }>[];
}>;

/** Returns the message of a plan. */
function encode(plan: Plan): Uint8Array {
  const { feePayer, refund, mint, decimals, to, transfers, unitLimit, unitPrice } = plan;
  const budget = (number: number, value: Uint8Array): WrittenInstruction => ({
    program: COMPUTE_BUDGET,
    accounts: [],
    data: concatBytes(Uint8Array.of(number), value),
  });
  return writeMessage(feePayer, plan.blockhash, [
    budget(SET_UNIT_LIMIT, littleEndian(unitLimit, 4)),
    budget(SET_UNIT_PRICE, littleEndian(unitPrice, 8)),
    ...(refund ? lockOf(feePayer, refund) : []),
    ...(refund ? [createTokenAccount(feePayer, to, mint)] : []),
    ...transfers.map(({ owner, units }) => transferTokens(owner, to, units, { mint, decimals })),
  ]);
}

const transferCoins = (from: string, to: string, lamports: bigint): WrittenInstruction => ({
  program: SYSTEM,
  accounts: [writer(from, true), writer(to)],
  data: concatBytes(littleEndian(BigInt(TRANSFER), 4), littleEndian(lamports, 8)),
});

/**
 * Returns the instructions that pay the lock's deposit and allocate its data. The whole deposit is paid, no matter what
 * others have sent to the lock. Data of `AllocateWithSeed`: number, base, text with its length, space, owner.
 */
function lockOf(feePayer: string, refund: NonNullable<Plan['refund']>): readonly WrittenInstruction[] {
  const { seed, lockLamports } = refund;
  const lock = lockAddress(feePayer, seed);
  const text = utf8ToBytes(seed);
  return [
    transferCoins(feePayer, lock, lockLamports),
    {
      program: SYSTEM,
      accounts: [writer(lock), reader(feePayer, true)],
      data: concatBytes(
        littleEndian(BigInt(ALLOCATE_WITH_SEED), 4),
        hexToBytes(feePayer),
        littleEndian(BigInt(text.length), 8),
        text,
        littleEndian(BigInt(LOCK_BYTES), 8),
        hexToBytes(SYSTEM),
      ),
    },
  ];
}

// ── Signing ──────────────────────────────────────────────────────────────────────────────────────────────────────────

type Numbers = Readonly<{ unitLimit: bigint; unitPrice: bigint; lockLamports: bigint; blockhash: string }>;

function readTerms(terms: Terms, isRefund: boolean): Numbers {
  const numbers = [
    'last_valid_block_height',
    'compute_unit_limit',
    'compute_unit_price',
    ...(isRefund ? ['lock_deposit_lamports'] : []),
  ];
  const read = termReader(terms, ['blockhash', ...numbers], UNITS_LIMIT);
  for (const name of numbers) read(name);
  const { blockhash = '' } = terms;
  if (!isHash(blockhash)) throw badTerms('blockhash is missing or not 32 bytes in base58');
  const unitLimit = read('compute_unit_limit');
  if (unitLimit === 0n || unitLimit > COMPUTE_UNITS_MAX)
    throw badTerms(`compute_unit_limit ${unitLimit} is not 1 to ${COMPUTE_UNITS_MAX}`);
  const lockLamports = isRefund ? read('lock_deposit_lamports') : 0n;
  if (isRefund && (lockLamports === 0n || lockLamports > TOKEN_ACCOUNT_LAMPORTS_MAX)) {
    throw badTerms(`lock_deposit_lamports ${lockLamports} is not the deposit of an account of ${LOCK_BYTES} byte`);
  }
  return { unitLimit, unitPrice: read('compute_unit_price'), lockLamports, blockhash };
}

function isHash(text: string): boolean {
  try {
    return /^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(text) && base58.decode(text).length === 32;
  } catch {
    return false;
  }
}

function planOf(intent: Intent, network: SpendNetwork, terms: Terms, keys: readonly SpendKey[]): Plan {
  const [payer, ...owners] = keys;
  invariant(payer, 'there is a key for each signer');
  if (intent.kind === 'gas') throw badIntent('gas is not needed here: the gas wallet pays for sweeps');
  const token = tokenOf(network, intent.currency);
  const isRefund = isPayback(intent);
  const to = isPayback(intent) ? intent.to : network.treasury;
  const isMint = network.tokens.some(({ address }) => bytesToHex(base58.decode(address)) === to);
  if (!KEY.test(to) || !isSpendable(to) || isMint || to === payer.key)
    throw badIntent(`"${to}" is not an address that can be paid`);
  if (!isRefund && (intent.from.length === 0 || intent.from.length > 6))
    throw badIntent('a sweep empties one to six deposit addresses');
  const transfers = isRefund
    ? [{ owner: payer.key, units: intent.units }]
    : intent.from.map(({ units }, at) => ({ owner: owners[at]?.key ?? '', units }));
  for (const { units } of transfers) checkUnits(units, UNITS_LIMIT);
  const { unitLimit, unitPrice, lockLamports, blockhash } = readTerms(terms, isRefund);
  return {
    feePayer: payer.key,
    blockhash,
    unitLimit,
    unitPrice,
    refund: isRefund ? { seed: lockSeed(payer.secret, intent.id), lockLamports, to } : null,
    mint: bytesToHex(base58.decode(token.address)),
    decimals: token.decimals,
    to,
    transfers,
  };
}

/**
 * Returns the highest cost: one fee for each signature, the price of the units and, for a refund, the deposits of its
 * lock and of the payee's token account.
 */
function costMax({ unitLimit, unitPrice, refund, transfers }: Plan): bigint {
  const signatures = BigInt(refund ? 1 : transfers.length + 1);
  const priority = (unitLimit * unitPrice + MICRO - 1n) / MICRO;
  return (
    signatures * LAMPORTS_PER_SIGNATURE + priority + (refund ? TOKEN_ACCOUNT_LAMPORTS_MAX + refund.lockLamports : 0n)
  );
}

// ── Reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const uint = (bytes: Uint8Array): bigint => bytes.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n);

/** Returns the plan of a message made by `encode`. Anything ignored here is detected when the plan is encoded again. */
function planIn({ accounts, instructions, blockhash }: SignedMessage, network: SpendNetwork): Plan | null {
  const [limit, price, ...rest] = instructions;
  const [feePayer] = accounts;
  if (!limit || !price || !feePayer || limit.data[0] !== SET_UNIT_LIMIT || price.data[0] !== SET_UNIT_PRICE)
    return null;
  if (limit.program !== COMPUTE_BUDGET || price.program !== COMPUTE_BUDGET) return null;
  const system = rest.filter(({ program }) => program === SYSTEM);
  const budget = {
    feePayer,
    blockhash,
    unitLimit: uint(limit.data.subarray(1)),
    unitPrice: uint(price.data.subarray(1)),
  };
  const isRefund = system.length > 0;
  const account = isRefund ? rest[system.length] : undefined;
  const moves = rest.slice(isRefund ? system.length + 1 : 0);
  const [first] = moves;
  const mint = first?.accounts[1];
  const token = network.tokens.find(({ address }) => bytesToHex(base58.decode(address)) === mint);
  const to = isRefund ? account?.accounts[2] : network.treasury;
  if (!first || mint === undefined || !token || to === undefined) return null;
  return {
    ...budget,
    refund: isRefund ? readLock(system, to) : null,
    mint,
    decimals: token.decimals,
    to,
    transfers: moves.map(({ accounts: named, data }) => ({ owner: named[3] ?? '', units: uint(data.subarray(1, 9)) })),
  };
}

/** Reads the seed and the deposit from the instructions of `lockOf`. */
function readLock(system: SignedMessage['instructions'], to: string): Plan['refund'] {
  const [{ data }] = system.slice(-1) as [SignedMessage['instructions'][number]];
  if (data.length < 44 || Number(uint(data.subarray(36, 44))) !== LOCK_SEED_CHARACTERS) return null;
  const end = 44 + LOCK_SEED_CHARACTERS;
  const seed = new TextDecoder().decode(data.subarray(44, end));
  const lockLamports = uint(system[0]?.data.subarray(4, 12) ?? data);
  return { seed, lockLamports, to };
}

const isSame = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, at) => byte === b[at]);

/** Encodes a plan that was read; null if that is impossible. */
function encodedAgain(plan: Plan): Uint8Array | null {
  const isSane =
    plan.transfers.every(({ owner, units }) => KEY.test(owner) && units > 0n && units < UNITS_LIMIT) &&
    plan.unitLimit <= COMPUTE_UNITS_MAX &&
    plan.unitPrice <= U64_MAX &&
    (plan.refund === null || (plan.refund.lockLamports <= TOKEN_ACCOUNT_LAMPORTS_MAX && plan.transfers.length === 1));
  return isSane && plan.transfers.length > 0 ? encode(plan) : null;
}

function read(bytes: Uint8Array, network: SpendNetwork): SpendReading {
  const signed = readSigned(bytes);
  if (!signed) throw unknownBytes('they are not a signed legacy message');
  const plan = planIn(signed, network);
  if (!plan) throw unknownBytes('its instructions are not those of a payout');
  const again = encodedAgain(plan);
  if (!again || !isSame(again, signed.message)) throw unknownBytes('it contains something besides its payout');
  const { feePayer, refund, mint, to, transfers } = plan;
  const token = bytesToBase58(mint);
  return {
    tx: signed.id,
    chainId: null,
    signers: refund ? [feePayer] : [feePayer, ...transfers.map(({ owner }) => owner)],
    effects: transfers.map(({ owner, units }) => ({ token, from: owner, to, units })),
    feeUnitsMax: costMax(plan),
  };
}

const bytesToBase58 = (key: string): string => base58.encode(hexToBytes(key));

// ── The family's half ────────────────────────────────────────────────────────────────────────────────────────────────

function signers(intent: Intent): readonly Wallet[] {
  const payer = sponsoredFees(intent);
  return intent.kind === 'sweep'
    ? [payer, ...intent.from.map(({ index }) => ({ role: 'collection', index }) as const)]
    : [payer];
}

const accountIndex = (wallet: Wallet): number =>
  wallet.role === 'collection' ? wallet.index : HOT_ACCOUNT + hotChild(wallet);

export const solanaSpending: Spending = {
  derive(seed, wallet) {
    const coin = hardenedChild(hardenedChild(masterNode(seed), PURPOSE), COIN);
    const node = hardenedChild(hardenedChild(coin, accountIndex(wallet)), 0);
    return { wallet, key: bytesToHex(publicKeyOf(node)), secret: node.secret };
  },
  path: (wallet) => `m/${PURPOSE}'/${COIN}'/${accountIndex(wallet)}'/0'`,
  xpub: () => null,
  refundLock: ({ key, secret }, refundId) => lockAddress(key, lockSeed(secret, refundId)),
  signers,

  sign({ network, intent, terms }, keys) {
    const plan = planOf(intent, network, terms, keys);
    const cost = costMax(plan);
    if (cost > network.feeUnitsMax) {
      throw badTerms(`it could cost ${cost} lamports, more than the ${network.feeUnitsMax} that the policy allows`);
    }
    const message = encode(plan);
    const count = message[0] ?? 0;
    // The message lists its signers first. Each signs the whole message. RFC 8032 is deterministic.
    const signatures = Array.from({ length: count }, (_, at) => {
      const key = bytesToHex(message.subarray(4 + at * 32, 36 + at * 32));
      const pair = keys.find((one) => one.key === key);
      invariant(pair, 'only our wallets sign the message');
      return ed25519.sign(message, pair.secret);
    });
    const bytes = concatBytes(Uint8Array.of(count), ...signatures, message);
    invariant(bytes.length <= TRANSACTION_BYTES_MAX, `a transaction of ${bytes.length} bytes fits into a packet`);
    return { tx: base58.encode(signatures[0] ?? new Uint8Array()), bytes };
  },

  read,
};
