/**
 * Networks as they are followed: how far each was read, why one stops, and what may have been missed there. Also what
 * `show` finds things in.
 */
import { adviceOn } from '../../src/acts/networks.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { type BlockGap, openGaps } from '../../src/core/gap.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import { type NetworkRow, whyUnfollowed } from '../../src/database/networks.ts';
import { type Finding, failure, finding } from '../nodes/finding.ts';
import { type Installation, moment } from './command.ts';
import { networkOf } from './networks.ts';

/** A configured network; `gaps` are open. */
export type Place = Readonly<{ network: NetworkConfig; report: NetworkRow | null; gaps: readonly BlockGap[] }>;
type Places = ReadonlyMap<NetworkKey, Place>;

export async function readPlaces(database: Database, networks: readonly NetworkConfig[]): Promise<Places> {
  const reports = new Map((await database.networks.list()).map((one) => [one.key, one]));
  return new Map(
    networks.map((network) => {
      const report = reports.get(network.key) ?? null;
      return [network.key, { network, report, gaps: openGaps(report?.gaps ?? []) }];
    }),
  );
}

/** The parts that a thing is found in: the installation, the time, and its networks. */
export type Scene = Installation & Readonly<{ nowMs: number; places: Places }>;

/**
 * A thing that was named: its record for programs and, where that is another, for people (`about`); what it waits for
 * and what is wrong, in the order in which a payment passes.
 */
export type Shown = Readonly<{ kind: string; json: object; about?: object; findings: readonly Finding[] }>;

/** Returns the things that a text names; none if it names nothing of this noun. */
export type Finder = (scene: Scene, text: string) => Promise<readonly Shown[]>;

/** Returns a time as people read it. */
export const at = (ms: number): string => `${moment(ms)} UTC`;

/** Finds a network: its node, how far it has been read, why it does not go on, and what to do next. */
export const findFollowed: Finder = async ({ config, places, nowMs }, text) => {
  const isNamed = config.networks.some(({ key, name }) => key === text || name === text);
  const place = isNamed ? places.get(networkOf(config.networks, text).key) : undefined;
  if (!place) return [];
  return [{ kind: 'network', json: networkFacts(place, nowMs), findings: followedFindings(place, nowMs) }];
};

/** Returns a network for programs. */
export function networkFacts(place: Place, nowMs: number) {
  const { network, report, gaps } = place;
  const cursor = report?.tipNumber ?? null;
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

/**
 * Returns why payments on the network are not seen, and an error for each stretch of blocks that were skipped.
 * @param above the height from which on skipped blocks matter
 * @param isNowOfUse whether it matters that the network is followed now
 */
export function followedFindings(place: Place, nowMs: number, above = -1, isNowOfUse = true): Finding[] {
  const { network, gaps } = place;
  const skipped = gaps
    .filter(({ to }) => to > above)
    .map(({ from, to, because }) =>
      failure(
        'network',
        `${network.key}: blocks ${from} to ${to} were skipped (${because}), so a payment in them is not known`,
        `when a node has them: \`quayside network reread ${network.key} --from ${from} --to ${to}\``,
      ),
    );
  return [...(isNowOfUse ? stateFindings(place, nowMs) : []), ...skipped];
}

function stateFindings({ network: { key }, report }: Place, nowMs: number): Finding[] {
  const why = whyUnfollowed(report, nowMs);
  const read = report && report.tipNumber !== null ? `read up to block ${report.tipNumber}` : 'not read yet';
  const next = adviceOn(key, report);
  if (!why) return report?.reason ? [failure('network', `${key}: ${read}, but ${report.reason.message}`, next)] : [];
  if (why.code === 'indexer_silent' || why.code === 'not_started') {
    const start = `start Quayside with \`npm start\`, or look for ${key} in its log`;
    return [failure('network', `${key}: ${why.message} (${read})`, start)];
  }
  const goesOn = report?.state === 'behind' || report?.state === 'starting';
  const text = `${key}: ${report?.state} (${read}): ${why.message}`;
  return [finding(goesOn ? 'waiting' : 'error', 'network', text, next)];
}
