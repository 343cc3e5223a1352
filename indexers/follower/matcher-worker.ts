/**
 * A matcher thread: decodes a block's raw answer and keeps the transfers to watched addresses. Pure, no IO.
 */
import type { Family, RawContent } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import type { ChainTransfer, Token } from '../../src/core/transfer.ts';
import { answer, type ThreadAnswer } from '../../src/lib/thread-pool.ts';
import { openAddressTable } from './address-table.ts';

export type MatchTask = Readonly<{
  family: Family;
  content: RawContent;
  tokens: readonly Token[];
  table: SharedArrayBuffer;
  own: readonly string[];
}>;

/** The task of the matcher's threads, which find it by its name. */
export const matchBlock = ({
  family,
  content,
  tokens,
  table,
  own,
}: MatchTask): Promise<ThreadAnswer<ChainTransfer[]>> =>
  answer(async () => (await chains[family].wire()).decode(content, tokens, openAddressTable(table).has, new Set(own)));
