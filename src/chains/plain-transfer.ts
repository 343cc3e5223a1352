/**
 * Reads the one transfer that a signed transaction consists of, with the strict reader of what the signer makes.
 *
 * @module
 */
import { Fault } from '../core/fault.ts';
import type { Token } from '../core/transfer.ts';
import type { PlainTransfer, Spending, SpendReading } from './spend.ts';

/** What the bytes of a transaction are read with. A sweep needs a treasury and is none of what is looked for here. */
type Place = Readonly<{ chainId: string; tokens: readonly Token[] }>;

/**
 * Returns what the bytes transfer if `payer` alone signed them and they do nothing besides; otherwise `other`.
 * @param tx the id under which the node has them
 */
export function readPlainTransfer(
  { read }: Pick<Spending, 'read'>,
  bytes: Uint8Array,
  { chainId, tokens }: Place,
  payer: string,
  tx: string,
): PlainTransfer | 'other' {
  let reading: SpendReading;
  try {
    reading = read(bytes, { chainId, tokens, treasury: payer, feeUnitsMax: 0n });
  } catch (error) {
    if (error instanceof Fault && error.code === 'spend_bytes_unknown') return 'other';
    throw error;
  }
  const [effect, ...others] = reading.effects;
  const isAlone = reading.signers.length === 1 && reading.signers[0] === payer;
  if (!effect || others.length > 0 || !isAlone || effect.from !== payer || reading.tx !== tx) return 'other';
  const token = tokens.find(({ address }) => address === effect.token);
  if (effect.token !== null && !token) return 'other';
  return { tx, currency: token?.symbol ?? null, to: effect.to, units: effect.units };
}

/**
 * Asks nodes one after the other for a transaction, until one has it.
 * @param ask returns null if the node does not have it
 */
export async function firstWith<N, T>(nodes: readonly N[], ask: (node: N) => Promise<T | null>): Promise<T | null> {
  for (const node of nodes) {
    const found = await ask(node);
    if (found !== null) return found;
  }
  return null;
}
