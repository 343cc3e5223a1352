/**
 * Finds the final transaction that used a wallet's sequence number. Nodes have no index of that: the wallet's count in
 * older and older states tells the block, and the block has the transaction. Nodes that are no archive keep few states;
 * then it may be found soon after another transaction of the wallet.
 */
import { invariant, transient } from '../../../core/fault.ts';
import { isFields } from '../../../core/fields.ts';
import type { Token } from '../../../core/transfer.ts';
import { nonsense } from '../../json-rpc.ts';
import type { Spent } from '../../spend.ts';
import { ADDRESS, ADDRESS_TOPIC, hex, isSuccess, readQuantity, readUnits, TRANSFER_TOPIC, WORD } from '../wire.ts';
import { type EvmRpc, errorFault, finalBlock, quantity, readCount, resultOf } from './rpc.ts';

type NumberQuestion = Readonly<{
  payer: string;
  nonce: number;
  chainId: string;
  finalDepth: number;
  tokens: readonly Token[];
  /** A transaction of the wallet with a lower number. */
  after?: string | undefined;
}>;

/** Blocks that are searched after that one: transactions of one command follow each other closely. */
const SEARCHED_MAX = 64;
/** Searches that are remembered. */
const REMEMBERED_MAX = 1_000;

/** Where a transaction is. */
type Place = Readonly<{ tx: string; block: number }>;
/** A search of final blocks on one node: the next of them, and the last; neither changes what was read. */
type Search = { next: number; readonly last: number };

/**
 * Returns a function that returns what used a number, as every node shows it; null if it is not used, or no node has
 * the states that tell. Blocks in which a number was searched are not read again for it.
 * It throws a transient Fault.
 */
export function createNumberSearch(nodes: readonly EvmRpc[]): (question: NumberQuestion) => Promise<Spent | null> {
  const searches = new Map<string, Search>();
  return async (question) => {
    for (const node of nodes) {
      const place = (await locate(node, question)) ?? (await search(node, question, searches));
      if (place === null) continue;
      const [first, ...others] = await Promise.all(nodes.map((one) => readSpent(one, place, question)));
      invariant(first, 'at least one node answered');
      if (others.every((other) => describe(other) === describe(first))) return first;
      throw transient(
        'payout_nodes_disagree',
        `the network's nodes disagree about what ${place.tx} moved: find out which of them is wrong`,
      );
    }
    return null;
  };
}

