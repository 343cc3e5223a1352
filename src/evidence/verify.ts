/**
 * Checks a certificate's files without a node or a database.
 * @module
 */
import { existsSync, readFileSync } from 'node:fs';
import { Fault } from '../core/fault.ts';
import { listFileOf, previousFileOf } from './archive.ts';
import { type ListTotals, readList } from './block-list.ts';
import { type Certificate, canonicalText, certificateHash, readCertificate } from './certificate.ts';

/** Plain sentences. Without `problems`, everything in `proved` holds. */
export type Verification = Readonly<{
  certificate: Certificate;
  proved: readonly string[];
  unproved: readonly string[];
  problems: readonly string[];
}>;

export type VerifyOptions = Readonly<{
  file: string;
  /** The certificate before; absent: the file with the number before, in the same folder. */
  previous?: string;
  /** The public key that must have signed, as hex. */
  publicKey?: string;
}>;

type Notes = Readonly<{ proved: string[]; unproved: string[]; problems: string[] }>;

/** @throws Fault permanent `evidence_invalid` if the certificate itself is not valid; whatever reading a file throws */
export async function verifyEvidence({ file, previous, publicKey }: VerifyOptions): Promise<Verification> {
  const certificate = readCertificate(readFileSync(file, 'utf8'), file);
  const notes: Notes = { proved: [], unproved: [], problems: [] };
  const { proved, unproved, problems } = notes;
  proved.push(`nothing in the file was changed since key ${certificate.public_key} signed it`);
  if (publicKey === undefined) unproved.push('whose key that is: compare it with `quayside evidence key`');
  else if (publicKey.toLowerCase() !== certificate.public_key) problems.push(`it was not signed by key ${publicKey}`);
  checkChain(certificate, previous ?? previousFileOf(file, certificate), previous !== undefined, notes);
  await checkList(certificate, listFileOf(file), notes);
  const { balances, differences } = certificate;
  if (balances.state === 'left_out') unproved.push(`what the addresses hold: ${balances.why}`);
  else if (balances.from_block !== certificate.range.last.number || balances.to_block > balances.from_block) {
    unproved.push(
      `what the addresses held at block ${certificate.range.last.number}: the node only had the state of block ${spanText(balances)}`,
    );
  }
  for (const { code, message } of differences.listed) problems.push(`${code}: ${message}`);
  const more = differences.count - differences.listed.length;
  if (more > 0) problems.push(`and ${more} more difference(s), which are not listed`);
  unproved.push(
    'that the node showed the chain that everybody else sees: ask another node for the hash of the last block',
  );
  return { certificate, proved, unproved, problems };
}

export const spanText = ({ from_block: from, to_block: to }: Readonly<{ from_block: number; to_block: number }>) =>
  from === to ? String(from) : `${from} to ${to}`;

function checkChain(certificate: Certificate, file: string | null, isNamed: boolean, notes: Notes): void {
  const { proved, unproved, problems } = notes;
  const { sequence, previous, range } = certificate;
  if (previous === null) {
    if (sequence !== 1) problems.push(`number ${sequence} names no certificate before it`);
    else unproved.push(`anything before block ${range.from}: it is the network's first certificate`);
    return;
  }
  if (file === null || (!isNamed && !existsSync(file))) {
    unproved.push(`that it continues number ${sequence - 1}: that file is not here (name it with --previous)`);
    return;
  }
  const text = readFileSync(file, 'utf8');
  const before = attempt(() => readCertificate(text, file), problems);
  if (!before) return;
  const faults = [
    [before.network !== certificate.network, `it is of ${before.network}`],
    [before.sequence !== sequence - 1, `it has number ${before.sequence} instead of ${sequence - 1}`],
    [certificateHash(text) !== previous, `its hash is not ${previous}`],
    [certificate.certified_through !== Math.max(before.certified_through, range.to), 'the two do not add up'],
  ] as const;
  const found = faults.filter(([is]) => is).map(([, why]) => why);
  if (found.length > 0) problems.push(`${file} is not the certificate before this one: ${found.join('; ')}`);
  else proved.push(`it continues number ${before.sequence}, which was signed before it`);
  if (before.public_key !== certificate.public_key) {
    unproved.push(`that the same installation signed number ${before.sequence}: its key is ${before.public_key}`);
  }
  const gap = before.certified_through + 1;
  if (range.from > gap) unproved.push(`blocks ${gap} to ${range.from - 1}: no certificate before this one has them`);
}

async function checkList(certificate: Certificate, file: string, { proved, unproved, problems }: Notes): Promise<void> {
  const { range, transfers } = certificate;
  if (!existsSync(file)) {
    unproved.push(`which blocks and transfers they were: ${file} is not here. Its hash is signed`);
    return;
  }
  const totals = await readList(file).catch((error: unknown) => {
    if (!(error instanceof Fault)) throw error;
    return error;
  });
  if (totals instanceof Fault) return void problems.push(totals.message);
  const wrong = contradictions(certificate, totals);
  for (const what of wrong) problems.push(`${file} has ${what} than the certificate says`);
  if (wrong.length > 0) return;
  proved.push(
    `blocks ${range.first.number} to ${range.last.number} (${range.blocks}) are linked by parent hashes, none is missing`,
    `the list has ${transfers.count} transfer(s) to our addresses in them, and the sums are right`,
  );
}

/** Returns in what a list differs from what its certificate says of it. */
function contradictions({ range, transfers, payouts, balances, list, result }: Certificate, totals: ListTotals) {
  const isRead = balances.state === 'read';
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ['other bytes', list, totals.list],
    ['other blocks', [range.blocks, range.first, range.last], [totals.blocks, totals.first, totals.last]],
    ['other transfers', transfers, totals.transfers],
    ['other payouts', payouts, totals.payouts],
    [
      'other balances',
      isRead ? [balances.addresses, balances.on_chain, balances.in_ledger] : [0, {}, {}],
      [totals.addresses, totals.onChain, totals.inLedger],
    ],
  ];
  const found = pairs.filter(([, said, is]) => canonicalText(said) !== canonicalText(is)).map(([what]) => what);
  const isAbove = totals.above > 0 || (totals.below > 0 && isRead && balances.swept_by === 'signer');
  if (result === 'complete' && isAbove) found.push('more differences');
  if (range.first.number < range.from || range.last.number > range.to) found.push('another range');
  return found;
}

/** Returns null, and notes the problem, if `read` throws a fault. */
function attempt<T>(read: () => T, problems: string[]): T | null {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    problems.push(error.message);
    return null;
  }
}
