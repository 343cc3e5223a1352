/**
 * Renders a world's blocks as java-tron's JSON: fields, order and omissions are those of its documentation and
 * `Tron.proto` (a field with its default value is omitted). Signed transactions are shown as in their bytes, made-up
 * payments with well-formed values.
 *
 * @module
 */
import { wireAddress } from '../chains/tron/address.ts';
import { readMessage } from '../chains/tron/protobuf.ts';
import { type ContractKind, readTransaction, type TronTransaction } from '../chains/tron/transaction-bytes.ts';
import { invariant } from '../core/fault.ts';
import { callData, topicsOf, word } from './abi.ts';
import type { WorldBlock } from './block-tree.ts';
import { isSigned } from './mempool.ts';
import { digest } from './random.ts';
import type { Execution, SignedTransaction, WorldTransaction } from './transaction.ts';
import { BYTE_SUN, ENERGY_SUN, jsonSun, unlessZero } from './tron-resources.ts';

const HEIGHT_CHARS = 16;
const CHAIN_ID_CHARS = 8;
const WITNESSES = 27;
const VERSION = 34;
const FEE_LIMIT_SUN = 100_000_000;
const ENERGY_PER_ENTRY = 64_285;
const BANDWIDTH_BYTES = 345;
const EXPIRY_MS = 60_000;

const hexText = (text: string): string => Buffer.from(text).toString('hex');
const made = (what: string, id: string, chars: number): string =>
  digest(what, id)
    .repeat(Math.ceil(chars / 64))
    .slice(0, chars);

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
        ...unlessZero('timestamp', block.timeS * 1000),
      },
      witness_signature: made('signature', block.hash, 130),
    },
    ...(detail && !isEmpty && { transactions: block.transactions.map((one) => renderTransaction(one, block)) }),
  };
}

export function renderTransaction(transaction: WorldTransaction, block: WorldBlock) {
  if (isSigned(transaction)) return renderSigned(transaction);
  const data = callData(transaction);
  const timestamp = block.timeS * 1000 - 3_000;
  const refBlockBytes = made('reference', block.parent, 4);
  const refBlockHash = block.parent.slice(HEIGHT_CHARS, 2 * HEIGHT_CHARS);
  const [owner, contract] = [wireAddress(transaction.sender), wireAddress(transaction.target)];
  return {
    ret: [{ contractRet: resultOf(transaction) }],
    signature: [made('signature', transaction.id, 130)],
    txID: transaction.id,
    raw_data: {
      contract: [
        {
          parameter: {
            value: { data, owner_address: owner, contract_address: contract },
            type_url: 'type.googleapis.com/protocol.TriggerSmartContract',
          },
          type: 'TriggerSmartContract',
        },
      ],
      ref_block_bytes: refBlockBytes,
      ref_block_hash: refBlockHash,
      expiration: timestamp + EXPIRY_MS,
      fee_limit: FEE_LIMIT_SUN,
      timestamp,
    },
    raw_data_hex: `0a02${refBlockBytes}2208${refBlockHash}40${made('expiration', transaction.id, 12)}5aae01081f12a9010a31${hexText(
      'type.googleapis.com/protocol.TriggerSmartContract',
    )}12740a15${owner}1215${contract}22${(data.length / 2).toString(16)}${data}70${made('time', transaction.id, 12)}900180c2d72f`,
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
  const parameter = { value: contractValue(transaction), type_url: `type.googleapis.com/protocol.${type}` };
  return {
    ret: [{ contractRet: signed.execution?.result ?? 'SUCCESS' }],
    signature: [Buffer.from(parts.bytes(2)).toString('hex')],
    txID: id,
    raw_data: {
      contract: [{ parameter, type }],
      ref_block_bytes: refBlockBytes,
      ref_block_hash: refBlockHash,
      expiration: Number(expirationMs),
      ...unlessZero('fee_limit', Number(feeLimit)),
      timestamp: Number(timestampMs),
    },
    raw_data_hex: Buffer.from(parts.bytes(1)).toString('hex'),
  };
}

/** java-tron keeps the logs of some failed transactions; here, of every second one. */
const keepsLogs = ({ succeeded, id }: WorldTransaction): boolean =>
  succeeded || Number.parseInt(id.slice(-1), 16) % 2 === 0;

const resultOf = (transaction: WorldTransaction): string =>
  transaction.succeeded ? 'SUCCESS' : keepsLogs(transaction) ? 'OUT_OF_TIME' : 'REVERT';

const logsOf = ({ entries }: WorldTransaction) =>
  entries.map((entry) => ({
    // Logs have addresses without the 0x41.
    address: entry.token,
    topics: topicsOf(entry),
    data: word(entry.units.toString(16)),
  }));

const failureTexts: Readonly<Record<string, string>> = {
  REVERT: 'REVERT opcode executed',
  OUT_OF_ENERGY: "Not enough energy for 'SSTORE' operation executing",
  OUT_OF_TIME: "CPU timeout for 'SSTORE' operation executing",
};

/** The parts of an info that only contract calls have. */
function renderCall(transaction: SignedTransaction, { result, energy, allowedEnergy }: Execution) {
  const { succeeded, target } = transaction;
  return {
    contractResult: [succeeded ? word('1') : ''],
    contract_address: wireAddress(target),
    receipt: {
      ...unlessZero('energy_usage', allowedEnergy),
      ...unlessZero('energy_fee', (energy - allowedEnergy) * ENERGY_SUN),
      ...unlessZero('energy_usage_total', energy),
      result,
    },
    ...(succeeded && { log: logsOf(transaction) }),
    ...(!succeeded && { result: 'FAILED', resMessage: hexText(failureTexts[result] ?? '') }),
  };
}

function renderSignedInfo(transaction: SignedTransaction, block: WorldBlock) {
  const { id, native, lent, signed } = transaction;
  const { execution } = signed;
  invariant(execution, 'a transaction in a block was executed');
  const call = native || lent ? { contractResult: [''], receipt: {} } : renderCall(transaction, execution);
  const energyFee = (execution.energy - execution.allowedEnergy) * ENERGY_SUN;
  return {
    id,
    ...unlessZero('fee', jsonSun(signed.feeUnits)),
    blockNumber: block.number,
    blockTimeStamp: block.timeS * 1000,
    ...call,
    receipt: {
      ...call.receipt,
      ...unlessZero('net_usage', execution.allowedBytes),
      ...unlessZero('net_fee', jsonSun(signed.feeUnits) - energyFee),
    },
  };
}

export function renderInfo(transaction: WorldTransaction, block: WorldBlock) {
  if (isSigned(transaction)) return renderSignedInfo(transaction, block);
  const { id, entries, succeeded, target } = transaction;
  const result = resultOf(transaction);
  const energy = ENERGY_PER_ENTRY * entries.length;
  const energyFee = energy * ENERGY_SUN;
  const netFee = BANDWIDTH_BYTES * BYTE_SUN;
  const log = logsOf(transaction);
  return {
    id,
    fee: energyFee + netFee,
    blockNumber: block.number,
    blockTimeStamp: block.timeS * 1000,
    contractResult: [succeeded ? word('1') : ''],
    contract_address: wireAddress(target),
    receipt: { energy_fee: energyFee, energy_usage_total: energy, net_fee: netFee, result },
    ...(keepsLogs(transaction) && log.length > 0 && { log }),
    ...(!succeeded && {
      result: 'FAILED',
      resMessage: hexText(failureTexts[result] ?? ''),
    }),
  };
}
