/** Networks as they are followed: how far each was read, why one stops, and what may have been missed there. */
import { adviceOn } from '../../src/acts/networks.ts';
import { whyUnfollowed } from '../../src/database/networks.ts';
import { type Finding, failure, finding, note, ok } from '../nodes/finding.ts';
import { moment } from './command.ts';
import { networkOf } from './network-name.ts';
import type { Finder, Place } from './show-scene.ts';

/** Finds a network: its node, how far it has been read, why it does not go on, and what to do next. */
export const findFollowed: Finder = async ({ config, places, nowMs }, text) => {
  const isNamed = config.networks.some(({ key, name }) => key === text || name === text);
  const place = isNamed ? places.get(networkOf(config.networks, text).key) : undefined;
  if (!place) return [];
  const json = networkFacts(place, nowMs);
  const { node_url, head, floor, reported_s_ago } = json;
  const node = `${node_url}: newest block ${head ?? '-'}, final up to ${floor ?? '-'}, reported ${reported_s_ago ?? '-'} s ago`;
  const findings = [networkFinding(place, nowMs), ...gapFindings(place, -1), note('node', node)];
  return [{ kind: 'network', json, findings }];
};

/** Returns a network for programs. */
export function networkFacts(place: Place, nowMs: number) {
  const { network, report, gaps } = place;
  const cursor = report?.cursor?.number ?? null;
  // The head is reported once a second and the cursor with every block, so the reported head may be behind.
  const head = report?.headNumber == null ? null : Math.max(report.headNumber, cursor ?? 0);
  return {
    network: network.key,
    state: report?.state ?? 'not started',
    reason: report?.reason ?? null,
    head,
    cursor,
    lag: head === null || cursor === null ? null : head - cursor,
    reported_s_ago: report ? secondsSince(report.updatedAtMs, nowMs) : null,
    pid: report?.pid ?? null,
    floor: report?.floor ?? null,
    node_url: withoutSecrets(network.url),
    gaps: gaps.map(({ from, to, because, atMs }) => ({ from, to, because, at: moment(atMs) })),
    next: adviceOn(place.network.key, place.report),
  };
}

/** Returns the whole seconds between two times. */
export const secondsSince = (ms: number, nowMs: number): number => Math.max(0, Math.floor((nowMs - ms) / 1000));

/** Returns a URL without its path and user part, which often hold an access key. */
function withoutSecrets(text: string): string {
  const { protocol, host, pathname, search, username } = new URL(text);
  return `${protocol}//${host}${username || search || pathname !== '/' ? '/…' : ''}`;
}

/** Returns how the network is followed now. */
export function networkFinding({ network: { key }, report }: Place, nowMs: number): Finding {
  const why = whyUnfollowed(report, nowMs);
  const read = report?.cursor ? `read up to block ${report.cursor.number}` : 'not read yet';
  const next = adviceOn(key, report);
  if (!why && !report?.reason) return ok('network', `${key}: followed, ${read}`);
  if (!why) return failure('network', `${key}: ${read}, but ${report?.reason?.message}`, next);
  if (why.code === 'indexer_silent' || why.code === 'not_started') {
    const start = `start Quayside with \`npm start\`, or look for ${key} in its log`;
    return failure('network', `${key}: ${why.message} (${read})`, start);
  }
  const goesOn = report?.state === 'behind' || report?.state === 'starting';
  const text = `${key}: ${report?.state} (${read}): ${why.message}`;
  return finding(goesOn ? 'waiting' : 'error', 'network', text, next);
}

/** Returns an error for each stretch of blocks that were skipped above a height. */
export const gapFindings = ({ network: { key }, gaps }: Place, above: number): Finding[] =>
  gaps
    .filter(({ to }) => to > above)
    .map(({ from, to, because }) =>
      failure(
        'network',
        `${key}: blocks ${from} to ${to} were skipped (${because}), so a payment in them is not known`,
        `when a node has them: \`quayside network reread ${key} --from ${from} --to ${to}\``,
      ),
    );
