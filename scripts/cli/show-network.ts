/** Networks as they are followed: how far each was read, why one stops, and what may have been missed there. */
import { adviceOn } from '../../src/acts/networks.ts';
import { whyUnfollowed } from '../../src/database/networks.ts';
import { moment } from './command.ts';
import { networkOf } from './network-name.ts';
import { type Finder, type Link, link, type Place } from './show-link.ts';

/** Finds a network: its node, how far it has been read, why it does not go on, and what to do next. */
export const findFollowed: Finder = async ({ config, places, nowMs }, text) => {
  const isNamed = config.networks.some(({ key, name }) => key === text || name === text);
  const place = isNamed ? places.get(networkOf(config.networks, text).key) : undefined;
  if (!place) return [];
  const json = networkFacts(place, nowMs);
  const { node_url, head, floor, reported_s_ago } = json;
  const node = `${node_url}: newest block ${head ?? '-'}, final up to ${floor ?? '-'}, reported ${reported_s_ago ?? '-'} s ago`;
  const links = [networkLink(place, nowMs), ...gapLinks(place, -1), link('node', 'note', node)];
  return [{ kind: 'network', json, links }];
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
    node_connected: report?.nodeConnected ?? false,
    node_heard_s_ago: report && report.nodeHeardAtMs > 0 ? secondsSince(report.nodeHeardAtMs, nowMs) : null,
    reported_s_ago: report ? secondsSince(report.updatedAtMs, nowMs) : null,
    pid: report?.pid ?? null,
    tip_hash: report?.cursor?.hash ?? null,
    tip_time: report?.cursor ? moment(report.cursor.timeS * 1000) : null,
    floor: report?.floor ?? null,
    read_through: report && report.readThroughS > 0 ? moment(report.readThroughS * 1000) : null,
    reorg_depth_max: network.reorgDepthMax,
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
export function networkLink(place: Place, nowMs: number): Link {
  const { network, report } = place;
  const { key } = network;
  const why = whyUnfollowed(report, nowMs);
  const read = report?.cursor ? `read up to block ${report.cursor.number}` : 'not read yet';
  const next = adviceOn(place.network.key, place.report);
  if (!why) {
    const stalled = report?.reason;
    return stalled
      ? link('network', 'broken', `${key}: ${read}, but ${stalled.message}`, next)
      : link('network', 'ok', `${key}: followed, ${read}`);
  }
  if (why.code === 'indexer_silent' || why.code === 'not_started') {
    const start = `start Quayside with \`npm start\`, or look for ${key} in its log`;
    return link('network', 'broken', `${key}: ${why.message} (${read})`, start);
  }
  const goesOn = report?.state === 'behind' || report?.state === 'starting';
  return link('network', goesOn ? 'waiting' : 'broken', `${key}: ${report?.state} (${read}): ${why.message}`, next);
}

/** Returns a broken link for each stretch of blocks that were skipped above a height. */
export const gapLinks = ({ network: { key }, gaps }: Place, above: number): Link[] =>
  gaps
    .filter(({ to }) => to > above)
    .map(({ from, to, because }) =>
      link(
        'network',
        'broken',
        `${key}: blocks ${from} to ${to} were skipped (${because}), so a payment in them is not known`,
        `when a node has them: \`quayside network reread ${key} --from ${from} --to ${to}\``,
      ),
    );
