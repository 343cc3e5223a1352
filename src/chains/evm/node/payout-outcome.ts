/**
 * The outcome of a generation's attempts. They share one wallet and one nonce, so at most one can ever be included.
 *
 * Each node is asked for its final state, and the answers must agree. An attempt is never `dead` here. Until its nonce
 * is used, it can still be mined. Once the nonce is used, the transaction that used it is one of ours or `foreign`.
 */
import { invariant, transient } from '../../../core/fault.ts';
import { isFields } from '../../../core/fields.ts';
import { unitsOf } from '../../../core/ledger.ts';
import type { Outcome } from '../../../core/spend.ts';
import { nonsense, type Origin } from '../../json-rpc.ts';
import { type PaidBy, type SentAttempt, type SpendDraft, UnclearOutcome } from '../../spend.ts';
import { hasPaid } from '../../token-contract.ts';
import { evmAddress } from '../address.ts';
import { ADDRESS, hex, isSuccess, readHeader, readQuantity, readTransferLog, readUnits, WORD } from '../wire.ts';
import { type EvmRpc, finalBlock, quantity, readCount, resultOf } from './rpc.ts';

/** The fields of a receipt that payouts need. */
type Receipt = Readonly<{
  tx: string;
  blockHash: string;
  number: number;
  success: boolean;
  feeUnits: bigint;
  logs: readonly unknown[];
}>;

type OutcomeQuestion = Readonly<{
  draft: SpendDraft;
  /** At least one. */
  attempts: readonly SentAttempt[];
  chainId: string;
  /** Blocks at this depth count as final if the node does not report finality. */
  finalDepth: number;
}>;

/** Returns the nonce that all attempts share, and its wallet. */
function laneOf(attempts: readonly SentAttempt[]): Readonly<{ payer: string; nonce: number }> {
  const [first] = attempts;
  invariant(first, 'there is at least one attempt');
  const same = attempts.every(({ payer, terms }) => payer === first.payer && terms.nonce === first.terms.nonce);
  invariant(same && first.terms.nonce !== undefined, 'attempts of one generation share their wallet and its nonce');
  return { payer: first.payer, nonce: Number(first.terms.nonce) };
}

/**
 * Determines the outcome according to one node.
 * @throws Fault transient
 */
export async function askOutcome(node: EvmRpc, question: OutcomeQuestion): Promise<Outcome> {
  const { draft, attempts } = question;
  // The final block is read first, so that a receipt that is missing afterwards was not in it.
  const finalNumber = await finalBlock(node, question);
  const receipts = await receiptsOf(node, attempts, finalNumber);
  const found = await canonicalReceipt(node, receipts);
  if (!found) {
    const isUsedUp = receipts.length === 0 && (await isNonceUsed(node, attempts, finalNumber));
    return isUsedUp ? foreign(attempts) : { kind: 'waiting', included: null };
  }
  const { tx, number, feeUnits } = found;
  if (number > finalNumber) return { kind: 'waiting', included: { tx, number } };
  if (!found.success) return { kind: 'failed', tx, number, feeUnits };
  if (showsPayment(found, draft)) return { kind: 'succeeded', tx, number, feeUnits };
  throw unclear(node, found, draft);
}

/**
 * Returns the cost of a final transaction that paid the draft, according to one node; null if it failed or is not final
 * on the node. Its nonce is null if another wallet sent it.
 * @throws Fault transient
 */
