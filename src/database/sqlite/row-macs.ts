/**
 * MACs of rows that decide where money goes or who may act. They are checked whenever such a row is read: write access
 * to the database file alone is not enough to redirect money, or to get the rights of another key.
 *
 * A MAC is HMAC-SHA256 over the table, the primary key and the fields, each with its type and its length in bytes, so
 * that no row reads as another. It is stored as `v1.<base64url>`; `v1` names the form.
 */
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';

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
