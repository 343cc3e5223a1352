/**
 * What a simulated Solana node remembers of an account: the transactions that name it, and what they did to its
 * lamports.
 *
 * @module
 */
import { readTransactionBytes } from '../chains/solana/message.ts';
import type { WorldBlock } from './block-tree.ts';
import { invalidParams } from './json-rpc.ts';
import { readBase58 } from './solana-errors.ts';
import { listOf, newest, type Question, refuseProcessed, settingsOf } from './solana-question.ts';
import { type CoinChange, signatureOf } from './solana-render.ts';
import type { WorldTransaction } from './transaction.ts';
import type { World } from './world.ts';

const KEY_BYTES = 32;
/** Of `getSignaturesForAddress`, in Agave's `rpc.rs`. */
const SIGNATURES_MAX = 1_000;

/** The accounts that a transaction names, besides token accounts of payments that the world made up. */
function accountsOf({ sender, native = [], signed }: WorldTransaction): readonly string[] {
  const read = signed && readTransactionBytes(Buffer.from(signed.bytes, 'hex'));
  return read?.signed.accounts ?? [sender, ...native.flatMap(({ from, to }) => [from, to])];
}

/** Returns what a transaction of a block did to the lamports of those it sent some, in the order of their names. */
export function coinChanges(world: World, block: WorldBlock, transaction: WorldTransaction): readonly CoinChange[] {
  const { sender, native = [], succeeded } = transaction;
  const accounts = world.accounts(block.number - 1);
  for (const earlier of block.transactions) {
    if (earlier.id === transaction.id) break;
    accounts.add(earlier);
  }
  const keys = [...new Set(native.map(({ to }) => to))].filter((key) => key !== sender);
  return keys.map((key) => {
    const before = accounts.native(key);
    const given = native.reduce((sum, { to, units }) => (to === key ? sum + units : sum), 0n);
    return { key, before, after: succeeded ? before + given : before };
  });
}

/**
 * Answers `getSignaturesForAddress`: newest first, also of what failed.
 * @param first the first slot that the node still has
 * @throws RpcError
 */
export function signaturesFor({ params, view }: Question, first: number) {
  const [address, second] = listOf(params);
  const settings = settingsOf(second);
  const key = readBase58(address, KEY_BYTES);
  const { before, limit = SIGNATURES_MAX } = settings;
  if (typeof limit !== 'number' || limit < 1 || limit > SIGNATURES_MAX) {
    throw invalidParams(`Invalid limit; max ${SIGNATURES_MAX}`);
  }
  refuseProcessed(settings);
  const rows: object[] = [];
  let isBelow = before === undefined;
  for (let slot = newest(view, settings).number; slot >= Math.max(first, view.floor()); slot--) {
    const block = view.at(slot);
    for (const transaction of [...(block?.transactions ?? [])].reverse()) {
      const signature = signatureOf(transaction);
      if (isBelow && accountsOf(transaction).includes(key)) {
        rows.push({
          blockTime: block?.timeS,
          confirmationStatus: slot <= view.finalized().number ? 'finalized' : 'confirmed',
          err: transaction.succeeded ? null : { InstructionError: [0, { Custom: 1 }] },
          memo: null,
          signature,
          slot,
        });
        if (rows.length === limit) return rows;
      }
      if (signature === before) isBelow = true;
    }
  }
  return rows;
}
