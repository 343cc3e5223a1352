/**
 * Renders a world's blocks as java-tron's JSON: fields, order and omissions are those of its recorded answers (a field
 * with its default value is omitted). Signed transactions are shown as in their bytes, made-up payments with
 * well-formed values.
 */
import { wireAddress } from '../chains/tron/address.ts';
import { readMessage } from '../chains/tron/protobuf.ts';
import { type ContractKind, readTransaction, type TronTransaction } from '../chains/tron/transaction-bytes.ts';
import { invariant } from '../core/fault.ts';
import { abiString, callData, selector, topicsOf, word } from './abi.ts';
import type { WorldBlock } from './block-tree.ts';
import { digest } from './digest.ts';
import { isSigned } from './mempool.ts';
import type { KeyedToken } from './token-calls.ts';
import type { Entry, SignedTransaction, WorldTransaction } from './transaction.ts';
import { BYTE_SUN, ENERGY_SUN, energyPenalty, jsonSun, unlessZero } from './tron-resources.ts';

const HEIGHT_CHARS = 16;
const CHAIN_ID_CHARS = 8;
const WITNESSES = 27;
const VERSION = 32;
const FEE_LIMIT_SUN = 100_000_000;
const ENERGY_PER_ENTRY = 64_285;
const BANDWIDTH_BYTES = 345;
const EXPIRY_MS = 60_000;
const hexText = (text: string): string => Buffer.from(text).toString('hex');
const made = (what: string, id: string, chars: number): string =>
  digest(what, id)
    .repeat(Math.ceil(chars / 64))
    .slice(0, chars);
const typeUrl = (type: string): string => `type.googleapis.com/protocol.${type}`;

/** A block's id starts with its height; the first one's ends with the chain id. */
export function tronBlockId(chainId: string, number: number, digits: string): string {
  const id = number.toString(16).padStart(HEIGHT_CHARS, '0') + digits.slice(HEIGHT_CHARS);
  if (number > 0) return id;
  return id.slice(0, -CHAIN_ID_CHARS) + Number(chainId).toString(16).padStart(CHAIN_ID_CHARS, '0');
}

/**
 * Renders a block.
 * @param detail with its transactions
 */
export function renderBlock(block: WorldBlock, detail: boolean) {
  const isEmpty = block.transactions.length === 0;
  return {
    blockID: block.hash,
    block_header: {
      raw_data: {
        ...unlessZero('number', block.number),
        txTrieRoot: isEmpty ? '0'.repeat(64) : digest('transactions', block.hash),
        witness_address: wireAddress(made('witness', String(block.number % WITNESSES), 40)),
        parentHash: block.parent,
        version: VERSION,
        timestamp: block.timeS * 1000,
      },
      witness_signature: made('signature', block.hash, 130),
    },
    ...(detail && !isEmpty && { transactions: block.transactions.map((one) => renderTransaction(one, block)) }),
  };
}

/** The contract of a transaction: the name of its type, and the fields of its value. */
type Contract = Readonly<{ type: string; value: object; feeLimit?: number }>;
/** Where a transaction is: its block, or the one that it waits for. */
type Place = Pick<WorldBlock, 'parent' | 'timeS'>;

/** Renders the parts that are signed, of a transaction that nobody signed. */
function makeRaw({ type, value, feeLimit = 0 }: Contract, id: string, { parent, timeS }: Place) {
  const timestamp = timeS * 1000 - 3_000;
  const reference = { bytes: made('reference', parent, 4), hash: parent.slice(HEIGHT_CHARS, 2 * HEIGHT_CHARS) };
  return {
    raw_data: {
      contract: [{ parameter: { value, type_url: typeUrl(type) }, type }],
      ref_block_bytes: reference.bytes,
      ref_block_hash: reference.hash,
      expiration: timestamp + EXPIRY_MS,
      ...unlessZero('fee_limit', feeLimit),
      timestamp,
    },
    raw_data_hex: `0a02${reference.bytes}2208${reference.hash}40${made('expiration', id, 12)}5a${hexText(
      typeUrl(type),
    )}${made('value', id, 64)}70${made('time', id, 12)}`,
  };
}

