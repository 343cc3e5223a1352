/**
 * Finds the final transaction that used a wallet's sequence number. Nodes have no index of that: the wallet's count in
 * older and older states tells the block, and the block has the transaction.
 * @module
 */
import { invariant, transient } from '../../../core/fault.ts';
import { isFields } from '../../../core/fields.ts';
import type { Token } from '../../../core/transfer.ts';
import { nonsense } from '../../json-rpc.ts';
import type { Spent } from '../../spend.ts';
import { ADDRESS, ADDRESS_TOPIC, hex, isSuccess, readQuantity, readUnits, TRANSFER_TOPIC, WORD } from '../wire.ts';
import { type EvmRpc, errorFault, finalBlock, quantity, readCount, resultOf } from './rpc.ts';

export type NumberQuestion = Readonly<{
  payer: string;
  nonce: number;
  chainId: string;
  finalDepth: number;
  tokens: readonly Token[];
}>;

/**
 * Returns what used the number, as every node shows it; null if it is not used, or no node has the states that tell.
 * @throws Fault transient
 */
export async function askUsedBy(nodes: readonly EvmRpc[], question: NumberQuestion): Promise<Spent | null> {
  for (const node of nodes) {
    const tx = await locate(node, question);
    if (tx === null) continue;
    const [first, ...others] = await Promise.all(nodes.map((one) => readSpent(one, tx, question)));
    invariant(first, 'at least one node answered');
    if (others.every((other) => describe(other) === describe(first))) return first;
    throw transient(
      'payout_nodes_disagree',
      `the network's nodes disagree about what ${tx} moved: find out which of them is wrong`,
    );
  }
  return null;
}

/** Returns the id of the transaction that used the number, according to one node. */
async function locate(node: EvmRpc, question: NumberQuestion): Promise<string | null> {
  const { payer, nonce } = question;
  const finalNumber = await finalBlock(node, question);
  const isUsedAt = async (block: number): Promise<boolean | null> => {
    const count = await countAt(node, payer, block);
    return count === null ? null : count > nonce;
  };
  if (!(await isUsedAt(finalNumber))) return null;
  let used = finalNumber;
  let unused = -1;
  for (let step = 1; used > 0; step *= 2) {
    const block = Math.max(0, used - step);
    const isUsed = await isUsedAt(block);
    if (isUsed === null) {
      // The steps have grown past the states that the node keeps; smaller ones may still do.
      if (step === 1) return null;
      step = 0.5;
      continue;
    }
    if (!isUsed) {
      unused = block;
      break;
    }
    used = block;
  }
  while (used - unused > 1) {
    const middle = Math.floor((used + unused) / 2);
    if (await isUsedAt(middle)) used = middle;
    else unused = middle;
  }
  return transactionIn(node, used, question);
}

/** Returns how many transactions a wallet had sent by a block; null if the node no longer has that state. */
async function countAt({ rpc, host }: EvmRpc, payer: string, block: number): Promise<number | null> {
  const origin = { method: 'eth_getTransactionCount', host };
  const answer = await rpc.attempt(origin.method, [`0x${payer}`, quantity(block)]);
  if (!answer.ok && errorFault(answer.error, origin).code === 'node_history_pruned') return null;
  return readCount(answer, origin);
}

async function transactionIn({ rpc, host }: EvmRpc, block: number, { payer, nonce }: NumberQuestion): Promise<string> {
  const origin = { method: 'eth_getBlockByNumber', host };
  const answer = resultOf(await rpc.attempt(origin.method, [quantity(block), true]), origin);
  const { transactions } = isFields(answer) ? answer : {};
  if (!Array.isArray(transactions)) throw nonsense(origin, 'answered with a block without its transactions');
  const found: unknown = transactions.find(
    (one) => isFields(one) && hex(one.from) === `0x${payer}` && readQuantity(one.nonce) === nonce,
  );
  const tx = isFields(found) ? hex(found.hash) : '';
  if (WORD.test(tx)) return tx;
  throw nonsense(origin, `counts a transaction of 0x${payer} in block ${block} and does not show it there`);
}

/** Returns what a transaction moved out of the wallet, according to one node. */
async function readSpent({ rpc, host }: EvmRpc, tx: string, { payer, nonce, tokens }: NumberQuestion): Promise<Spent> {
  const [method, receiptMethod] = ['eth_getTransactionByHash', 'eth_getTransactionReceipt'];
  const [sent, receipt] = await rpc.batch([method, receiptMethod].map((one) => ({ method: one, params: [tx] })));
  invariant(sent && receipt, 'a batch has an answer for each call');
  const order = resultOf(sent, { method, host });
  const origin = { method: receiptMethod, host };
  const result = resultOf(receipt, origin);
  if (!isFields(order) || hex(order.from) !== `0x${payer}` || readQuantity(order.nonce) !== nonce) {
    throw transient(
      'node_inconsistent',
      `${host} does not show ${tx} as number ${nonce} of 0x${payer}: it is asked again`,
    );
  }
  if (!isFields(result) || hex(result.transactionHash) !== tx || !Array.isArray(result.logs)) {
    throw transient('node_inconsistent', `${host} has no receipt of ${tx}: it is asked again`);
  }
  if (!isSuccess(result, origin)) return { tx, tokens: [], native: null };
  const units = readUnits(order.value) ?? 0n;
  const to = hex(order.to);
  const moved = result.logs.flatMap((log) => readTransfer(log, payer, tokens));
  return { tx, tokens: moved, native: units > 0n && ADDRESS.test(to) ? { to: to.slice(2), units } : null };
}

function readTransfer(log: unknown, payer: string, tokens: readonly Token[]): Spent['tokens'][number][] {
  const { address, topics, data } = isFields(log) ? log : {};
  const token = tokens.find((one) => one.address.toLowerCase() === hex(address));
  if (!token || !Array.isArray(topics) || topics.length !== 3) return [];
  const [topic, from, to] = topics.map(hex);
  if (topic !== TRANSFER_TOPIC || from?.slice(26) !== payer || !to || !ADDRESS_TOPIC.test(to)) return [];
  const units = WORD.test(hex(data)) ? readUnits(data) : null;
  return units === null || units === 0n ? [] : [{ currency: token.symbol, to: to.slice(26), units }];
}

const describe = ({ tokens, native }: Spent): string =>
  [
    ...tokens.map(({ currency, to, units }) => `${units} ${currency} ${to}`),
    native && `${native.units} ${native.to}`,
  ].join();
