/**
 * What became of a generation's attempts: all of them have one wallet and one sequence number, so at most one can ever stand on the chain.
 *
 * Each node answers for itself from what is final on it; then the answers must agree. No attempt is ever `dead` here: until its number is
 * used up it can still be mined, and whatever uses the number up is either one of ours or `foreign`.
 * @module
 */
import { invariant, transient } from '../../../core/fault.ts';
import { unitsOf } from '../../../core/ledger.ts';
import { nonsense, type Origin } from '../../json-rpc.ts';
import type { Outcome, SentAttempt, SpendDraft } from '../../spend.ts';
import { evmAddress } from '../address.ts';
import {
  ADDRESS_TOPIC,
  type Fields,
  hex,
  isFields,
  isSuccess,
  readHeader,
  readQuantity,
  readUnits,
  TRANSFER_TOPIC,
  WORD,
} from '../wire.ts';
import { type EvmRpc, finalBlock, quantity, readCount, resultOf } from './rpc.ts';

/** A receipt as far as payouts care. */
type Receipt = Readonly<{
  tx: string;
  blockHash: string;
  number: number;
  success: boolean;
  feeUnits: bigint;
  logs: readonly unknown[];
}>;

export type OutcomeQuestion = Readonly<{
  draft: SpendDraft;
  /** At least one. */
  attempts: readonly SentAttempt[];
  chainId: string;
  /** A block this deep is final where the node knows no finality. */
  finalDepth: number;
}>;

/** The number that all attempts have, and the wallet whose number it is. */
function laneOf(attempts: readonly SentAttempt[]): Readonly<{ payer: string; nonce: number }> {
  const [first] = attempts;
  invariant(first, 'a outcome is asked of attempts');
  const same = attempts.every(({ payer, terms }) => payer === first.payer && terms.nonce === first.terms.nonce);
  invariant(same && first.terms.nonce !== undefined, 'attempts of one generation share their wallet and its number');
  return { payer: first.payer, nonce: Number(first.terms.nonce) };
}

/** What one node says. @throws Fault transient */
export async function askOutcome(node: EvmRpc, question: OutcomeQuestion): Promise<Outcome> {
  const { draft, attempts } = question;
  // What is final is asked first: a receipt that is missing afterwards was not in it.
  const finalNumber = await finalBlock(node, question);
  const receipts = await receiptsOf(node, attempts, finalNumber);
  const standing = await standingOf(node, receipts);
  if (!standing) {
    const isUsedUp = receipts.length === 0 && (await isNumberUsed(node, attempts, finalNumber));
    return isUsedUp ? foreign(attempts) : { kind: 'waiting', included: null };
  }
  const { tx, number, feeUnits } = standing;
  if (number > finalNumber) return { kind: 'waiting', included: { tx, number } };
  if (!standing.success) return { kind: 'failed', tx, number, feeUnits };
  if (hasPaid(standing, draft)) return { kind: 'succeeded', tx, number, feeUnits };
  throw transient(
    'payout_outcome_unclear',
    `${tx} is final on ${node.host} and succeeded, but its receipt does not show that ${unitsOf(draft.intent)} units left for ${evmAddress.format(draft.to)}: nothing more is paid until a person has looked at it`,
  );
}

/** The receipts that a node has. Behind one address there may be several nodes: only one that holds the final block is believed. */
async function receiptsOf(
  { rpc, host }: EvmRpc,
  attempts: readonly SentAttempt[],
  finalNumber: number,
): Promise<Receipt[]> {
  const origin = { method: 'eth_getTransactionReceipt', host };
  const [final, ...answers] = await rpc.batch([
    { method: 'eth_getBlockByNumber', params: [quantity(finalNumber), false] },
    ...attempts.map(({ tx }) => ({ method: origin.method, params: [tx] })),
  ]);
  invariant(final, 'a batch has an answer for each call');
  if (resultOf(final, { method: 'eth_getBlockByNumber', host }) === null) {
    throw transient('node_block_unknown', `${host} does not hold block ${finalNumber}, which it called final before`);
  }
  return attempts.flatMap(({ tx }, at) => {
    const answer = answers[at];
    invariant(answer, 'a batch has an answer for each call');
    const result = resultOf(answer, origin);
    return result === null ? [] : [readSpent(tx, result, origin)];
  });
}