const calling = (owner: string, contract: string, data: string): Contract => ({
  type: 'TriggerSmartContract',
  value: { ...(data && { data }), owner_address: wireAddress(owner), contract_address: wireAddress(contract) },
});

/** Renders the transaction that a constant call would be, which nobody signs or sends. */
export function renderCall(owner: string, contract: string, data: string, tip: Pick<WorldBlock, 'hash' | 'timeS'>) {
  const txID = digest('constant call', tip.hash, owner, contract, data);
  return { txID, ...makeRaw(calling(owner, contract, data), txID, { parent: tip.hash, timeS: tip.timeS }) };
}

/** Returns what a made-up transaction does: a payment in tokens, or a gift of TRX or of a stake. */
function contractOf(transaction: WorldTransaction): Contract {
  const { sender, target, native, lent } = transaction;
  const [coins] = native ?? lent ?? [];
  const owner_address = wireAddress(sender);
  if (!coins) return { ...calling(sender, target, callData(transaction)), feeLimit: FEE_LIMIT_SUN };
  if (native) {
    const value = { amount: coins.units, owner_address, to_address: wireAddress(coins.to) };
    return { type: 'TransferContract', value };
  }
  const value = { resource: 'ENERGY', frozen_balance: coins.units, owner_address: wireAddress(coins.to) };
  return { type: 'FreezeBalanceV2Contract', value };
}

/** Renders a transaction as its block lists it, or as the pool shows it. */
export function renderTransaction(transaction: WorldTransaction, place: Place) {
  if (isSigned(transaction)) return renderSigned(transaction);
  const { id } = transaction;
  return {
    ret: [{ contractRet: resultOf(transaction) }],
    signature: [made('signature', id, 130)],
    txID: id,
    ...makeRaw(contractOf(transaction), id, place),
  };
}

const contractNames: Readonly<Record<ContractKind, string>> = {
  transfer: 'TransferContract',
  trigger: 'TriggerSmartContract',
  delegate: 'DelegateResourceContract',
  undelegate: 'UnDelegateResourceContract',
};

function contractValue({ action }: TronTransaction) {
  const owner_address = wireAddress(action.owner);
  if (action.kind === 'trigger') {
    return { data: action.data, owner_address, contract_address: wireAddress(action.contract) };
  }
  const [amount, to] = [jsonSun(action.units), wireAddress(action.to)];
  if (action.kind === 'transfer') return { amount, owner_address, to_address: to };
  return { balance: amount, resource: 'ENERGY', receiver_address: to, owner_address };
}

function renderSigned({ id, signed }: SignedTransaction) {
  const bytes = Buffer.from(signed.bytes, 'hex');
  const parts = readMessage(bytes, { 1: 'bytes', 2: 'bytes' });
  const transaction = readTransaction(bytes);
  invariant(parts && transaction, 'the pool has read these bytes');
  const { action, refBlockBytes, refBlockHash, expirationMs, feeLimit, timestampMs } = transaction;
  const type = contractNames[action.kind];
  return {
    ret: [{ contractRet: signed.execution?.result ?? 'SUCCESS' }],
    signature: [Buffer.from(parts.bytes(2)).toString('hex')],
    txID: id,
    raw_data: {
      contract: [{ parameter: { value: contractValue(transaction), type_url: typeUrl(type) }, type }],
      ref_block_bytes: refBlockBytes,
      ref_block_hash: refBlockHash,
      expiration: Number(expirationMs),
      ...unlessZero('fee_limit', Number(feeLimit)),
      timestamp: Number(timestampMs),
    },
    raw_data_hex: Buffer.from(parts.bytes(1)).toString('hex'),
  };
}

const failures = ['REVERT', 'OUT_OF_TIME', 'OUT_OF_ENERGY', 'ILLEGAL_OPERATION'] as const;
const failureTexts: Readonly<Record<string, string>> = {
  REVERT: 'REVERT opcode executed',
  OUT_OF_TIME: 'Already Time Out',
  OUT_OF_ENERGY:
    "Not enough energy for 'SSTORE' operation executing: curInvokeEnergyLimit[8000], curOpEnergy[20000], usedEnergy[6448]",
  ILLEGAL_OPERATION: 'Invalid operation code: opCode[fe];',
};

/** The data of `revert("…")`: `Error(string)`. */
export const revertData = (reason: string): string => selector('Error(string)') + abiString(reason);

