/**
 * The notice on a page to which the browser is sent after a form. The address has its text, and a proof that it was
 * written for this session a moment ago: nobody else is shown it, and nobody can make it up.
 */
import { createHmac } from 'node:crypto';

/** The browser follows at once. */
const SHOWN_MS = 60_000;

const proofOf = (formToken: string, at: string, text: string): string =>
  createHmac('sha256', formToken).update(`${at} ${text}`).digest('base64url');

/** Returns a path with a notice for the page that it leads to. */
export function withNotice(path: string, text: string, formToken: string, nowMs: number): string {
  const at = String(nowMs);
  const query = new URLSearchParams({ said: text, at, proof: proofOf(formToken, at, text) });
  return `${path}${path.includes('?') ? '&' : '?'}${query}`;
}

/** Returns the notice of an address; null if there is none for this session now. */
export function noticeOf(query: URLSearchParams, formToken: string, nowMs: number): string | null {
  const [text = '', at = '', proof] = ['said', 'at', 'proof'].map((name) => query.get(name) ?? '');
  const isNew = nowMs - Number(at) <= SHOWN_MS;
  return isNew && proof === proofOf(formToken, at, text) ? text : null;
}