/** The receipt whose block is the chain's own at its height. @throws Fault transient */
async function standingOf(node: EvmRpc, receipts: readonly Receipt[]): Promise<Receipt | null> {
  const origin = { method: 'eth_getBlockByNumber', host: node.host };
  const places = receipts.map(({ number }) => ({ method: origin.method, params: [quantity(number), false] }));
  const answers = await node.rpc.batch(places);
  const [one, another] = receipts.filter(({ blockHash, number }, at) => {
    const answer = answers[at];
    invariant(answer, 'a batch has an answer for each call');
    const header = resultOf(answer, origin);
    if (header === null) return false;
    const { ref } = readHeader(header, origin);
    return ref.hash === blockHash && ref.number === number;
  });
  if (one && another) throw nonsense(origin, `has both ${one.tx} and ${another.tx}, which exclude each other`);
  return one ?? null;
}

/** Whether the attempts' number is used up in what is final. Old states are asked for only where the head has it used up. */
async function isNumberUsed(node: EvmRpc, attempts: readonly SentAttempt[], finalNumber: number): Promise<boolean> {
  const { payer, nonce } = laneOf(attempts);
  const origin = { method: 'eth_getTransactionCount', host: node.host };
  for (const block of ['latest', quantity(finalNumber)]) {
    const answer = await node.rpc.attempt(origin.method, [`0x${payer}`, block]);
    if (readCount(answer, origin) <= nonce) return false;
  }
  return true;
}

function foreign(attempts: readonly SentAttempt[]): Outcome {
  const { payer, nonce } = laneOf(attempts);
  return {
    kind: 'foreign',
    message: `number ${nonce} of wallet ${evmAddress.format(payer)} was used up by a transaction that Quayside does not know: its key is used elsewhere, or was stolen`,
  };
}

function readSpent(tx: string, value: unknown, origin: Origin): Receipt {
  if (!isFields(value) || hex(value.transactionHash) !== tx) {
    throw nonsense(origin, `answered with a receipt of something else than ${tx}`);
  }
  const blockHash = hex(value.blockHash);
  const number = readQuantity(value.blockNumber);
  const gas = readUnits(value.gasUsed);
  const price = readUnits(value.effectiveGasPrice);
  if (!WORD.test(blockHash) || number === null || gas === null || price === null || !Array.isArray(value.logs)) {
    throw nonsense(origin, 'answered with a receipt without its block, its cost or its logs');
  }
  return { tx, blockHash, number, success: isSuccess(value, origin), feeUnits: gas * price, logs: value.logs };
}

/**
 * Whether the receipt shows that exactly the draft's units left its owner and the payee got them. A token may keep a fee, as USDT can: then a
 * part of them went to somebody else, and no other payout may be made for it.
 */
function hasPaid({ logs }: Receipt, draft: SpendDraft): boolean {
  const { token, owners, to, intent } = draft;
  if (token === null) return true;
  const outgoing = logs.flatMap((log) => readTransfer(log, token.address.toLowerCase(), owners[0] ?? ''));
  const sum = outgoing.reduce((total, { units }) => total + units, 0n);
  return sum === unitsOf(intent) && outgoing.some((transfer) => transfer.to === to && transfer.units > 0n);
}

function readTransfer(log: unknown, token: string, owner: string): Readonly<{ to: string; units: bigint }>[] {
  const { address, topics, data } = isFields(log) ? log : ({} as Fields);
  if (hex(address) !== token || !Array.isArray(topics) || topics.length !== 3) return [];
  const [topic, from, to] = topics.map(hex);
  if (topic !== TRANSFER_TOPIC || from?.slice(26) !== owner || !to || !ADDRESS_TOPIC.test(to)) return [];
  const units = WORD.test(hex(data)) ? readUnits(data) : null;
  return units === null ? [] : [{ to: to.slice(26), units }];
}
