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
import { type DataKeys, versionOf } from './data-keys.ts';

type Field = string | number | null;

/** A row as its MAC covers it: the table's name, its primary key, and the protected fields in a fixed order. */
export type MacedRow = Readonly<{ table: string; key: readonly Field[]; fields: readonly Field[] }>;

export type RowMacs = Readonly<{
  seal(row: MacedRow): string;
  /** @param mac as stored; null matches no row */
  isIntact(row: MacedRow, mac: string | null): boolean;
}>;

const MAC = /^v[1-9]\d{0,5}\.([A-Za-z0-9_-]{43})$/;

export function createRowMacs(keys: DataKeys): RowMacs {
  const macKeys = new WeakMap<Uint8Array, Buffer>();

  /** Returns the key of a version's MACs; null if the version is not known. */
  function macKeyOf(version: number): Buffer | null {
    const dataKey = keys.find(version);
    if (!dataKey) return null;
    const known = macKeys.get(dataKey);
    if (known) return known;
    const made = createHmac('sha256', dataKey).update('quayside row mac v1').digest();
    macKeys.set(dataKey, made);
    return made;
  }

  function macOf(row: MacedRow, version: number): Buffer | null {
    const macKey = macKeyOf(version);
    return macKey && createHmac('sha256', macKey).update(encode(row)).digest();
  }

  return {
    seal(row) {
      const version = keys.current();
      const mac = macOf(row, version);
      if (!mac) throw permanent('secret_key_wrong', `Version ${version} of the secret key is missing; restore it.`);
      return `v${version}.${mac.toString('base64url')}`;
    },
    isIntact(row, mac) {
      const [, text = ''] = MAC.exec(mac ?? '') ?? [];
      const expected = text === '' ? null : macOf(row, versionOf(mac) ?? 0);
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
