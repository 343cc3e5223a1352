/**
 * One matcher thread: decodes a block's raw answer and keeps the transfers to watched addresses. Pure work, no IO.
 * @module
 */
import type { Family, RawContent } from '../src/chains/chain.ts';
import { chains } from '../src/chains/index.ts';
import { Fault, type FaultKind } from '../src/core/fault.ts';
import type { ChainTransfer, Token } from '../src/core/transfer.ts';
import { openAddressTable } from './address-table.ts';

export type MatchTask = Readonly<{
  family: Family;
  content: RawContent;
  tokens: readonly Token[];
  table: SharedArrayBuffer;
}>;

/** A `Fault` loses its class between threads, so it crosses as data. Anything else that is thrown ends the process. */
export type MatchAnswer =
  | Readonly<{ kind: 'matched'; transfers: ChainTransfer[] }>
  | Readonly<{ kind: 'fault'; fault: Readonly<{ kind: FaultKind; code: string; message: string }> }>;

/** The task that piscina runs, by name. */
export async function matchBlock({ family, content, tokens, table }: MatchTask): Promise<MatchAnswer> {
  const wire = await chains[family].wire();
  try {
    return { kind: 'matched', transfers: wire.decode(content, tokens, openAddressTable(table).has) };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { kind: 'fault', fault: { kind: error.kind, code: error.code, message: error.message } };
  }
}
