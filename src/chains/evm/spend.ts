/**
 * Signs the payouts of EVM networks: EIP-1559 transactions that call an ERC-20's `transfer`, or send native coin to a
 * deposit address. No other transaction is built, and none is accepted when it is read back.
 *
 * Terms, all decimal text: `nonce`, `gas_limit`, and in wei `max_fee_per_gas` and `max_priority_fee_per_gas`. Sources:
 * EIP-1559, EIP-2718, ERC-20. `transaction-bytes.ts` does the encoding.
 */
import { invariant } from '../../core/fault.ts';
import type { Intent } from '../../core/intent.ts';
import type { Terms } from '../../core/spend.ts';
import { readTransferData, transferData } from '../erc20.ts';
import type { Spending, SpendKey, SpendNetwork } from '../spend.ts';
import {
  badIntent,
  badTerms,
  checkPayment,
  ownSigners,
  termReader,
  tokenPayment,
  unknownBytes,
} from '../spend-order.ts';
import { walletKeysOf } from '../xpub.ts';
import { evmAddress } from './address.ts';
import { type FeeMarketTransaction, readSignedTransaction, signTransaction } from './transaction-bytes.ts';

/** Ethereum's number in SLIP-44, used for every EVM network. */
const COIN = 60;
const UNITS_LIMIT = 2n ** 256n;
/** Gas of the cheapest transaction. */
const GAS_MIN = 21_000n;
/** Twice the block gas limit of any EVM network. */
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
type Call = Pick<FeeMarketTransaction, 'to' | 'valueWei' | 'data'>;

function callOf(intent: Intent, network: SpendNetwork, payer: string, receiver: SpendKey | undefined): Call {
  if (intent.kind !== 'gas') {
    const { token, to, units } = tokenPayment(intent, network, payer, evmAddress.parse);
    const contract = evmAddress.parse(token.address);
    invariant(contract, 'the policy checked its token addresses');
    return { to: contract, valueWei: 0n, data: transferData(to, units) };
  }
  if (intent.form !== 'transfer') throw badIntent(`gas cannot be sent as "${intent.form}" here, only as "transfer"`);
  invariant(receiver, 'the keys of gas include the wallet that receives it');
  checkPayment(receiver.key, intent.units, UNITS_LIMIT);
  return { to: receiver.key, valueWei: intent.units, data: '' };
}

/** Returns the transfer that a transaction makes. */
function effectOf(transaction: FeeMarketTransaction, from: string, network: SpendNetwork) {
  const { to, valueWei, data } = transaction;
  if (to === null) throw unknownBytes('it creates a contract');
  const token = network.tokens.find(({ address }) => evmAddress.parse(address) === to);
  if (!token) {
    if (data !== '') throw unknownBytes(`it calls ${evmAddress.format(to)}, which is not a token of this network`);
    if (valueWei === 0n) throw unknownBytes('it moves nothing');
    return { token: null, from, to, units: valueWei };
  }
  if (valueWei !== 0n) throw unknownBytes('it sends native coin to a token contract');
  const moved = readTransferData(data);
  if (!moved) throw unknownBytes('its call is not exactly a token transfer');
  if (moved.units === 0n) throw unknownBytes('it moves nothing');
  return { token: token.address, from, ...moved };
}

export const evmSpending: Spending = {
  ...walletKeysOf(COIN),
  signers: ownSigners,

  sign({ network, intent, terms }, keys) {
    const [payer, receiver] = keys;
    invariant(payer, 'there is a key for each signer');
    const { nonce, gas_limit, max_fee_per_gas, max_priority_fee_per_gas } = readTerms(terms, network.feeUnitsMax);
    const call = callOf(intent, network, payer.key, receiver);
    const fees = { gas: gas_limit, maxFeeWei: max_fee_per_gas, tipWei: max_priority_fee_per_gas };
    return signTransaction({ ...call, ...fees, chainId: BigInt(network.chainId), nonce }, payer.secret);
  },

  read(bytes, network) {
    const signed = readSignedTransaction(bytes);
    if (!signed) throw unknownBytes('they are not a signed EIP-1559 transaction in its canonical form');
    const { transaction, tx, sender } = signed;
    const { chainId, gas, maxFeeWei } = transaction;
    if (chainId.toString() !== network.chainId)
      throw unknownBytes(`it is for chain ${chainId}, not ${network.chainId}`);
    return {
      tx,
      chainId: chainId.toString(),
      signers: [sender],
      effects: [effectOf(transaction, sender, network)],
      feeUnitsMax: gas * maxFeeWei,
    };
  },
};
