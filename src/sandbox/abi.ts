/**
 * The Solidity ABI as far as tokens need it: call data, return values and event topics, all as hex digits without a
 * prefix. The virtual machines of several families share it. Source:
 * https://docs.soliditylang.org/en/latest/abi-spec.html.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import type { Entry, WorldTransaction } from './transaction.ts';

const WORD_CHARS = 64;

export const word = (digits: string): string => digits.padStart(WORD_CHARS, '0');

const signatureHash = (signature: string): string => Buffer.from(keccak_256(Buffer.from(signature))).toString('hex');
/** The first four bytes of a call's data. */
export const selector = (signature: string): string => signatureHash(signature).slice(0, 8);

const topicOf = {
  transfer: signatureHash('Transfer(address,address,uint256)'),
  approval: signatureHash('Approval(address,address,uint256)'),
};
const transferSelector = selector('transfer(address,uint256)');
const TRANSFER_CALL = new RegExp(`^${transferSelector}0{24}([0-9a-f]{40})([0-9a-f]{64})$`);
const transferFromSelector = selector('transferFrom(address,address,uint256)');
const routeSelector = selector('route(address[],address[],uint256[])');

/** The event's hash and its two indexed addresses. The amount is the log's data. */
export const topicsOf = ({ kind, from, to }: Entry): string[] => [topicOf[kind], word(from), word(to)];

/** Returns recipient and units of a call of a token's `transfer`; null for any other data. */
export function readTransferCall(data: string): Readonly<{ to: string; units: bigint }> | null {
  const [, to, units] = TRANSFER_CALL.exec(data) ?? [];
  return to === undefined ? null : { to, units: BigInt(`0x${units}`) };
}

/** Returns the call that the sender made, which may differ from what the token reports: a fee is part of it. */
export function callData({ sender, target, entries }: WorldTransaction): string {
  const transfers = entries.filter((entry) => entry.kind === 'transfer');
  const [first] = transfers;
  if (first && target === first.token) {
    const asked = transfers.reduce((sum, entry) => sum + entry.units, 0n);
    const call = first.from === sender ? transferSelector : transferFromSelector + word(first.from);
    return call + word(first.to) + word(asked.toString(16));
  }
  const lists = [
    transfers.map((entry) => entry.token),
    transfers.map((entry) => entry.to),
    transfers.map((entry) => entry.units.toString(16)),
  ];
  const listBytes = 32 * (1 + transfers.length);
  const offsets = lists.map((_, at) => word((32 * lists.length + at * listBytes).toString(16)));
  const contents = lists.map((list) => [word(list.length.toString(16)), ...list.map(word)].join(''));
  return [routeSelector, ...offsets, ...contents].join('');
}

/** Encodes a string as a contract returns it: its offset, its length, its bytes. */
export function abiString(text: string): string {
  const bytes = Buffer.from(text, 'utf8');
  const digits = bytes.toString('hex');
  const padded = digits.padEnd(WORD_CHARS * Math.ceil(digits.length / WORD_CHARS), '0');
  return word('20') + word(bytes.length.toString(16)) + padded;
}