/** Returns the transaction that used the number, according to one node. */
async function locate(node: EvmRpc, question: NumberQuestion): Promise<Place | null> {
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

/** Returns the transaction if it is in the blocks after another one of the wallet, according to one node. */
async function search(node: EvmRpc, question: NumberQuestion, searches: Map<string, Search>): Promise<Place | null> {
  const { payer, nonce, after } = question;
  if (after === undefined) return null;
  const name = [node.host, payer, nonce, after].join(' ');
  const known = searches.get(name) ?? (await beginSearch(node, after));
  if (!known || known.next > known.last) return null;
  if (searches.size >= REMEMBERED_MAX) searches.clear();
  searches.set(name, known);
  for (const final = await finalBlock(node, question); known.next <= Math.min(known.last, final); known.next++) {
    const tx = await findIn(node, known.next, question);
    if (tx !== null) return { tx, block: known.next };
  }
  return null;
}

async function beginSearch(node: EvmRpc, after: string): Promise<Search | null> {
  const origin = { method: 'eth_getTransactionReceipt', host: node.host };
  const receipt = resultOf(await node.rpc.attempt(origin.method, [after]), origin);
  const start = isFields(receipt) ? readQuantity(receipt.blockNumber) : null;
  return start === null ? null : { next: start, last: start + SEARCHED_MAX };
}

/** Returns how many transactions a wallet had sent by a block; null if the node no longer has that state. */
async function countAt({ rpc, host }: EvmRpc, payer: string, block: number): Promise<number | null> {
  const origin = { method: 'eth_getTransactionCount', host };
  const answer = await rpc.attempt(origin.method, [`0x${payer}`, quantity(block)]);
  if (!answer.ok && errorFault(answer.error, origin).code === 'node_history_pruned') return null;
  return readCount(answer, origin);
}

async function transactionIn(node: EvmRpc, block: number, question: NumberQuestion): Promise<Place> {
  const tx = await findIn(node, block, question);
  if (tx !== null) return { tx, block };
  const origin = { method: 'eth_getBlockByNumber', host: node.host };
  throw nonsense(origin, `counts a transaction of 0x${question.payer} in block ${block} and does not show it there`);
}

async function transactionsOf({ rpc, host }: EvmRpc, block: number): Promise<readonly unknown[]> {
  const origin = { method: 'eth_getBlockByNumber', host };
  const answer = resultOf(await rpc.attempt(origin.method, [quantity(block), true]), origin);
  const { transactions } = isFields(answer) ? answer : {};
  if (!Array.isArray(transactions)) throw nonsense(origin, 'answered with a block without its transactions');
  return transactions;
}

async function findIn(node: EvmRpc, block: number, { payer, nonce }: NumberQuestion): Promise<string | null> {
  const found = (await transactionsOf(node, block)).find(
    (one) => isFields(one) && hex(one.from) === `0x${payer}` && readQuantity(one.nonce) === nonce,
  );
  const tx = isFields(found) ? hex(found.hash) : '';
  return WORD.test(tx) ? tx : null;
}

/** Returns what a transaction moved out of the wallet, according to one node. */
async function readSpent(node: EvmRpc, place: Place, question: NumberQuestion): Promise<Spent> {
  const { payer, nonce, tokens } = question;
  const { host } = node;
  const { tx } = place;
  const { order, receipt } = (await readById(node, tx)) ?? (await readInBlock(node, place));
  if (!isFields(order) || hex(order.from) !== `0x${payer}` || readQuantity(order.nonce) !== nonce) {
    throw transient(
      'node_inconsistent',
      `${host} does not show ${tx} as number ${nonce} of 0x${payer}: it is asked again`,
    );
  }
  if (!isFields(receipt) || hex(receipt.transactionHash) !== tx || !Array.isArray(receipt.logs)) {
    throw transient('node_inconsistent', `${host} has no receipt of ${tx}: it is asked again`);
  }
  if (!isSuccess(receipt, { method: RECEIPT, host })) return { tx, tokens: [], native: null };
  const units = readUnits(order.value) ?? 0n;
  const to = hex(order.to);
  const moved = receipt.logs.flatMap((log) => readTransfer(log, payer, tokens));
  return { tx, tokens: moved, native: units > 0n && ADDRESS.test(to) ? { to: to.slice(2), units } : null };
}

const RECEIPT = 'eth_getTransactionReceipt';
/** A transaction and its receipt, as a node shows them. */
type Shown = Readonly<{ order: unknown; receipt: unknown }>;

/** Returns null if the node does not find the transaction by its id. */
async function readById({ rpc, host }: EvmRpc, tx: string): Promise<Shown | null> {
  const methods = ['eth_getTransactionByHash', RECEIPT] as const;
  const answers = await rpc.batch(methods.map((method) => ({ method, params: [tx] })));
  const [order, receipt] = answers.map((answer, at) => resultOf(answer, { method: methods[at] ?? '', host }));
  return order == null || receipt == null ? null : { order, receipt };
}

/**
 * Reads it in its block. A node may have all blocks, but keep the index of transactions only for the newest.
 * @throws Fault transient `node_history_pruned`
 */
async function readInBlock(node: EvmRpc, { tx, block }: Place): Promise<Shown> {
  const origin = { method: 'eth_getBlockReceipts', host: node.host };
  const isIt = (field: string) => (one: unknown) => isFields(one) && hex(one[field]) === tx;
  const order = (await transactionsOf(node, block)).find(isIt('hash'));
  const answer = await node.rpc.attempt(origin.method, [quantity(block)]);
  if (!answer.ok && errorFault(answer.error, origin).code === 'node_method_missing') {
    throw transient(
      'node_history_pruned',
      `${node.host} does not find ${tx} of block ${block} by its id, and has no eth_getBlockReceipts: name a node in ` +
        'rpc_url and witness_url that keeps the index of all transactions (geth: --history.transactions=0)',
    );
  }
  const receipts = resultOf(answer, origin);
  return { order, receipt: Array.isArray(receipts) ? receipts.find(isIt('transactionHash')) : null };
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
