/**
 * Watches money out: freezes, low wallets, payouts delayed by faults, and due refunds without an engine that pays them.
 * Such refunds lack a signer or a configured network, or their engine has been silent for an hour.
 */
import type { NetworkKey } from '../../core/transfer.ts';
import type { Database } from '../../database/database.ts';
import type { OpenPayouts } from '../../database/payouts/payouts.ts';
import type { Finding, Watch } from './watchdog.ts';

/** Delay after which a payout is late. It takes minutes, and the slowest network is final within half an hour. */
const PATIENCE_MS = 3_600_000;

const total = (open: readonly OpenPayouts[], name: 'count' | 'overdue'): number =>
  open.reduce((sum, one) => sum + one[name], 0);

export function watchPayouts(
  database: Database,
  config: Readonly<{ signer: unknown; networks: readonly Readonly<{ key: NetworkKey }>[] }>,
): Watch {
  /** Returns why no engine pays on a network; null while one may. */
  async function reasonOf(network: NetworkKey, sinceMs: number, nowMs: number): Promise<string | null> {
    if (!config.signer) return 'the configuration has no `signer` (docs/money.md)';
    if (!config.networks.some(({ key }) => key === network)) return `the configuration has no ${network}; add it again`;
    if (nowMs < sinceMs + PATIENCE_MS) return null;
    const engine = (await database.engines.list()).find((one) => one.network === network);
    return engine?.reason?.message ?? 'its engine reports nothing; see `quayside status` and the log of its indexer';
  }

  /** Finds the causes that delay the open payouts of one network. */
  async function delayed(network: NetworkKey, open: readonly OpenPayouts[], nowMs: number): Promise<Finding[]> {
    const findings: Finding[] = [];
    const faulty = open.filter(({ fault }) => fault !== null);
    if (faulty.length > 0) {
      const message = `faults delay payouts on ${network} (${total(faulty, 'count')}), such as: ${faulty[0]?.fault}`;
      findings.push({ rule: 'payouts_delayed', subject: network, network, message });
    }
    const sinceMs = Math.min(...open.flatMap(({ overdueSinceMs }) => overdueSinceMs ?? []));
    const reason = Number.isFinite(sinceMs) ? await reasonOf(network, sinceMs, nowMs) : null;
    if (reason !== null) {
      const message = `Refunds on ${network} are due and not paid (${total(open, 'overdue')}): ${reason}`;
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
    rules: ['payouts_frozen', 'wallet_low', 'payouts_delayed', 'refunds_overdue'],
    async look(nowMs) {
      const findings = [...(await frozen()), ...(await lowWallets())];
      const open = await database.payouts.countOpen(nowMs);
      for (const network of new Set(open.map((one) => one.network))) {
        const own = open.filter((one) => one.network === network);
        findings.push(...(await delayed(network, own, nowMs)));
      }
      return findings;
    },
  };
}
