/**
 * Watches money out: freezes, wallets that are low, payouts that faults delay, and due refunds that nobody pays: there
 * is no signer, the configuration lacks their network, or an engine has been silent for an hour.
 */
import type { NetworkKey } from '../../core/transfer.ts';
import type { Database } from '../../database/database.ts';
import type { OverdueRefunds } from '../../database/payouts/payouts.ts';
import type { Finding, Watch } from './watchdog.ts';

/** A payout takes minutes; the slowest network is final within half an hour. */
const PATIENCE_MS = 3_600_000;

export function watchPayouts(
  database: Database,
  config: Readonly<{ signer: unknown; networks: readonly Readonly<{ key: NetworkKey }>[] }>,
): Watch {
  /** Returns why nobody pays on a network; null while somebody may. */
  async function reasonOf({ network, oldestDueMs }: OverdueRefunds, nowMs: number): Promise<string | null> {
    if (!config.signer) return 'the configuration has no `signer` (docs/money.md)';
    if (!config.networks.some(({ key }) => key === network)) return `the configuration has no ${network}; add it again`;
    if (nowMs < oldestDueMs + PATIENCE_MS) return null;
    const engine = (await database.engines.list()).find((one) => one.network === network);
    return engine?.reason?.message ?? 'its engine reports nothing; see `quayside status` and the log of its indexer';
  }

  async function overdue(nowMs: number): Promise<Finding[]> {
    const findings: Finding[] = [];
    for (const found of await database.payouts.overdue(nowMs)) {
      const { network, count } = found;
      const reason = await reasonOf(found, nowMs);
      if (reason === null) continue;
      const message = `Refunds on ${network} are due and not paid (${count}): ${reason}`;
      findings.push({ rule: 'refunds_overdue', subject: network, network, message });
    }
    return findings;
  }

  async function lowWallets(): Promise<Finding[]> {
    return (await database.wallets.balances())
      .filter(({ low }) => low.length > 0)
      .map(({ network, role, key, low }) => {
        const message = `the ${role} wallet ${key} on ${network} is low on ${low.join(' and ')}`;
        return { rule: 'wallet_low', subject: `${network}/${role}`, network, message };
      });
  }

  async function delayed(): Promise<Finding[]> {
    return (await database.payouts.faults()).map(({ network, count, message: why }) => {
      const message = `faults delay payouts on ${network} (${count}), such as: ${why}`;
      return { rule: 'payouts_delayed', subject: network, network, message };
    });
  }

  async function frozen(): Promise<Finding[]> {
    return (await database.holds.list()).map(({ network, code, reason, frozenBy }, at, all) => {
      const message = `money out is frozen on ${network ?? 'every network'} by ${frozenBy}: ${reason}`;
      const isFirst = all.findIndex((one) => one.network === network) === at;
      const subject = isFirst ? (network ?? '') : `${network ?? ''}/${code}`;
      return { rule: 'payouts_frozen', subject, network, message };
    });
  }

  return {
    what: 'payouts',
    scopes: ['frozen', 'wallet', 'payouts', 'refunds'],
    look: async (nowMs) => [
      ...(await frozen()),
      ...(await lowWallets()),
      ...(await delayed()),
      ...(await overdue(nowMs)),
    ],
  };
}
