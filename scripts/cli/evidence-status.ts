/**
 * The part of `status` about certificates: how far each network is certified, and what is wrong.
 * @module
 */
import { Fault } from '../../src/core/fault.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import { openArchive } from '../../src/evidence/archive.ts';
import type { Certificate } from '../../src/evidence/certificate.ts';
import type { Installation } from './command.ts';

/** Returns what `status` prints about certificates; no lines for networks without one. */
export function evidenceStatus({ config }: Pick<Installation, 'config'>) {
  const found = config.networks.map(({ key }) => ({ network: key, ...readLatest(config.dataDir, key) }));
  return {
    json: found.map(({ network, latest, open, fault }) => ({
      network,
      sequence: latest?.sequence ?? null,
      certified_through: latest?.certified_through ?? null,
      made_at: latest?.made_at ?? null,
      result: latest?.result ?? null,
      open: open.map(({ sequence }) => sequence),
      fault,
    })),
    lines: found.flatMap(({ network, latest, open, fault }) => {
      if (fault !== null) return [`evidence ${network}: ${fault}`];
      if (!latest) return [];
      const names = open.map(({ sequence }) => sequence).join(', ');
      const end = names ? `DIFFERENCES in certificate ${names}: \`quayside evidence verify\`` : 'no difference';
      return [`evidence ${network}: through block ${latest.certified_through}, made ${latest.made_at}, ${end}`];
    }),
  };
}

type Found = Readonly<{ latest: Certificate | null; open: readonly Certificate[]; fault: string | null }>;

function readLatest(dataDir: string, key: NetworkKey): Found {
  const archive = openArchive(dataDir, key);
  try {
    return { latest: archive.latest()?.certificate ?? null, open: archive.open(), fault: null };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { latest: null, open: [], fault: error.message };
  }
}
