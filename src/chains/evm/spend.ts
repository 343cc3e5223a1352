/**
 * Signs the payouts of EVM networks: EIP-1559 transactions that call an ERC-20's `transfer`, or send native coin to a
 * deposit address. Nothing else is ever built, and nothing else is accepted when read back.
 *
 * Terms, all decimal text: `nonce`, `gas_limit`, and in wei `max_fee_per_gas` and `max_priority_fee_per_gas`. Sources:
 * EIP-1559, EIP-2718, ERC-20. ethers does the encoding; it never gets the keys, which it would keep as text that cannot
 * be wiped.
 *
 * @module
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { Signature, Transaction } from 'ethers';
import { invariant } from '../../core/fault.ts';
import type { Intent } from '../../core/intent.ts';
import type { Spending, SpendKey, SpendNetwork, SpendReading, Terms } from '../spend.ts';
import {
  badIntent,
  badTerms,
  checkPayment,
  ownSigners,
  termReader,
  tokenPayment,
  unknownBytes,
} from '../spend-order.ts';
import { evmAddress } from './address.ts';
import { evmWalletKeys } from './wallet-keys.ts';
import { TRANSFER_SELECTOR, transferCall } from './wire.ts';

const TYPE = 2;
/** A call's data: the selector, and the recipient and the amount as words of 32 bytes. */
const TRANSFER_DATA = new RegExp(`^0x${TRANSFER_SELECTOR}0{24}([0-9a-f]{40})([0-9a-f]{64})$`);
const UNITS_LIMIT = 2n ** 256n;
/** The minimum that every transaction costs. */
const GAS_MIN = 21_000n;
/** Twice what any EVM network allows in a block. */
const GAS_MAX = 2n ** 28n;

const termNames = ['nonce', 'gas_limit', 'max_fee_per_gas', 'max_priority_fee_per_gas'] as const;
type TermName = (typeof termNames)[number];

/** Reads the terms as numbers, each within its bounds and the fee within the network's cap. */
function readTerms(terms: Terms, feeUnitsMax: bigint): Readonly<Record<TermName, bigint>> {
  const read = termReader(terms, termNames, UNITS_LIMIT);
  const [nonce, gas, maxFee, tip] = termNames.map(read) as [bigint, bigint, bigint, bigint];
  if (nonce > BigInt(Number.MAX_SAFE_INTEGER)) throw badTerms(`nonce ${nonce} is out of range`);
  if (gas < GAS_MIN || gas > GAS_MAX) throw badTerms(`gas_limit ${gas} is not ${GAS_MIN} to ${GAS_MAX}`);
  if (tip > maxFee) throw badTerms(`max_priority_fee_per_gas ${tip} is above max_fee_per_gas ${maxFee}`);
  if (gas * maxFee > feeUnitsMax) {
    throw badTerms(`it could cost ${gas * maxFee} wei, more than the ${feeUnitsMax} that the policy allows`);
  }
  return { nonce, gas_limit: gas, max_fee_per_gas: maxFee, max_priority_fee_per_gas: tip };
}

/** The call that a transaction makes: contract or account, value and data. */
type Call = Readonly<{ to: string; value: bigint; data: string }>;

function callOf(intent: Intent, network: SpendNetwork, payer: string, receiver: SpendKey | undefined): Call {
  if (intent.kind !== 'gas') {
    const { token, to, units } = tokenPayment(intent, network, payer, evmAddress.parse);
    return { to: token.address, value: 0n, data: transferCall(to, units) };
  }
  if (intent.form !== 'transfer') throw badIntent(`gas cannot be sent as "${intent.form}" here, only as "transfer"`);
  invariant(receiver, 'the keys of a gas intent include the address that receives gas');
  checkPayment(receiver.key, intent.units, UNITS_LIMIT);
  return { to: evmAddress.format(receiver.key), value: intent.units, data: '0x' };
}

