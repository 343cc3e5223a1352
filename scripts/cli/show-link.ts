/** An answer of `quayside show`: one thing, and the links of the chain from a payment to its merchant. */
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import type { BlockGap } from '../../src/core/gap.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import type { NetworkStatus } from '../../src/database/networks.ts';
import { type Installation, moment } from './command.ts';

/** A configured network; `gaps` are open. */
export type Place = Readonly<{ network: NetworkConfig; report: NetworkStatus | null; gaps: readonly BlockGap[] }>;
type Places = ReadonlyMap<NetworkKey, Place>;

export async function readPlaces(database: Database, networks: readonly NetworkConfig[]): Promise<Places> {
  const reports = new Map((await database.networks.list()).map((one) => [one.network, one]));
  const places = networks.map(async (network): Promise<Place> => {
    const report = reports.get(network.key) ?? null;
    const gaps = report ? await database.networks.listGaps(network.key) : [];
    return { network, report, gaps: gaps.filter(({ closedAtMs }) => closedAtMs === null) };
  });
  return new Map((await Promise.all(places)).map((place) => [place.network.key, place]));
}

/** The parts that a thing is found in: the installation, the time, and its networks. */
export type Scene = Installation & Readonly<{ nowMs: number; places: Places }>;

/**
 * - `ok`: it is done, or ended well. `waiting`: it goes on with time, or with what its text names.
 * - `broken`: it does not go on by itself, or failed. `note`: what helps to look further.
 */
export type Mark = 'note' | 'ok' | 'waiting' | 'broken';

/** `next` says what to do. */
export type Link = Readonly<{ step: string; mark: Mark; text: string; next?: string; links?: readonly Link[] }>;

/** A thing that was named: its record for programs, and what became of it. `isForeign`: nothing here knows it. */
export type Shown = Readonly<{ kind: string; json: object; links: readonly Link[]; isForeign?: true }>;

/** Returns the things that a text names; none if it names nothing of this noun. */
export type Finder = (scene: Scene, text: string) => Promise<readonly Shown[]>;

/** Returns a link; `next` and `links` are left out when there are none. */
export const link = (
  step: string,
  mark: Mark,
  text: string,
  next?: string | null,
  links: readonly Link[] = [],
): Link => ({ step, mark, text, ...(next && { next }), ...(links.length > 0 && { links }) });

/** From the least to the most that wants somebody. */
const marks: readonly Mark[] = ['note', 'ok', 'waiting', 'broken'];

/** Returns the worst mark of a link and of all that depends on it. */
export const worstMark = ({ mark, links = [] }: Link): Mark =>
  links.map(worstMark).reduce((worst, one) => (marks.indexOf(one) > marks.indexOf(worst) ? one : worst), mark);

/** Returns the first broken link in the order in which a payment passes them; null if none is. */
export function firstBroken(one: Link): Link | null {
  if (one.mark === 'broken') return one;
  for (const child of one.links ?? []) {
    const found = firstBroken(child);
    if (found) return found;
  }
  return null;
}

/** Returns a time as people read it. */
export const at = (ms: number): string => `${moment(ms)} UTC`;

/** Returns an address as people write it on a network; its key if the network is no longer configured. */
export function addressText({ places }: Pick<Scene, 'places'>, network: NetworkKey, key: string): string {
  const family = places.get(network)?.network.family;
  return family ? chains[family].address.format(key) : key;
}
