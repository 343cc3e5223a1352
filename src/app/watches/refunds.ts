/**
 * Watches due refunds that nobody pays: without a signer, without their network in the configuration, or with an engine
 * that has been silent for an hour. What an engine itself finds, such as an empty wallet, it reports itself.
 * @module
 */
import type { NetworkKey } from '../../core/transfer.ts';
import type { Database } from '../../database/database.ts';
import type { OverdueRefunds } from '../../database/money-out.ts';
import type { Finding, Watch } from './watchdog.ts';

/** A payout takes minutes; the slowest network is final within half an hour. */
const PATIENCE_MS = 3_600_000;

export function watchRefunds(
  database: Pick<Database, 'overdueRefunds' | 'listEngines'>,
  config: Readonly<{ signer: unknown; networks: readonly Readonly<{ key: NetworkKey }>[] }>,
): Watch {
  /** Returns why nobody pays on a network; null while somebody may. */
  async function reasonOf({ network, oldestDueMs }: OverdueRefunds, nowMs: number): Promise<string | null> {
    if (!config.signer) return 'the configuration has no `signer` (docs/money-out.md)';
    if (!config.networks.some(({ key }) => key === network)) return `the configuration has no ${network}; add it again`;
    if (nowMs < oldestDueMs + PATIENCE_MS) return null;
    const engine = (await database.listEngines()).find((one) => one.network === network);
    return engine?.reason?.message ?? 'its engine reports nothing; see `quayside status` and the log of its indexer';
  }

  return {
    what: 'overdue refunds',
    scopes: ['refunds'],
    async look(nowMs) {
      const findings: Finding[] = [];
      for (const found of await database.overdueRefunds(nowMs)) {
        const { network, count } = found;
        const reason = await reasonOf(found, nowMs);
        if (reason === null) continue;
        const message = `Refunds on ${network} are due and not paid (${count}): ${reason}`;
        findings.push({ rule: 'refunds_overdue', subject: network, network, message });
      }
      return findings;
    },
  };
}
