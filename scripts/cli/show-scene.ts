/** Parts that `show`, `status` and `doctor` share: networks, times and addresses as people read them. */
import type { NetworkConfig } from '../../src/config/network.ts';
import type { BlockGap } from '../../src/core/gap.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import type { NetworkStatus } from '../../src/database/networks.ts';
import type { Finding } from '../nodes/finding.ts';
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

/** A thing that was named: its record for programs, and what became of it, in the order in which a payment passes. */
export type Shown = Readonly<{ kind: string; json: object; findings: readonly Finding[] }>;

/** Returns the things that a text names; none if it names nothing of this noun. */
export type Finder = (scene: Scene, text: string) => Promise<readonly Shown[]>;

/** Returns a time as people read it. */
export const at = (ms: number): string => `${moment(ms)} UTC`;
