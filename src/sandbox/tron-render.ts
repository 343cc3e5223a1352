/**
 * How blocks of a world look in java-tron's JSON: field sets, order and omissions are those of its documentation and `Tron.proto` (a field
 * that has its default value is left out). What the world has no notion of (signatures, energy) is filled with well-formed values.
 * @module
 */
import { wireAddress } from '../chains/tron/address.ts';
import { callData, topicsOf, word } from './abi.ts';
import type { WorldBlock } from './block-tree.ts';
import { digest } from './random.ts';
import type { WorldTransaction } from './transaction.ts';

const HEIGHT_CHARS = 16;
const CHAIN_ID_CHARS = 8;
const WITNESSES = 27;
const VERSION = 34;
const FEE_LIMIT_SUN = 100_000_000;
const ENERGY_PRICE_SUN = 100;
const ENERGY_PER_ENTRY = 64_285;
const BANDWIDTH_PRICE_SUN = 1_000;
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

/** A field that is left out when it has its default value. */
const unlessZero = (name: string, value: number) => (value === 0 ? {} : { [name]: value });

/** @param detail with its transactions */
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

/** Every second failure is one whose logs java-tron keeps. */
const keepsLogs = ({ succeeded, id }: WorldTransaction): boolean =>
  succeeded || Number.parseInt(id.slice(-1), 16) % 2 === 0;

const resultOf = (transaction: WorldTransaction): string =>
  transaction.succeeded ? 'SUCCESS' : keepsLogs(transaction) ? 'OUT_OF_TIME' : 'REVERT';

export function renderInfo(transaction: WorldTransaction, block: WorldBlock) {
  const { id, entries, succeeded, target } = transaction;
  const result = resultOf(transaction);
  const energy = ENERGY_PER_ENTRY * entries.length;
  const energyFee = energy * ENERGY_PRICE_SUN;
  const netFee = BANDWIDTH_BYTES * BANDWIDTH_PRICE_SUN;
  const log = entries.map((entry) => ({
    // Logs have addresses without the 0x41.
    address: entry.token,
    topics: topicsOf(entry),
    data: word(entry.units.toString(16)),
  }));
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
      resMessage: hexText(
        result === 'REVERT' ? 'REVERT opcode executed' : "CPU timeout for 'SSTORE' operation executing",
      ),
    }),
  };
}
