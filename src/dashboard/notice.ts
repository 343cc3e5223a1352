/**
 * What a page says after a form was taken and the browser was sent on: the text travels in the address, with a proof
 * that this session's own pages wrote it. It is said once: not after a reload, and to nobody whom the address is given.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';

/** The browser follows at once. */
const SAID_WITHIN_MS = 60_000;

export type Notices = Readonly<{
  /** Returns a path with a notice for the page that it leads to. */
  add(path: string, text: string, formToken: string): string;
  /** Returns the notice of an address; null if there is none, it was said, or another session's pages wrote it. */
  take(query: URLSearchParams, formToken: string): string | null;
}>;

const proofOf = (text: string, at: string, formToken: string): Buffer =>
  createHmac('sha256', formToken).update(`notice ${at} ${text}`).digest().subarray(0, 16);

export function createNotices({ nowMs }: Pick<Clock, 'nowMs'>): Notices {
  /** The proofs of what was said, and when it was written; the oldest first. */
  const said = new Map<string, number>();
  let count = 0;
  return {
    add(path, text, formToken) {
      // What says the same in the same millisecond is said twice.
      const at = `${nowMs()}-${++count}`;
      const proof = proofOf(text, at, formToken).toString('base64url');
      return `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams({ said: text, at, proof })}`;
    },
    take(query, formToken) {
      const [text, at = '', proof = ''] = ['said', 'at', 'proof'].map((name) => query.get(name) ?? undefined);
      if (text === undefined) return null;
      const [own, sent] = [proofOf(text, at, formToken), Buffer.from(proof, 'base64url')];
      const writtenAtMs = Number.parseInt(at, 10);
      const isOver = nowMs() - writtenAtMs > SAID_WITHIN_MS || said.has(at);
      if (own.length !== sent.length || !timingSafeEqual(own, sent) || isOver) return null;
      for (const [old, oldMs] of said) if (nowMs() - oldMs > SAID_WITHIN_MS) said.delete(old);
      said.set(at, writtenAtMs);
      return text;
    },
  };
}
