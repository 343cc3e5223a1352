/**
 * Proves that a transaction can never be included. java-tron includes one only in a block above its reference block,
 * and only if that block's parent is older than the transaction's expiration. So only the blocks from the reference to
 * the first one that is not older than the expiration could contain it. They are read, and each must be the child of
 * the one before.
 *
 * Source: java-tron `Manager.validateTapos`, `Manager.validateCommon`.
 */
import type { BlockRef } from '../../../core/block.ts';
import { invariant, transient } from '../../../core/fault.ts';
import { type Fields, isFields } from '../../../core/fields.ts';
import type { SentAttempt } from '../../spend.ts';
import { isUnknown, nonsense, type Origin } from '../answer.ts';
import { blockUnknown, readHeader } from '../wire.ts';
import { SOLID_BLOCK_PATH, type TronRpc } from './rpc.ts';

/** Returns bytes 8 to 15 of a block's id as hex. A transaction refers to the block by them. */
export const referenceOf = ({ hash }: Pick<BlockRef, 'hash'>): string => hash.slice(16, 32);

/**
 * Reads the solidified blocks that could contain the attempt.
 * @param solid the newest solidified block
 * @returns false while a future block could contain it
 * @throws Fault transient if a block contains the attempt, or if the blocks are not a chain
 */
export async function canNeverBeIncluded(node: TronRpc, { tx, terms }: SentAttempt, solid: BlockRef): Promise<boolean> {
  const [reference, expirationMs] = [Number(terms.ref_block_number), Number(terms.expiration_ms)];
  invariant(Number.isSafeInteger(reference) && Number.isSafeInteger(expirationMs), 'a TRON attempt has its terms');
  if (solid.timeS * 1000 < expirationMs) return false;
  let before = (await readBlock(node, reference, false)).ref;
  if (referenceOf(before) !== terms.ref_block_hash) {
    throw contradiction(
      node,
      `has another block ${reference} than the one that ${tx} refers to: is it on another fork?`,
    );
  }
  while (before.timeS * 1000 < expirationMs) {
    if (before.number >= solid.number) {
      throw contradiction(node, `has a solidified block ${solid.number} that is younger than in its own chain`);
    }
    const { ref, ids } = await readBlock(node, before.number + 1, true);
    if (ref.parent !== before.hash) {
      throw contradiction(node, `has a block ${ref.number} that is not the child of its block ${before.number}`);
    }
    if (ids.includes(tx)) {
      throw contradiction(node, `claims not to know ${tx}, which is in its own block ${ref.number}`);
    }
    before = ref;
  }
  return true;
}

const contradiction = ({ host }: TronRpc, what: string): Error =>
  transient(
    'payout_node_contradicts',
    `${host} ${what}. This payout waits until its answers agree: look at the node's log, or use another node`,
  );

type Block = Readonly<{ ref: BlockRef; ids: readonly string[] }>;

async function readBlock({ ask, host }: TronRpc, number: number, detail: boolean): Promise<Block> {
  const origin = { path: SOLID_BLOCK_PATH, host };
  const value = await ask({ path: SOLID_BLOCK_PATH, body: { id_or_num: String(number), detail } });
  if (isUnknown(value)) throw blockUnknown({ number, hash: '' }, origin);
  const { ref, isEmpty } = readHeader(value, origin);
  if (ref.number !== number) throw nonsense(origin, `answered with block ${ref.number} instead of ${number}`);
  const ids = detail ? readIds(value as Fields, origin) : [];
  if (detail && isEmpty !== (ids.length === 0)) {
    throw nonsense(
      origin,
      `answered for block ${number} with ${ids.length} transactions, which its header contradicts`,
    );
  }
  return { ref, ids };
}

function readIds({ transactions = [] }: Fields, origin: Origin): string[] {
  if (!Array.isArray(transactions)) throw nonsense(origin, 'answered with transactions that are not a list');
  return transactions.map((one: unknown) => {
    if (isFields(one) && typeof one.txID === 'string') return one.txID;
    throw nonsense(origin, 'answered with a transaction without an id');
  });
}
