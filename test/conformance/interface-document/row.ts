/** A row of the interface document: one rule, field, code, state, header, event or cell that it states. */
import type { Shop } from './shop.ts';

/** `title` is what the document says; `check` throws where the installation does otherwise. */
export type Row = Readonly<{ title: string; check(shop: Shop): Promise<void> | void }>;

/** A heading of the document with its rows. */
export type Section = Readonly<{ title: string; rows: readonly Row[] }>;

export const row = (title: string, check: Row['check']): Row => ({ title, check });

export const section = (title: string, ...rows: readonly (Row | readonly Row[])[]): Section => ({
  title,
  rows: rows.flat(),
});
