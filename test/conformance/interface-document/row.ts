/** A row of the interface document: one rule, field, code, state, header, event or cell that it states. */
import { type Answer, refused, type Shop } from './shop.ts';

/** `titles` are what the document says, in each of the places; `check` throws where the installation does otherwise. */
export type Row = Readonly<{ titles: readonly string[]; check(shop: Shop): Promise<void> | void }>;

/** A heading of the document with its rows. */
export type Section = Readonly<{ title: string; rows: readonly Row[] }>;

export const row = (titles: string | readonly string[], check: Row['check']): Row => ({
  titles: [titles].flat(),
  check,
});

/**
 * Returns a row about a call that is refused.
 * @param titles the first one has the status, as `404 (not found)`, or the code before it, as `REFUND_NOT_FOUND, 404`
 */
export function refuses(titles: string | readonly string[], call: (shop: Shop) => Promise<Answer>, code?: string): Row {
  const [, named, status] = /^(?:(\w+), )?(\d{3})\b/.exec([titles].flat()[0] ?? '') ?? [];
  return row(titles, async (shop) => void refused(await call(shop), Number(status), named ?? code));
}

export const section = (title: string, ...rows: readonly (Row | readonly Row[])[]): Section => ({
  title,
  rows: rows.flat(),
});
