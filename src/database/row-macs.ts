/**
 * Makes and checks the MACs of rows, and raises an alarm for each row that fails.
 */
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import { systemClock } from '../lib/clock.ts';
import { createAlarmWriter } from './alarms.ts';
import type { Db } from './engine/open.ts';

type Field = string | number | null;

/** A row as its MAC covers it: the table's name, its primary key, and the protected fields in a fixed order. */
export type MacedRow = Readonly<{ table: string; key: readonly Field[]; fields: readonly Field[] }>;

export type RowMacs = Readonly<{
  seal(row: MacedRow): string;
  /** @param mac as stored; null matches no row */
  isIntact(row: MacedRow, mac: string | null): boolean;
}>;

const MAC = /^v1\.([A-Za-z0-9_-]{43})$/;

export function createRowMacs(secretKey: Uint8Array): RowMacs {
  // A KeyObject: a key of bytes costs Node ten times as much at each use.
  const macKey = createSecretKey(createHmac('sha256', secretKey).update('quayside row mac v1').digest());
  const macOf = (row: MacedRow): Buffer => createHmac('sha256', macKey).update(encode(row)).digest();

  return {
    seal: (row) => `v1.${macOf(row).toString('base64url')}`,
    isIntact(row, mac) {
      const [, text] = MAC.exec(mac ?? '') ?? [];
      if (text === undefined) return false;
      const [expected, given] = [macOf(row), Buffer.from(text, 'base64url')];
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
  };
}

const encode = ({ table, key, fields }: MacedRow): string =>
  [encodeField(table), key.length, ':', ...key.map(encodeField), ...fields.map(encodeField)].join('');

/** A letter for the type, the length in bytes, and the text. */
function encodeField(field: Field): string {
  if (field === null) return 'n';
  const text = String(field);
  return `${typeof field === 'number' ? 'i' : 's'}${Buffer.byteLength(text)}:${text}`;
}

/** Altered rows that a process remembers, so that each raises one alarm. */
const REPORTED_MAX = 1_000;

export type RowGuard = Pick<RowMacs, 'seal'> &
  Readonly<{
    /**
     * Returns whether a row is as this installation wrote it. If not, raises the alarm `row_altered`, once per process:
     * the caller must not use the row.
     * @param name of the row, for operators
     * @param remedy what the operator does, with its command
     */
    accepts(row: MacedRow, mac: string | null, name: string, remedy: string): boolean;
    /** Raises the same alarm for a row that the caller has found to be altered. */
    refuse(table: string, name: string, remedy: string): void;
  }>;

export function createRowGuard(db: Db, secretKey: Uint8Array): RowGuard {
  const raiseAlarm = createAlarmWriter(db);
  const { seal, isIntact } = createRowMacs(secretKey);
  const reported = new Set<string>();

  /** Raises the alarm after the current transaction, which may be one that only reads. */
  function report(table: string, name: string, remedy: string): void {
    if (reported.has(name) || reported.size >= REPORTED_MAX) return;
    reported.add(name);
    const message =
      `The row of ${name} in the table ${table} of ${db.name} was altered, or was not written by this installation. ` +
      `It is not used. Find out who can write to that file; then ${remedy}.`;
    const alarm = { atMs: systemClock.nowMs(), code: 'row_altered', message, network: null, sessionId: null };
    setImmediate(async () => {
      try {
        await db.write(() => raiseAlarm(alarm));
      } catch {
        // An alarm that cannot be saved now is raised when the row is read again.
        reported.delete(name);
      }
    });
  }

  return {
    seal,
    refuse: report,
    accepts(row, mac, name, remedy) {
      if (isIntact(row, mac)) return true;
      report(row.table, name, remedy);
      return false;
    },
  };
}
