/**
 * The notice on a page to which the browser is sent after a form. The address has the key of the text, which is
 * said once, to this session: not after a reload, and to nobody whom the address is given.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';

/** The browser follows at once. */
const SAID_WITHIN_MS = 60_000;

export type Notices = ReturnType<typeof createNotices>;

export function createNotices({ nowMs }: Pick<Clock, 'nowMs'>) {
  /** The oldest first. */
  const waiting = new Map<string, Readonly<{ text: string; formToken: string; atMs: number }>>();
  return {
    /** Returns a path with the key of a notice for the page that it leads to. */
    add(path: string, text: string, formToken: string): string {
      for (const [key, { atMs }] of waiting) if (nowMs() - atMs > SAID_WITHIN_MS) waiting.delete(key);
      const key = randomUUID();
      waiting.set(key, { text, formToken, atMs: nowMs() });
      return `${path}${path.includes('?') ? '&' : '?'}said=${key}`;
    },
    /** Returns the notice of an address; null if there is none for this session, or it was said. */
    take(query: URLSearchParams, formToken: string): string | null {
      const key = query.get('said') ?? '';
      const notice = waiting.get(key);
      if (notice?.formToken !== formToken || nowMs() - notice.atMs > SAID_WITHIN_MS) return null;
      waiting.delete(key);
      return notice.text;
    },
  };
}
