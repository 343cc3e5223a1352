/** The part of `status` about the nightly comparison: how far final blocks were compared, and when. */
import type { BlockComparison } from '../../src/database/comparison.ts';
import { type Installation, moment } from './command.ts';

/** Returns what `status` prints; networks that were never compared are named only where comparing is on. */
export async function comparisonStatus({ config, database }: Pick<Installation, 'config' | 'database'>) {
  const compared = new Map((await database.blocks.listComparisons()).map((one) => [one.network, one]));
  const found = config.networks.map(({ key }) => ({ key, one: compared.get(key) }));
  return {
    json: found.map(({ key, one }) => ({
      network: key,
      from: one?.from ?? null,
      through: one?.through ?? null,
      compared_at: one ? moment(one.comparedAtMs) : null,
      blocks: one?.blocks ?? null,
      transfers: one?.transfers ?? null,
      differences: one?.differences ?? null,
      differs: one?.differs ?? null,
      message: one?.message ?? null,
    })),
    lines: found.flatMap(({ key, one }) => {
      const { nightly } = config.comparison;
      if (one) return [comparedLine(one)];
      return nightly === null ? [] : [`compared ${key}: not yet, next at ${nightly} UTC`];
    }),
  };
}

function comparedLine({
  network,
  through,
  comparedAtMs,
  blocks,
  transfers,
  differs,
  message,
}: BlockComparison): string {
  const what = `through block ${through} at ${moment(comparedAtMs)} (${blocks} blocks, ${transfers} transfers)`;
  const found = differs ? `DIFFERENCES in blocks ${differs.from} to ${differs.to}: ${message}` : 'no difference';
  return `compared ${network}: ${what}, ${found}`;
}
