/**
 * Signs TRON's payouts: calls of a TRC-20's `transfer` and, for gas, transfers of TRX or loans of energy from the gas
 * wallet's stake. `transaction-bytes.ts` encodes the bytes and reads them.
 *
 * Terms: `ref_block_number`, `timestamp_ms`, `expiration_ms` and `fee_limit` (sun) as decimal text, and
 * `ref_block_hash`, bytes 8 to 15 of the reference block's id, as hex. Sources:
 * https://developers.tron.network/docs/tron-protocol-transaction, java-tron `Constant.java`, `Manager.validateCommon`
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { invariant } from '../../core/fault.ts';
import type { Intent } from '../../core/intent.ts';
import type { Terms } from '../../core/spend.ts';
import { readTransferData, transferData } from '../erc20.ts';
import type { Spending, SpendKey, SpendNetwork, SpendReading } from '../spend.ts';
import {
  badTerms,
  checkPayment,
  ownSigners,
  type TokenPayment,
  termReader,
  tokenPayment,
  unknownBytes,
} from '../spend-order.ts';
import { walletKeysOf } from '../xpub.ts';
import { tronAddress } from './address.ts';
import {
  type RawTransaction,
  rawBytes,
  readTransaction,
  signedTransaction,
  type TronAction,
  transactionDigest,
  wireSignature,
} from './transaction-bytes.ts';

/** TRON's number in SLIP-44. */
const COIN = 195;
const SUN_LIMIT = BigInt(Number.MAX_SAFE_INTEGER) + 1n;
const REF_BLOCK_HASH = /^[0-9a-f]{16}$/;
const NUMBERS_OF_REF_BLOCKS = 0x1_0000n;
const EXPIRATION_MS_MAX = 24n * 3600n * 1000n;
/** The last time that a `Date` can show (ECMA-262, "Time Values and Time Range"). */
const TIME_MS_MAX = 8_640_000_000_000_000n;
/** TRX burned for the bandwidth of a byte (chain parameter getTransactionFee), and for creating an account. */
const SUN_PER_BYTE = 1_000n;
/** A transaction also pays for the space that its result may need. */
const RESULT_BYTES = 64;
const ACTIVATION_SUN = 1_100_000n;

const numberNames = ['ref_block_number', 'timestamp_ms', 'expiration_ms', 'fee_limit'] as const;
type NumberName = (typeof numberNames)[number];
type ReadTerms = Readonly<Record<NumberName, bigint>> & Readonly<{ ref_block_hash: string }>;

function readTerms(terms: Terms): ReadTerms {
  const read = termReader(terms, [...numberNames, 'ref_block_hash'], SUN_LIMIT);
  const [ref_block_number, timestamp_ms, expiration_ms, fee_limit] = numberNames.map(read) as [
    bigint,
    bigint,
    bigint,
    bigint,
  ];
  const { ref_block_hash = '' } = terms;
  if (!REF_BLOCK_HASH.test(ref_block_hash)) throw badTerms('ref_block_hash is missing or not 8 bytes of hex');
  if (timestamp_ms === 0n) throw badTerms('timestamp_ms is zero');
  if (expiration_ms <= timestamp_ms || expiration_ms > timestamp_ms + EXPIRATION_MS_MAX) {
    throw badTerms('expiration_ms is not within 24 hours after timestamp_ms');
  }
  if (expiration_ms > TIME_MS_MAX) throw badTerms(`expiration_ms ${expiration_ms} is no time`);
  return { ref_block_number, timestamp_ms, expiration_ms, fee_limit, ref_block_hash };
}

function tokenCall({ token, to, units }: TokenPayment, payer: string): TronAction {
  const contract = tronAddress.parse(token.address);
  invariant(contract, 'the policy checked its token addresses');
  return { kind: 'trigger', owner: payer, contract, data: transferData(to, units) };
}

const gasKinds = { transfer: 'transfer', delegate: 'delegate', reclaim: 'undelegate' } as const;

