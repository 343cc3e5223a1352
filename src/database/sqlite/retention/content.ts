/**
 * The content of an archived session: its rows as they were, compressed.
 * @module
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** A row by its columns; without those that are null. */
export type StoredRow = Readonly<Record<string, string | number>>;

export type ArchivedContent = Readonly<{
  session: StoredRow;
  events: readonly StoredRow[];
  deliveries: readonly StoredRow[];
  /** The endpoint that the session named. */
  endpoint: StoredRow | null;
}>;

/** The columns of `sessions` with what a merchant sent about the payer: free texts, goods, and pages of the shop. */
export const payerColumns = ['description', 'line_items', 'metadata', 'success_url', 'cancel_url'] as const;

/** zlib looks no further back than this. */
const DICTIONARY_BYTES_MAX = 32_768;

export function withoutPayerData(content: ArchivedContent): ArchivedContent {
  const session = Object.fromEntries(
    Object.entries(content.session).filter(([name]) => !(payerColumns as readonly string[]).includes(name)),
  );
  return { ...content, session };
}

export const hasPayerData = ({ session }: ArchivedContent): boolean => payerColumns.some((name) => name in session);

/** Returns the row without its nulls. */
export const toStored = (row: Readonly<Record<string, unknown>>): StoredRow =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as StoredRow;

/** Returns what others can be compressed with: a session of the same installation, without payer data. */
export const toDictionary = (content: ArchivedContent): Buffer =>
  Buffer.from(JSON.stringify(withoutPayerData(content))).subarray(-DICTIONARY_BYTES_MAX);

export const pack = (content: ArchivedContent, dictionary: Buffer): Buffer =>
  deflateRawSync(JSON.stringify(content), { dictionary, level: 9 });

export const unpack = (packed: Buffer, dictionary: Buffer): ArchivedContent =>
  JSON.parse(inflateRawSync(packed, { dictionary }).toString()) as ArchivedContent;
