/**
 * Reads what a signed transaction transfers, with the strict reader of what the signer makes.
 */
import { Fault } from '../core/fault.ts';
import type { Token } from '../core/transfer.ts';
import type { PlainTransfer, Spending, SpendReading } from './spend.ts';

/** What the bytes of a transaction are read with. */
type Place = Readonly<{ chainId: string; tokens: readonly Token[] }>;

/** The wallet that pays the fee, and the treasury; address keys. */
type Ends = Readonly<{ payer: string; treasury: string }>;

/**
 * Returns what the bytes transfer, if that is all they do, and only `payer` and those whose money it is signed them;
 * otherwise `other`.
 * @param tx the id under which the node has them
 */
export function readPlainTransfer(
  { read }: Pick<Spending, 'read'>,
  bytes: Uint8Array,
  { chainId, tokens }: Place,
  { payer, treasury }: Ends,
  tx: string,
): PlainTransfer | 'other' {
  let reading: SpendReading;
  try {
    reading = read(bytes, { chainId, tokens, treasury, feeUnitsMax: 0n });
  } catch (error) {
    if (error instanceof Fault && error.code === 'spend_bytes_unknown') return 'other';
    throw error;
  }
  const { signers, effects, feeUnitsMax } = reading;
  const [first] = effects;
  if (!first || reading.tx !== tx || !isOne(effects)) return 'other';
  const owners = effects.map(({ from: key, units }) => ({ key, units }));
  // Who pays for a sweep signs first; then each owner.
  const expected = first.from === payer ? [payer] : [payer, ...owners.map(({ key }) => key)];
  if (signers.join() !== expected.join()) return 'other';
  const token = tokens.find(({ address }) => address === first.token);
  if (first.token !== null && !token) return 'other';
  return { tx, currency: token?.symbol ?? null, to: first.to, owners, feeUnitsMax };
}

/** Returns whether transfers are of one asset to one payee. */
const isOne = ([first, ...others]: SpendReading['effects']): boolean =>
  others.every(({ token, to }) => token === first?.token && to === first.to);

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
