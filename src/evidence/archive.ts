/**
 * The certificates of one network in the data directory: numbered files, each with the hash of the one before. They are
 * never changed or removed.
 *
 *   data/evidence/live-bsc/000012.json
 *   data/evidence/live-bsc/000012.list.gz
 * @module
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { NetworkKey } from '../core/transfer.ts';
import { createSecretFile } from '../lib/secret-file.ts';
import {
  type Certificate,
  certificateHash,
  certificateText,
  readCertificate,
  signCertificate,
  type Unsigned,
} from './certificate.ts';
import type { SigningKey } from './signing-key.ts';

const NAME = /^(\d{6,12})\.json$/;
const DRAFT = /^draft\.(\d+)\.list\.gz$/;
const DIGITS = 6;
/** How far back differences are looked for: more than a year of nights. */
const LOOKED_BACK_MAX = 400;

/** What the archive itself fills in. */
type Draft = Omit<Unsigned, 'sequence' | 'previous' | 'certified_through'>;

export type Kept = Readonly<{ certificate: Certificate; text: string; file: string }>;

export interface Archive {
  /** Where a list is written before its certificate has a number; replaced by the next one. */
  readonly draftFile: string;
  /** Returns the newest certificate; null if there is none. @throws Fault permanent `evidence_invalid` */
  latest(): Kept | null;
  /** Numbers, signs and keeps a certificate, with the list in `draftFile`. @throws as `latest` */
  keep(draft: Draft, key: SigningKey): Kept;
  /**
   * Returns certificates with differences that no later one has disproved, newest first: one that covers the range and
   * is complete. Balances are disproved by any later certificate that has read them and found no difference.
   */
  open(): Certificate[];
}

const nameOf = (sequence: number): string => String(sequence).padStart(DIGITS, '0');

/** Returns the list that belongs to a certificate's file. */
export const listFileOf = (file: string): string => file.replace(/(\.json)?$/, '.list.gz');

/** Returns where the certificate before this one is, by its name; null if it has none. */
export function previousFileOf(file: string, { sequence }: Certificate): string | null {
  const name = `${nameOf(sequence)}.json`;
  return sequence > 1 && file.endsWith(name) ? `${file.slice(0, -name.length)}${nameOf(sequence - 1)}.json` : null;
}

/** Returns the archive of a network; its folder is created with the first certificate. */
export function openArchive(dataDir: string, network: NetworkKey): Archive {
  const folder = join(dataDir, 'evidence', network.replace(':', '-'));
  const draftFile = join(folder, `draft.${process.pid}.list.gz`);

  function sequences(): number[] {
    if (!existsSync(folder)) return [];
    const found = readdirSync(folder).flatMap((name) => NAME.exec(name)?.[1] ?? []);
    return found.map(Number).sort((one, other) => other - one);
  }

  function read(sequence: number): Kept {
    const file = join(folder, `${nameOf(sequence)}.json`);
    const text = readFileSync(file, 'utf8');
    return { certificate: readCertificate(text, file), text, file };
  }

  const latest = (): Kept | null => {
    const [newest] = sequences();
    return newest === undefined ? null : read(newest);
  };

  return {
    get draftFile() {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      removeOldDrafts(folder);
      return draftFile;
    },
    latest,
    keep(draft, key) {
      for (;;) {
        const before = latest();
        const sequence = (before?.certificate.sequence ?? 0) + 1;
        const certificate = signCertificate(
          {
            ...draft,
            sequence,
            previous: before && certificateHash(before.text),
            certified_through: Math.max(draft.range.to, before?.certificate.certified_through ?? 0),
          },
          key,
        );
        const file = join(folder, `${nameOf(sequence)}.json`);
        const text = certificateText(certificate);
        // Another program may have taken the number since.
        if (!createSecretFile(file, text)) continue;
        renameSync(draftFile, listFileOf(file));
        return { certificate, text, file };
      }
    },
    open: () =>
      openAmong(
        sequences()
          .slice(0, LOOKED_BACK_MAX)
          .map((sequence) => read(sequence).certificate),
      ),
  };
}

/** Removes what programs left that were killed. */
function removeOldDrafts(folder: string): void {
  for (const name of readdirSync(folder)) {
    const pid = Number(DRAFT.exec(name)?.[1]);
    if (Number.isNaN(pid) || pid === process.pid) continue;
    try {
      process.kill(pid, 0);
    } catch {
      rmSync(join(folder, name), { force: true });
    }
  }
}

/** Removes what a reading that failed has left. */
export const dropDraft = (archive: Archive): void => rmSync(archive.draftFile, { force: true });

/** @param newestFirst */
function openAmong(newestFirst: readonly Certificate[]): Certificate[] {
  const found: Certificate[] = [];
  for (const [at, certificate] of newestFirst.entries()) {
    if (certificate.result === 'complete') continue;
    const later = newestFirst.slice(0, at);
    const { ofChain, ofBalances } = kindsOf(certificate);
    const { from, to } = certificate.range;
    const isRead = later.some(({ result, range }) => result === 'complete' && range.from <= from && range.to >= to);
    const isBalanced = later.some((one) => one.balances.state === 'read' && !kindsOf(one).ofBalances);
    if ((ofChain && !isRead) || (ofBalances && !isBalanced)) found.push(certificate);
  }
  return found;
}

/** Which kinds of differences a certificate has; both if it does not list all of them. */
function kindsOf({ differences: { count, listed } }: Certificate): Readonly<{ ofChain: boolean; ofBalances: boolean }> {
  const isCut = count > listed.length;
  const isOfBalance = ({ code }: Readonly<{ code: string }>): boolean => code.startsWith('balance_');
  return { ofChain: isCut || listed.some((one) => !isOfBalance(one)), ofBalances: isCut || listed.some(isOfBalance) };
}
