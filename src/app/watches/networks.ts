/**
 * Watches the networks by the reports of their indexers. An indexer that hangs or has ended is noticed by their
 * absence.
 */
import type { NetworkConfig } from '../../config/network.ts';
import { usualDepthMax } from '../../core/credit-policy.ts';
import type { Database } from '../../database/database.ts';
import { isSilent, type NetworkRow, whyUnfollowed } from '../../database/networks.ts';
import type { Finding, Watch, WatchCode } from './watchdog.ts';

/** Depth, in multiples of the usual one, from which on an uncredited payment is slow. */
const SLOW_FACTOR = 5;

/** Reasons of a followed network for which payments are not credited. */
const whyWaiting = ['finality_stalled', 'second_node_disagrees', 'second_node_unavailable'] as const;

/** The alarm of a network in each state, and its word for it. */
const states: Readonly<Record<NetworkRow['state'], Readonly<{ rule: WatchCode; word: string }>>> = {
  halted: { rule: 'network_halted', word: 'halted' },
  fault: { rule: 'network_fault', word: 'at fault' },
  starting: { rule: 'network_behind', word: 'still starting' },
  behind: { rule: 'network_behind', word: 'behind' },
  following: { rule: 'network_behind', word: 'behind' },
};

type Watched = Pick<NetworkConfig, 'key' | 'blockTimeMs' | 'confirmations' | 'reorgDepthMax'>;

/**
 * Watches whether each network is followed to its head, and whether payments there make progress.
 * @param patienceMs longest lag of a network that is otherwise followed
 */
export function watchNetworks(database: Database, networks: readonly Watched[], patienceMs: number): Watch {
  function unfollowed({ key, blockTimeMs }: Watched, report: NetworkRow | null, nowMs: number): Finding | null {
    const why = whyUnfollowed(report, nowMs);
    const of = { subject: key, network: key } as const;
    if (!report || (isSilent(report, nowMs) && report.state !== 'halted')) {
      return { ...of, rule: 'indexer_silent', message: `${key}: ${why?.message}` };
    }
    const { state, reason, headNumber, tipNumber } = report;
    const lag = headNumber !== null && tipNumber !== null ? Math.max(0, headNumber - tipNumber) : 0;
    if (state === 'following' && lag * blockTimeMs <= patienceMs) return null;
    const { rule, word } = states[state];
    const lagging = lag > 0 ? `, ${lag} blocks below the node’s head ${headNumber}` : '';
    const said = why ? `: ${why.message} (${why.code})` : '';
    const code = state === 'halted' ? (reason?.code ?? state) : rule;
    return { ...of, rule, code, message: `${key} is ${word}${lagging}${said}` };
  }

  /** Returns why payments wait on a followed network; null if they do not, or the reason is unknown. */
  function waiting({ key }: Watched, { state, reason }: NetworkRow): Finding | null {
    if (state !== 'following' || !reason) return null;
    const rule = whyWaiting.find((code) => code === reason.code);
    return rule ? { rule, subject: key, network: key, message: `${key}: ${reason.message}` } : null;
  }

  async function slow(
    { key, confirmations, reorgDepthMax }: Watched,
    { headNumber }: NetworkRow,
  ): Promise<Finding | null> {
    const [oldest] = await database.blocks.unconfirmed(key, -1, 1);
    if (!oldest || headNumber === null) return null;
    const [depth, usual] = [headNumber - oldest.number + 1, usualDepthMax(confirmations)];
    // A store may require more than the network's policy, but no payment waits deeper than a reorg may reach.
    if (depth < Math.max(SLOW_FACTOR * usual, reorgDepthMax)) return null;
    const message = `payments on ${key} wait for longer than usual. One is ${depth} blocks deep, and ${usual} are usual`;
    return { rule: 'payments_slow', subject: key, network: key, message };
  }

  return {
    what: 'the networks',
    rules: [
      'indexer_silent',
      'network_halted',
      'network_fault',
      'network_behind',
      'finality_stalled',
      'second_node_disagrees',
      'second_node_unavailable',
      'payments_slow',
    ],
    async look(nowMs) {
      const reports = new Map((await database.networks.list()).map((report) => [report.key, report]));
      const findings: (Finding | null)[] = [];
      for (const network of networks) {
        const report = reports.get(network.key) ?? null;
        findings.push(unfollowed(network, report, nowMs));
        if (report) findings.push(waiting(network, report) ?? (await slow(network, report)));
      }
      return findings.filter((finding) => finding !== null);
    },
  };
}
