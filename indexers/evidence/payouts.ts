/**
 * Compares the payouts of a range, refunds, sweeps and gas, with the node's chain and the ledger.
 *
 * @module
 */
import type { Node } from '../../src/chains/chain.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { assetOf, unitsOf } from '../../src/core/ledger.ts';
import type { Database } from '../../src/database/database.ts';
import type { NumberRange, SettledPayout } from '../../src/database/evidence.ts';
import type { ListLine } from '../../src/evidence/block-list.ts';
import type { Difference } from './difference.ts';

const PAGE = 100;
/** Our clock and the chain's differ by less. */
const CLOCKS_APART_MS_MAX = 900_000;

export type PayoutParts = Readonly<{
  network: Pick<NetworkConfig, 'key'>;
  node: Pick<Node, 'lookup'>;
  database: Pick<Database, 'settledPayouts'>;
  patiently<T>(read: () => Promise<T>): Promise<T>;
}>;

/** The range's first and last block times; payouts are placed by the block that the node has them in. */
export type PayoutRange = NumberRange & Readonly<{ fromMs: number; toMs: number }>;

export type PayoutCheck = Readonly<{ line: ListLine | null; differences: readonly Difference[] }>;

/** Checks each payout that may be in the range with the node. */
export async function* checkPayouts(parts: PayoutParts, range: PayoutRange): AsyncGenerator<PayoutCheck> {
  const { network, database } = parts;
  const times = { fromMs: range.fromMs - CLOCKS_APART_MS_MAX, toMs: range.toMs + CLOCKS_APART_MS_MAX };
  for (let after: string | null = ''; after !== null; ) {
    const page: readonly SettledPayout[] = await database.settledPayouts(network.key, times, after, PAGE);
    for (const payout of page) yield await check(parts, range, payout);
    after = page.length < PAGE ? null : (page.at(-1)?.id ?? null);
  }
}

async function check(parts: PayoutParts, range: PayoutRange, payout: SettledPayout): Promise<PayoutCheck> {
  const { id, intent, tx, settledAtMs, isBooked } = payout;
  const report = await parts.patiently(() => parts.node.lookup(tx));
  if (report.kind !== 'mined' || !report.succeeded) {
    // Where it should be is only known by the clock; what settled after the range is looked for in the next one.
    const isOurs = settledAtMs >= range.fromMs - CLOCKS_APART_MS_MAX && settledAtMs <= range.toMs;
    if (!isOurs) return { line: null, differences: [] };
    const what =
      report.kind === 'mined' ? `failed in block ${report.number}` : 'is not on its chain, or no longer indexed';
    const message = `${intent.kind} ${id} was final on the chain, but the node says that its transaction ${tx} ${what}`;
    return { line: null, differences: [{ code: 'payout_missing', message }] };
  }
  const { number } = report;
  if (number < range.from || number > range.to) return { line: null, differences: [] };
  const currency = assetOf(intent);
  return {
    line: { kind: 'payout', id, what: intent.kind, currency, units: unitsOf(intent), tx, number },
    differences: isBooked
      ? []
      : [{ code: 'ledger_differs', message: `the ledger has no entry of ${intent.kind} ${id}, transaction ${tx}` }],
  };
}