function actionOf(intent: Intent, network: SpendNetwork, payer: string, receiver: SpendKey | undefined): TronAction {
  if (intent.kind !== 'gas') return tokenCall(tokenPayment(intent, network, payer, tronAddress.parse), payer);
  invariant(receiver, 'the keys of gas include the wallet that receives it');
  checkPayment(receiver.key, intent.units, SUN_LIMIT);
  return {
    kind: gasKinds[intent.form],
    owner: payer,
    to: receiver.key,
    units: intent.units,
  };
}

const rawOf = (action: TronAction, terms: ReadTerms): RawTransaction => ({
  action,
  refBlockBytes: (terms.ref_block_number % NUMBERS_OF_REF_BLOCKS).toString(16).padStart(4, '0'),
  refBlockHash: terms.ref_block_hash,
  expirationMs: terms.expiration_ms,
  timestampMs: terms.timestamp_ms,
  feeLimit: terms.fee_limit,
});

const isNew = (effect: SpendReading['effects'][number]): boolean => effect.token === null;

/**
 * Returns the highest cost: energy up to the limit, the bandwidth of every byte and, for TRX, the creation of the
 * payee's account.
 */
function costMax(bytes: Uint8Array, feeLimit: bigint, effect: SpendReading['effects'][number]): bigint {
  return feeLimit + SUN_PER_BYTE * BigInt(bytes.length + RESULT_BYTES) + (isNew(effect) ? ACTIVATION_SUN : 0n);
}

function effectOf(transaction: NonNullable<ReturnType<typeof readTransaction>>, network: SpendNetwork) {
  const { action } = transaction;
  if (action.kind !== 'trigger') {
    if (action.units <= 0n) throw unknownBytes('it moves nothing');
    const { owner, to, units } = action;
    const isBack = action.kind === 'undelegate';
    return { token: null, from: isBack ? to : owner, to: isBack ? owner : to, units };
  }
  const token = network.tokens.find(({ address }) => tronAddress.parse(address) === action.contract);
  if (!token)
    throw unknownBytes(`it calls ${tronAddress.format(action.contract)}, which is not a token of this network`);
  const moved = readTransferData(action.data);
  if (!moved) throw unknownBytes('its call is not exactly a token transfer');
  if (moved.units === 0n) throw unknownBytes('it moves nothing');
  return { token: token.address, from: action.owner, ...moved };
}

function read(bytes: Uint8Array, network: SpendNetwork): SpendReading {
  const transaction = readTransaction(bytes);
  if (!transaction) throw unknownBytes('they are not a signed transaction of a known kind in its canonical form');
  const { tx, signer, action, feeLimit } = transaction;
  if (action.owner !== signer) throw unknownBytes('its owner has not signed it');
  const move = effectOf(transaction, network);
  return { tx, chainId: null, signers: [signer], effects: [move], feeUnitsMax: costMax(bytes, feeLimit, move) };
}

export const tronSpending: Spending = {
  ...walletKeysOf(COIN),
  signers: ownSigners,

  sign({ network, intent, terms }, keys) {
    const [payer, receiver] = keys;
    invariant(payer, 'there is a key for each signer');
    const raw = rawBytes(rawOf(actionOf(intent, network, payer.key, receiver), readTerms(terms)));
    const digest = transactionDigest(raw);
    // RFC 6979, so the same order gives the same bytes.
    const signature = secp256k1.sign(digest, payer.secret, { prehash: false, format: 'recovered' });
    const bytes = signedTransaction(raw, wireSignature(signature));
    const { feeUnitsMax } = read(bytes, network);
    if (feeUnitsMax > network.feeUnitsMax) {
      throw badTerms(`it could cost ${feeUnitsMax} sun, more than the ${network.feeUnitsMax} that the policy allows`);
    }
    return { tx: bytesToHex(digest), bytes };
  },

  read,
};