/** A made-up payment fails in one of four ways. */
const resultOf = ({ succeeded, id }: WorldTransaction): string =>
  succeeded ? 'SUCCESS' : (failures[Number.parseInt(id.slice(-1), 16) % failures.length] ?? 'REVERT');

/** Logs have addresses without the 0x41. */
export const renderLog = (entry: Entry) => ({
  address: entry.token,
  data: word(entry.units.toString(16)),
  topics: topicsOf(entry),
});

/** USDT, the first, returns nothing from `transfer`, and is so busy that a penalty is part of its energy. */
type Tokens = readonly Pick<KeyedToken, 'key'>[];

/** The parts of an info that only contract calls have. */
function callPart({ id, target, entries, succeeded }: WorldTransaction, result: string, tokens: Tokens) {
  const returned = target === tokens[0]?.key ? '' : word('1');
  const isToken = tokens.some(({ key }) => key === target) || entries.every(({ token }) => token === target);
  const log = succeeded ? entries.map(renderLog) : [];
  const inner = entries
    .filter(({ kind }) => kind === 'transfer')
    .map(({ token }, at) => renderInner(id, target, token, at));
  return {
    contractResult: [succeeded ? returned : result === 'REVERT' ? revertData('balance') : ''],
    contract_address: wireAddress(target),
    ...(!succeeded && { result: 'FAILED', resMessage: hexText(failureTexts[result] ?? '') }),
    ...(log.length > 0 && { log }),
    ...(!isToken && succeeded && { internal_transactions: inner }),
  };
}

/** A contract's call of a token. */
const renderInner = (id: string, caller: string, token: string, at: number) => ({
  hash: digest('inner call', id, at),
  caller_address: wireAddress(caller),
  transferTo_address: wireAddress(token),
  callValueInfo: [{}],
  note: hexText('call'),
});

/** `result` is empty where no contract was called. */
type Receipt = Readonly<{
  energy: number;
  allowedEnergy: number;
  allowedBytes: number;
  netFee: number;
  result: string;
}>;

const renderReceipt = ({ energy, allowedEnergy, allowedBytes, netFee, result }: Receipt, penalty: number) => ({
  ...unlessZero('energy_usage', allowedEnergy),
  ...unlessZero('energy_fee', (energy - allowedEnergy) * ENERGY_SUN),
  ...unlessZero('energy_usage_total', energy),
  ...unlessZero('net_usage', allowedBytes),
  ...unlessZero('net_fee', netFee),
  ...(result !== '' && { result }),
  ...unlessZero('energy_penalty_total', penalty),
});

function receiptOf(transaction: WorldTransaction): Receipt {
  if (!isSigned(transaction)) {
    const energy = ENERGY_PER_ENTRY * transaction.entries.length;
    const netFee = BANDWIDTH_BYTES * BYTE_SUN;
    const result = transaction.native || transaction.lent ? '' : resultOf(transaction);
    return { energy, allowedEnergy: 0, allowedBytes: 0, netFee, result };
  }
  const { native, lent, signed } = transaction;
  const { execution, feeUnits } = signed;
  invariant(execution, 'a transaction in a block was executed');
  const { energy, allowedEnergy, allowedBytes, result } = execution;
  const netFee = jsonSun(feeUnits) - (energy - allowedEnergy) * ENERGY_SUN;
  return { energy, allowedEnergy, allowedBytes, netFee, result: native || lent ? '' : result };
}

/** Renders what became of a transaction in its block. */
export function renderInfo(transaction: WorldTransaction, block: WorldBlock, tokens: Tokens) {
  const { id, target, succeeded } = transaction;
  const receipt = receiptOf(transaction);
  const { energy, allowedEnergy, netFee, result } = receipt;
  const isBusy = succeeded && target === tokens[0]?.key;
  const call = result === '' ? { contractResult: [''] } : callPart(transaction, result, tokens);
  return {
    id,
    ...unlessZero('fee', (energy - allowedEnergy) * ENERGY_SUN + netFee),
    blockNumber: block.number,
    blockTimeStamp: block.timeS * 1000,
    receipt: renderReceipt(receipt, isBusy ? energyPenalty(energy) : 0),
    ...call,
  };
}