export async function askCost(
  node: EvmRpc,
  question: Omit<OutcomeQuestion, 'attempts'>,
  tx: string,
): Promise<PaidBy | null> {
  const { draft } = question;
  const finalNumber = await finalBlock(node, question);
  const found = await canonicalReceipt(node, await receiptsOf(node, [{ tx }], finalNumber));
  if (!found || found.number > finalNumber || !found.success) return null;
  if (!showsPayment(found, draft)) throw unclear(node, found, draft);
  const origin = { method: 'eth_getTransactionByHash', host: node.host };
  const sent = resultOf(await node.rpc.attempt(origin.method, [tx]), origin);
  const nonce = isFields(sent) ? readQuantity(sent.nonce) : null;
  if (!isFields(sent) || nonce === null || !ADDRESS.test(hex(sent.from))) {
    throw nonsense(origin, 'answered with a transaction without its sender or its nonce');
  }
  return { feeUnits: found.feeUnits, nonce: hex(sent.from) === `0x${draft.payer}` ? nonce : null };
}

const unclear = ({ host }: EvmRpc, { tx, feeUnits }: Receipt, { intent, to }: SpendDraft): Error =>
  new UnclearOutcome(
    `${tx} is final on ${host} and succeeded, but its receipt does not show that ${unitsOf(intent)} units went to ${evmAddress.format(to)}: this payout waits until its outcome is clear. Look at the transaction in an explorer`,
    feeUnits,
  );

/**
 * Returns the receipts that a node has. There may be several nodes behind one address, and only a node that has the
 * final block is believed.
 */
async function receiptsOf(
  { rpc, host }: EvmRpc,
  attempts: readonly Pick<SentAttempt, 'tx'>[],
  finalNumber: number,
): Promise<Receipt[]> {
  const origin = { method: 'eth_getTransactionReceipt', host };
  const [final, ...answers] = await rpc.batch([
    { method: 'eth_getBlockByNumber', params: [quantity(finalNumber), false] },
    ...attempts.map(({ tx }) => ({ method: origin.method, params: [tx] })),
  ]);
  if (resultOf(final, { method: 'eth_getBlockByNumber', host }) === null) {
    throw transient(
      'node_block_unknown',
      `${host} does not have block ${finalNumber}, which it reported as final before`,
    );
  }
  return answers.flatMap((answer, at) => {
    const result = resultOf(answer, origin);
    return result === null ? [] : [readSpent(attempts[at]?.tx ?? '', result, origin)];
  });
}

/**
 * Returns the receipt whose block is on the node's chain.
 * @throws Fault transient
 */
async function canonicalReceipt(node: EvmRpc, receipts: readonly Receipt[]): Promise<Receipt | null> {
  const origin = { method: 'eth_getBlockByNumber', host: node.host };
  const places = receipts.map(({ number }) => ({ method: origin.method, params: [quantity(number), false] }));
  const answers = await node.rpc.batch(places);
  const blocks = answers.map((answer) => {
    const header = resultOf(answer, origin);
    return header === null ? null : readHeader(header, origin).ref;
  });
  const [one, another] = receipts.filter(
    ({ blockHash, number }, at) => blocks[at]?.hash === blockHash && blocks[at]?.number === number,
  );
  if (one && another) throw nonsense(origin, `has both ${one.tx} and ${another.tx}, which exclude each other`);
  return one ?? null;
}

/**
 * Returns whether the attempts' nonce is used in the final state. Old state is read only if the nonce is used at the
 * head.
 */
async function isNonceUsed(node: EvmRpc, attempts: readonly SentAttempt[], finalNumber: number): Promise<boolean> {
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
    message: `nonce ${nonce} of wallet ${evmAddress.format(payer)} was used by a transaction that Quayside does not know: somebody else uses its key, or it was stolen`,
  };
}

function readSpent(tx: string, value: unknown, origin: Origin): Receipt {
  if (!isFields(value) || hex(value.transactionHash) !== tx) {
    throw nonsense(origin, `answered with the receipt of a transaction other than ${tx}`);
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

function showsPayment({ logs }: Receipt, draft: SpendDraft): boolean {
  const { token, owners } = draft;
  if (token === null) return true;
  const key = token.address.toLowerCase();
  return hasPaid(
    logs.flatMap((log) => readTransferLog(log) ?? []).filter((one) => one.token === key && one.from === owners[0]),
    draft,
  );
}
