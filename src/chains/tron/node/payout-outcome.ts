/**
 * The outcome of a payout's attempts, from one node's solidified chain, which is never reorganised.
 *
 * An attempt that is in no block by its expiration can never be in one, and is `dead`. The node's index does not prove
 * that an attempt is in no block. The blocks themselves are read, from the attempt's reference block to the first one
 * after its expiration (`payout-absence.ts`).
 */
import { invariant, transient } from '../../../core/fault.ts';
import { type Fields, isFields } from '../../../core/fields.ts';
import { unitsOf } from '../../../core/ledger.ts';
import type { Outcome } from '../../../core/spend.ts';
import { type PaidBy, type SentAttempt, type SpendDraft, UnclearOutcome } from '../../spend.ts';
import { hasPaid } from '../../token-contract.ts';
import { tronAddress } from '../address.ts';
import { isUnknown, nonsense, type Origin, readWhole } from '../answer.ts';
import { readInfo, readLog, type TronLog, transferIn } from '../wire.ts';
import { canNeverBeIncluded } from './payout-absence.ts';
import { expectChain, readHeaderAt, SOLID_BLOCK_PATH, type TronRpc } from './rpc.ts';

const SOLID_INFO_PATH = '/walletsolidity/gettransactioninfobyid';
const SOLID_TRANSACTION_PATH = '/walletsolidity/gettransactionbyid';
const INFO_PATH = '/wallet/gettransactioninfobyid';

type OutcomeQuestion = Readonly<{
  draft: SpendDraft;
  /** At least one. */
  attempts: readonly SentAttempt[];
  chainId: string;
}>;

/** An attempt in a solidified block. */
type Inclusion = Readonly<{
  tx: string;
  number: number;
  feeUnits: bigint;
  outcome: 'success' | 'failure' | 'unclear';
  logs: readonly TronLog[];
}>;

/**
 * Determines the outcome according to one node.
 * @throws Fault transient
 */
export async function askOutcome(node: TronRpc, { draft, attempts, chainId }: OutcomeQuestion): Promise<Outcome> {
  await expectChain(node, chainId);
  // The height is read first, so that an attempt that is missing afterwards was not included up to it.
  const solid = await readHeaderAt(node, SOLID_BLOCK_PATH, null);
  if (!solid) throw nonsense({ path: SOLID_BLOCK_PATH, host: node.host }, 'knows no solidified block');
  const found = await Promise.all(attempts.map(({ tx }) => findSolid(node, tx)));
  const [inclusion, another] = found.filter((one) => one !== null);
  if (inclusion && another) throw unclear(`${node.host} has both ${inclusion.tx} and ${another.tx}`, null);
  if (inclusion) return settle(inclusion, draft, node.host, solid.ref.number);

  const included = await findIncluded(node, attempts);
  if (included) return { kind: 'waiting', included };
  for (const attempt of attempts) {
    if (!(await canNeverBeIncluded(node, attempt, solid.ref))) return { kind: 'waiting', included: null };
  }
  return { kind: 'dead' };
}

/**
 * Returns the cost of a solidified transaction that paid the draft, according to one node; null if it failed or is not
 * solidified on the node.
 * @throws Fault transient
 */
export async function askCost(
  node: TronRpc,
  { draft, chainId }: Omit<OutcomeQuestion, 'attempts'>,
  tx: string,
): Promise<PaidBy | null> {
  await expectChain(node, chainId);
  const solid = await readHeaderAt(node, SOLID_BLOCK_PATH, null);
  if (!solid) throw nonsense({ path: SOLID_BLOCK_PATH, host: node.host }, 'knows no solidified block');
  const found = await findSolid(node, tx);
  const outcome = found && settle(found, draft, node.host, solid.ref.number);
  return outcome?.kind === 'succeeded' ? { feeUnits: outcome.feeUnits, nonce: null } : null;
}

const unclear = (what: string, feeUnits: bigint | null): Error =>
  new UnclearOutcome(
    `${what}: this payout waits until its outcome is clear. Look at the transaction in an explorer`,
    feeUnits,
  );

