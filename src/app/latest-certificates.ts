/**
 * The newest certificate of each network: how far it is certified, and what is wrong.
 * @module
 */
import type { Config } from '../config/config.ts';
import { Fault } from '../core/fault.ts';
import type { NetworkKey } from '../core/transfer.ts';
import { openArchive } from '../evidence/archive.ts';

/** `open`: the numbers of certificates with differences that no later one has disproved. */
export type LatestCertificate = Readonly<{
  network: NetworkKey;
  through: number | null;
  madeAtMs: number | null;
  open: readonly number[];
  /** Why it could not be read. */
  fault: string | null;
}>;

/** Reads them from the data directory. */
export const latestCertificates = ({
  dataDir,
  networks,
}: Readonly<{
  dataDir: string;
  networks: readonly Pick<Config['networks'][number], 'key'>[];
}>): readonly LatestCertificate[] =>
  networks.map(({ key: network }) => {
    const none = { network, through: null, madeAtMs: null, open: [], fault: null };
    try {
      const archive = openArchive(dataDir, network);
      const latest = archive.latest()?.certificate;
      const open = archive.open().map(({ sequence }) => sequence);
      return latest
        ? { ...none, through: latest.certified_through, madeAtMs: Date.parse(latest.made_at), open }
        : { ...none, open };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return { ...none, fault: error.message };
    }
  });
