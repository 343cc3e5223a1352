/**
 * Networks as they are followed: how far each was read, why one does not go on, and what may have been missed there.
 */
import type { NetworkConfig } from '../../src/config/network.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import type { BlockGap } from '../../src/database/gaps.ts';
import { type NetworkStatus, whyUnfollowed } from '../../src/database/network-health.ts';
import type { Session } from '../../src/database/session.ts';
import { moment } from './command.ts';
import { nextStep } from './network-advice.ts';
import { type Link, link, type Shown } from './show-link.ts';
import { table } from './table.ts';

/** A configured network; `gaps` are open. */
export type Place = Readonly<{ network: NetworkConfig; report: NetworkStatus | null; gaps: readonly BlockGap[] }>;
export type Places = ReadonlyMap<NetworkKey, Place>;

type BlockRange = Readonly<{ from: number; to: number }>;

/** Blocks by which a range that follows from times is made wider on each side. */
const MARGIN_BLOCKS = 20;
/** So few blocks are read again within minutes: then the range ends with what was read, and nothing is estimated. */
const WHOLE_BLOCKS_MAX = 10_000;
/** As large as the skew that is tolerated between us and a chain, where only times can be compared. */
const SKEW_S = 600;
const DAY_S = 86_400;

export async function readPlaces(
  database: Pick<Database, 'networks'>,
  networks: readonly NetworkConfig[],
): Promise<Places> {
  const reports = new Map((await database.networks.list()).map((one) => [one.network, one]));
  const places = networks.map(async (network): Promise<Place> => {
    const report = reports.get(network.key) ?? null;
    const gaps = report ? await database.networks.listGaps(network.key) : [];
    return { network, report, gaps: gaps.filter(({ closedAtMs }) => closedAtMs === null) };
  });
  return new Map((await Promise.all(places)).map((place) => [place.network.key, place]));
}

/** Shows a network: its node, how far it has been read, why it does not go on, and what to do next. */
export function networkShown(place: Place, nowMs: number): Shown {
  const one = networkFacts(place, nowMs);
  return {
    kind: 'network',
    json: one,
    lines: table([
      ['network', one.network],
      ['node', `${one.node_url}, ${one.node_connected ? 'connected' : 'not connected'}`],
      ['state', one.state + (one.reason ? ` (${one.reason.code})` : '')],
      ...(one.reason ? [['reason', one.reason.message]] : []),
      ['head of the node', String(one.head ?? '-')],
      ['read up to', one.cursor === null ? '-' : `${one.cursor} ${one.tip_hash} (${one.tip_time})`],
      ['lag', String(one.lag ?? '-')],
      ['final up to', String(one.floor ?? '-')],
      ['reorgs followed', `up to ${one.reorg_depth_max} blocks`],
      ['reported', one.reported_s_ago === null ? 'never' : `${one.reported_s_ago} s ago`],
      ...(one.next === null ? [] : [['next', one.next]]),
    ]),
    links: [networkLink(place, nowMs), ...gapLinks(place, { from: 0, to: Number.POSITIVE_INFINITY })],
  };
}

/** Returns a network for programs. */
export function networkFacts({ network, report, gaps }: Place, nowMs: number) {
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
    gaps: gaps.map(({ from, to, because: why, atMs }) => ({ from, to, because: why, at: moment(atMs) })),
    next: report && nextStep(report, { network: network.key, next: (cursor ?? -1) + 1 }),
  };
}

/** Returns the whole seconds between two times. */
export const secondsSince = (ms: number, nowMs: number): number => Math.max(0, Math.floor((nowMs - ms) / 1000));

/** Returns a URL without its path and user part, which often hold an access key. */
function withoutSecrets(text: string): string {
  const { protocol, host, pathname, search, username } = new URL(text);
  return `${protocol}//${host}${username || search || pathname !== '/' ? '/…' : ''}`;
}

/** Returns the command that compares blocks with a node. */
export const rereadCommand = ({ network }: Place, { from, to }: BlockRange, isCheck = true): string =>
  `\`quayside network reread ${network.key} --from ${from} --to ${to}${isCheck ? ' --check' : ''}\``;

/**
 * Returns the blocks that were made while a session could be paid, as far as they were read; null if none was. Where
 * the blocks themselves are no longer kept, their numbers are estimated from their usual time, and a margin is added.
 */
export function sessionRange({ terms }: Pick<Session, 'terms'>, { network, report }: Place): BlockRange | null {
  const tip = report?.cursor;
  if (!tip) return null;
  const before = terms.beforeNumbers[network.key];
  const usual = (timeS: number): number => tip.number - Math.floor(((tip.timeS - timeS) * 1000) / network.blockTimeMs);
  const from = before === undefined ? usual(terms.createdAtS - SKEW_S) - MARGIN_BLOCKS : before + 1;
  const endS = terms.expiresAtS + terms.topUpGraceS;
  const sinceStartS = tip.timeS - terms.createdAtS;
  const end =
    before === undefined || sinceStartS <= 0
      ? usual(endS)
      : before + Math.ceil(((endS - terms.createdAtS) * (tip.number - before)) / sinceStartS);
  const margin = MARGIN_BLOCKS + Math.ceil(Math.max(0, end - from) / 20);
  const to =
    endS >= tip.timeS || tip.number - from < WHOLE_BLOCKS_MAX ? tip.number : Math.min(tip.number, end + margin);
  return from > to ? null : { from: Math.max(0, from), to };
}

/** Returns the blocks of the last day, as far as they were read; null if none was. */
export function lastDay({ network, report }: Place): BlockRange | null {
  const tip = report?.cursor;
  if (!tip) return null;
  return { from: Math.max(0, tip.number - Math.ceil((DAY_S * 1000) / network.blockTimeMs)), to: tip.number };
}

/** Returns how the network is followed now. */
export function networkLink(place: Place, nowMs: number): Link {
  const { network, report } = place;
  const why = whyUnfollowed(report, nowMs);
  const next = (report?.cursor?.number ?? -1) + 1;
  const read = report?.cursor ? `read up to block ${report.cursor.number}` : 'not read yet';
  const advice = report && nextStep(report, { network: network.key, next });
  if (!why) {
    const stalled = report?.reason;
    return stalled
      ? link('network', 'broken', `${network.key}: ${read}, but ${stalled.message}`, advice)
      : link('network', 'ok', `${network.key}: followed, ${read}`);
  }
  if (why.code === 'indexer_silent' || why.code === 'not_started') {
    const start = `start Quayside with \`npm start\`, or look for ${network.key} in its log; \`quayside show ${network.key}\``;
    return link('network', 'broken', `${network.key}: ${why.message} (${read})`, start);
  }
  const goesOn = report?.state === 'behind' || report?.state === 'starting';
  return link(
    'network',
    goesOn ? 'waiting' : 'broken',
    `${network.key}: ${report?.state} (${read}): ${why.message}`,
    advice ?? (goesOn ? null : `\`quayside show ${network.key}\` shows the rest`),
  );
}

/** Returns a broken link for each stretch of skipped blocks that touches a range. */
export const gapLinks = (place: Place, range: BlockRange | null): Link[] =>
  place.gaps
    .filter(({ from, to }) => range !== null && from <= range.to && to >= range.from)
    .map((gap) =>
      link(
        'network',
        'broken',
        `${place.network.key}: blocks ${gap.from} to ${gap.to} were skipped (${gap.because}), so a payment in them is not known`,
        `when a node has them: ${rereadCommand(place, gap, false)}`,
      ),
    );
