/**
 * What a shadow found, for programs and for people.
 * @module
 */
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { formatUnits } from '../../src/core/money.ts';
import type { SecondTransfer } from '../shadow/difference.ts';
import type { EvidenceReport } from '../shadow/evidence.ts';
import { type Findings, type FoundDifference, isGood } from '../shadow/findings.ts';
import type { Latency } from '../shadow/tally.ts';
import type { Traffic } from '../shadow/trace.ts';
import { type Answer, table } from './command.ts';

export function reportOf(findings: Findings): Answer {
  return { json: toJson(findings), lines: toLines(findings), isBad: !isGood(findings) };
}

function toJson(findings: Findings) {
  const { network, blocks, transfers, reorgs, latency, evidence, differences, ended } = findings;
  return {
    network: network.key,
    node: findings.node,
    second_node: findings.second,
    second_reading: findings.method,
    seconds: Math.round(findings.durationMs / 1000),
    ended: ended.kind,
    halted: ended.kind === 'halted' ? { code: ended.code, message: ended.message } : null,
    good: isGood(findings),
    addresses: { watched: findings.watched, sampled: findings.sampled },
    blocks,
    transfers,
    reorgs: {
      count: reorgs.count,
      depth_max: reorgs.depthMax,
      newest: reorgs.newest.map(({ depth, fromNumber }) => ({ depth, from: fromNumber })),
    },
    latency_ms: latency && {
      blocks: latency.blocks,
      p50: latency.p50Ms,
      p95: latency.p95Ms,
      max: latency.maxMs,
    },
    traffic: findings.traffic,
    faults: findings.faults,
    doubted_answers: findings.doubted,
    saved: evidence,
    differences: {
      count: differences.count,
      listed: differences.listed.map((one) => ({
        block: { number: one.block.number, hash: one.block.hash },
        transaction: one.tx,
        index: one.index,
        level: one.level,
        follower: one.follower && transferJson(one.follower, network),
        second: one.second && transferJson(one.second, network),
        saved: one.saved,
      })),
    },
    uncompared: findings.uncompared.map(({ block, why }) => ({ number: block.number, hash: block.hash, why })),
  };
}

const transferJson = ({ currency, units, from, to }: SecondTransfer, { family }: NetworkConfig) => ({
  currency,
  units: units.toString(),
  from: from === null ? null : chains[family].address.format(from),
  to: chains[family].address.format(to),
});

function toLines(findings: Findings): string[] {
  const { network, blocks, transfers, reorgs, traffic, faults, evidence, differences, ended } = findings;
  const { method, second, node } = findings;
  return [
    `${network.key}: followed ${node} for ${durationText(findings.durationMs)}, compared with ${method} of ${second ?? 'the same node'}`,
    ...(ended.kind === 'halted' ? [`The follower HALTED: ${ended.message}`] : []),
    '',
    ...table([
      [
        'blocks',
        `${blocks.read} read${blocks.read > 0 ? ` (${blocks.first} to ${blocks.last})` : ''}, ${blocks.compared} compared, ${blocks.replaced} replaced before, ${blocks.uncompared} not compared`,
      ],
      [
        'transfers',
        `${transfers.all} of the configured tokens, ${transfers.watched} of them to the ${findings.watched} watched addresses (${findings.sampled} sampled), ${transfers.confirmed} confirmed`,
      ],
      ['reorgs', reorgs.count === 0 ? 'none' : `${reorgs.count}, the deepest of ${reorgs.depthMax} block(s)`],
      ['latency', latencyText(findings.latency)],
      ['traffic', `follower ${trafficText(traffic.follower)}; second reading ${trafficText(traffic.second)}`],
      ['faults', `follower: ${countsText(faults.follower)}; second reading: ${countsText(faults.second)}`],
      ['doubted', `${findings.doubted} answer(s)${evidenceText(evidence)}`],
    ]),
    '',
    ...findings.uncompared.map(({ block, why }) => `block ${block.number} ${block.hash} was not compared: ${why}`),
    ...differences.listed.map((one) => differenceText(one, network)),
    verdict(findings),
  ];
}

function verdict(findings: Findings): string {
  const { blocks, differences } = findings;
  if (differences.count > 0) return `${differences.count} DIFFERENCE(S): do not go live with this node and release`;
  if (blocks.read === 0) return 'no block was read, so nothing is proven';
  if (blocks.uncompared > 0) return 'no difference, but not every block could be compared';
  return findings.ended.kind === 'halted' ? 'no difference up to the halt' : 'no difference';
}

const durationText = (ms: number): string => `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;

const latencyText = (latency: Latency | null): string =>
  latency === null
    ? 'not measured: no new head was read'
    : `head seen to block read: p50 ${latency.p50Ms} ms, p95 ${latency.p95Ms} ms, max ${latency.maxMs} ms over ${latency.blocks} blocks`;

const trafficText = ({ requests, bytes }: Traffic): string =>
  `${requests} requests, ${(bytes / 1_000_000).toFixed(1)} MB`;

const countsText = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([code, count]) => `${code} ${count}`)
    .join(', ') || 'none';

function evidenceText({ folder, saved, skipped, problem }: EvidenceReport): string {
  if (folder === null) return '; --save DIR keeps the raw answers';
  const limits = skipped > 0 ? `, ${skipped} more beyond the limits` : '';
  return `; ${saved} case(s) saved in ${folder}${limits}${problem === null ? '' : ` (${problem})`}`;
}

function differenceText({ block, tx, index, level, follower, second, saved }: FoundDifference, network: NetworkConfig) {
  const text = (transfer: SecondTransfer | null) => (transfer ? transferText(transfer, network) : 'nothing');
  const what = level === 'decoded' ? 'the follower’s answer says' : 'the follower matched';
  const where = saved === null ? '' : ` (saved in ${saved})`;
  return `DIFFERENCE in block ${block.number} ${block.hash}, transaction ${tx}, index ${index}: ${what} ${text(follower)}, the second reading ${text(second)}${where}`;
}

function transferText({ currency, units, from, to }: SecondTransfer, { family, tokens }: NetworkConfig): string {
  const { format } = chains[family].address;
  const decimals = tokens.find(({ symbol }) => symbol === currency)?.decimals ?? 0;
  return `${formatUnits(units, decimals)} ${currency} from ${from === null ? 'somebody' : format(from)} to ${format(to)}`;
}
