/**
 * The alarms about certificates: differences that are open, and certificates that could not be made.
 *
 * @module
 */
import type { NetworkConfig } from '../../src/config/network.ts';
import type { Fault } from '../../src/core/fault.ts';
import { alarmKey } from '../../src/database/alarms.ts';
import type { Database } from '../../src/database/database.ts';
import type { Archive } from '../../src/evidence/archive.ts';
import type { Clock } from '../../src/lib/clock.ts';

export type AlarmParts = Readonly<{
  network: Pick<NetworkConfig, 'key'>;
  database: Pick<Database, 'keepAlarm' | 'endAlarm'>;
  archive: Pick<Archive, 'open'>;
  clock: Pick<Clock, 'nowMs'>;
}>;

/** What a node says that no longer has the blocks. */
const GONE: readonly string[] = ['node_history_pruned', 'node_block_missing'];

/** Brings the alarms up to date after a certificate: open differences keep theirs, and it could be made. */
export async function reportCertificates({ network: { key }, database, archive, clock }: AlarmParts): Promise<void> {
  const atMs = clock.nowMs();
  await database.endAlarm(alarmKey('certificate', key), atMs);
  const open = archive.open();
  const [newest] = open;
  if (!newest) return void (await database.endAlarm(alarmKey('evidence', key), atMs));
  const { sequence, range, differences } = newest;
  const others = open.length > 1 ? ` ${open.length - 1} earlier certificate(s) differ as well.` : '';
  const blocks = `${key} --from ${range.from} --to ${range.to}`;
  const message =
    `certificate ${sequence} of ${key}, blocks ${range.from} to ${range.to}, has ${differences.count} difference(s) between the chain and the database: ${differences.listed[0]?.message ?? ''}.${others} ` +
    `\`quayside evidence verify\` lists them. \`quayside networks reread ${blocks}\` adds missed transfers; then \`quayside evidence ${blocks}\` compares again, and a complete certificate of these blocks ends this alarm`;
  const own = { key: alarmKey('evidence', key), atMs, network: key, sessionId: null };
  await database.keepAlarm({ ...own, code: 'evidence_differs', message });
}

/** Reports that a certificate could not be made. @returns the message */
export async function reportNotMade(
  { network: { key }, database, clock }: Omit<AlarmParts, 'archive'>,
  fault: Fault,
): Promise<string> {
  const advice = GONE.includes(fault.code)
    ? `Make it from a node that has these blocks, or begin at a later one with \`quayside evidence ${key} --from BLOCK\``
    : 'It is tried again the next night';
  const message = `no certificate could be made of ${key}: ${fault.message}. ${advice}`;
  const own = { key: alarmKey('certificate', key), atMs: clock.nowMs(), network: key, sessionId: null };
  await database.keepAlarm({ ...own, code: 'evidence_not_made', message });
  return message;
}
