/**
 * MACs of rows that decide where money goes or who may act. They are checked whenever such a row is read: write access
 * to the database file alone is not enough to redirect money, or to get the rights of another key.
 *
 * A MAC is HMAC-SHA256 over the table, the primary key and the fields, each with its type and its length in bytes, so
 * that no row reads as another. It is stored as `v<version>.<base64url>`; the version is that of the data key.
 *
 * @module
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { permanent } from '../../core/fault.ts';

/** The installation's data keys by version. New MACs are made with the newest. */
export type DataKeys = Readonly<{
  newestVersion: number;
  /** Returns the key of a version; null if it is not known (any more). */
  find(version: number): Uint8Array | null;
}>;

type Field = string | number | null;

/** A row as its MAC covers it: the table's name, its primary key, and the protected fields in a fixed order. */
export type MacedRow = Readonly<{ table: string; key: readonly Field[]; fields: readonly Field[] }>;

export type RowMacs = Readonly<{
  seal(row: MacedRow): string;
  /** @param mac as stored; null matches no row */
  isIntact(row: MacedRow, mac: string | null): boolean;
}>;

const MAC = /^v([1-9]\d{0,8})\.([A-Za-z0-9_-]{43})$/;

/** Returns the data keys of an installation that has only ever had one. */
export const onlyDataKey = (key: Uint8Array): DataKeys => ({
  newestVersion: 1,
  find: (version) => (version === 1 ? key : null),
});

export function createRowMacs({ newestVersion, find }: DataKeys): RowMacs {
  const macKeys = new Map<number, Buffer>();

  /** Returns the key of a version's MACs; null if the version is not known. */
  function macKeyOf(version: number): Buffer | null {
    const known = macKeys.get(version);
    if (known) return known;
    const dataKey = find(version);
    if (!dataKey) return null;
    const made = createHmac('sha256', dataKey).update('quayside row mac v1').digest();
    macKeys.set(version, made);
    return made;
  }

  function macOf(row: MacedRow, version: number): Buffer | null {
    const macKey = macKeyOf(version);
    return macKey && createHmac('sha256', macKey).update(encode(row)).digest();
  }

  return {
    seal(row) {
      const mac = macOf(row, newestVersion);
      if (!mac)
        throw permanent('secret_key_wrong', `The secret key of version ${newestVersion} is missing; restore it.`);
      return `v${newestVersion}.${mac.toString('base64url')}`;
    },
    isIntact(row, mac) {
      const [, version = '', text = ''] = MAC.exec(mac ?? '') ?? [];
      const expected = macOf(row, Number(version));
      const given = Buffer.from(text, 'base64url');
      return expected !== null && given.length === expected.length && timingSafeEqual(given, expected);
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