function settle(inclusion: Inclusion, draft: SpendDraft, host: string, solidNumber: number): Outcome {
  const { tx, number, feeUnits, outcome } = inclusion;
  if (number > solidNumber) return { kind: 'waiting', included: { tx, number } };
  if (outcome === 'failure') return { kind: 'failed', tx, number, feeUnits };
  if (outcome === 'success' && showsPayment(inclusion, draft)) return { kind: 'succeeded', tx, number, feeUnits };
  const why =
    outcome === 'unclear'
      ? 'its own answers contradict each other on whether it succeeded'
      : `it does not show that ${unitsOf(draft.intent)} units went to ${tronAddress.format(draft.to)}`;
  throw unclear(`${tx} is final on ${host}, but ${why}`, feeUnits);
}

/** Returns the solidified block of an attempt and its result; null if the node does not know it. */
async function findSolid(node: TronRpc, tx: string): Promise<Inclusion | null> {
  const { ask, host } = node;
  const [transaction, info] = await Promise.all(
    [SOLID_TRANSACTION_PATH, SOLID_INFO_PATH].map((path) => ask({ path, body: { value: tx } })),
  );
  if (isUnknown(transaction) && isUnknown(info)) return null;
  if (isUnknown(transaction) || isUnknown(info)) {
    const [known, missing] = isUnknown(info) ? ['transaction', 'info'] : ['info', 'transaction'];
    throw transient(
      'node_infos_missing',
      `${host} knows the ${known} ${tx} but not its ${missing}: if this persists, set storage.transHistory.switch = on in its configuration`,
    );
  }
  return readInclusion(tx, transaction, info, host);
}

/**
 * Success must be reported in three places: the block's own result, the info's and the receipt's. The receipt is empty
 * if no contract was called.
 */
function readInclusion(tx: string, transaction: unknown, info: unknown, host: string): Inclusion {
  const origin: Origin = { path: SOLID_INFO_PATH, host };
  const { id, blockNumber: number, logs } = readInfo(info, origin);
  invariant(isFields(info), 'an info is an object');
  if (!isFields(transaction) || transaction.txID !== tx) {
    throw nonsense({ path: SOLID_TRANSACTION_PATH, host }, `answered with a transaction other than ${tx}`);
  }
  if (id !== tx) throw nonsense(origin, `answered with the info of ${id} instead of ${tx}`);
  const [ret] = Array.isArray(transaction.ret) ? transaction.ret : [];
  const receipt = isFields(info.receipt) ? info.receipt.result : undefined;
  const inBlock = isFields(ret) ? ret.contractRet : undefined;
  const saysSuccess = [inBlock === 'SUCCESS', info.result !== 'FAILED', receipt === 'SUCCESS' || !isCall(transaction)];
  const saysFailure = [
    typeof inBlock === 'string' && inBlock !== 'SUCCESS' && inBlock !== 'DEFAULT',
    info.result === 'FAILED',
    typeof receipt === 'string' && receipt !== 'SUCCESS' && receipt !== 'DEFAULT',
  ];
  const outcome = saysSuccess.every(Boolean) ? 'success' : saysFailure.every(Boolean) ? 'failure' : 'unclear';
  return {
    tx,
    number,
    feeUnits: readWhole(info, 'fee', origin),
    outcome,
    logs: logs.map((log) => readLog(log, origin)),
  };
}

function isCall({ raw_data: raw }: Fields): boolean {
  const [contract] = isFields(raw) && Array.isArray(raw.contract) ? raw.contract : [];
  return isFields(contract) && contract.type === 'TriggerSmartContract';
}

/** Returns an attempt in a block that is not final, if there is one. */
async function findIncluded(node: TronRpc, attempts: readonly SentAttempt[]) {
  const origin = { path: INFO_PATH, host: node.host };
  for (const { tx } of attempts) {
    const info = await node.ask({ path: INFO_PATH, body: { value: tx } });
    if (isUnknown(info)) continue;
    const { id, blockNumber } = readInfo(info, origin);
    if (id !== tx) throw nonsense(origin, `answered with the info of ${id} instead of ${tx}`);
    return { tx, number: blockNumber };
  }
  return null;
}

function showsPayment({ logs }: Inclusion, draft: SpendDraft): boolean {
  const { token, owners } = draft;
  if (token === null) return true;
  const key = tronAddress.parse(token.address);
  return hasPaid(
    logs.flatMap((log) => transferIn(log) ?? []).filter((one) => one.token === key && one.from === owners[0]),
    draft,
  );
}