/** Returns what a transaction of one call moves, and where. */
function effectOf(transaction: Transaction, from: string, network: SpendNetwork): SpendReading['effects'][number] {
  const { to, value, data } = transaction;
  if (to === null) throw unknownBytes('it creates a contract');
  const target = to.slice(2).toLowerCase();
  const token = network.tokens.find(({ address }) => evmAddress.parse(address) === target);
  if (!token) {
    if (data !== '0x') throw unknownBytes(`it calls ${to}, which is not a token of this network`);
    if (value === 0n) throw unknownBytes('it moves nothing');
    return { token: null, from, to: target, units: value };
  }
  if (value !== 0n) throw unknownBytes('it sends native coin to a token contract');
  const [, recipient, digits] = TRANSFER_DATA.exec(data) ?? [];
  if (recipient === undefined || digits === undefined) throw unknownBytes('its call is not exactly a token transfer');
  const units = BigInt(`0x${digits}`);
  if (units === 0n) throw unknownBytes('it moves nothing');
  return { token: token.address, from, to: recipient, units };
}

/** Returns the transaction whose one canonical form the bytes are, and who signed it. */
function decode(bytes: Uint8Array): Readonly<{ transaction: Transaction; sender: string }> {
  const text = `0x${bytesToHex(bytes)}`;
  const { transaction, from, serialized } = parse(text);
  if (transaction.type !== TYPE || from === null) throw unknownBytes('it is not a signed EIP-1559 transaction');
  if (serialized !== text) throw unknownBytes('they are not its canonical form');
  return { transaction, sender: from.slice(2).toLowerCase() };
}

function parse(text: string): Readonly<{ transaction: Transaction; from: string | null; serialized: string }> {
  try {
    const transaction = Transaction.from(text);
    // ethers detects a signature that no key can have made only when these are read.
    const { from, serialized } = transaction;
    return { transaction, from, serialized };
  } catch (error) {
    throw unknownBytes('they do not decode', error);
  }
}

export const evmSpending: Spending = {
  ...evmWalletKeys,
  signers: ownSigners,

  sign({ network, intent, terms }, keys) {
    const [payer, receiver] = keys;
    invariant(payer, 'there is a key for each signer');
    const { nonce, gas_limit, max_fee_per_gas, max_priority_fee_per_gas } = readTerms(terms, network.feeUnitsMax);
    const transaction = Transaction.from({
      ...callOf(intent, network, payer.key, receiver),
      type: TYPE,
      chainId: network.chainId,
      nonce: Number(nonce),
      gasLimit: gas_limit,
      maxFeePerGas: max_fee_per_gas,
      maxPriorityFeePerGas: max_priority_fee_per_gas,
      accessList: [],
    });
    // RFC 6979, so the same order gives the same bytes. The first byte says which of the possible public keys signed.
    const digest = hexToBytes(transaction.unsignedHash.slice(2));
    const signature = secp256k1.sign(digest, payer.secret, { prehash: false, format: 'recovered' });
    transaction.signature = Signature.from({
      r: `0x${bytesToHex(signature.subarray(1, 33))}`,
      s: `0x${bytesToHex(signature.subarray(33))}`,
      yParity: signature[0] === 1 ? 1 : 0,
    });
    const { hash, serialized } = transaction;
    invariant(hash, 'a signed transaction has a hash');
    return { tx: hash, bytes: hexToBytes(serialized.slice(2)) };
  },

  read(bytes, network) {
    const { transaction, sender } = decode(bytes);
    const { hash, chainId, accessList, gasLimit, maxFeePerGas } = transaction;
    if (chainId.toString() !== network.chainId)
      throw unknownBytes(`it is for chain ${chainId}, not ${network.chainId}`);
    if (accessList && accessList.length > 0) throw unknownBytes('it has an access list');
    invariant(hash && maxFeePerGas !== null, 'a signed EIP-1559 transaction has a hash and a fee');
    return {
      tx: hash,
      chainId: chainId.toString(),
      signers: [sender],
      effects: [effectOf(transaction, sender, network)],
      feeUnitsMax: gasLimit * maxFeePerGas,
    };
  },
};
