/**
 * What a page says after a form was taken and the browser was sent on: the text travels in the address, with a proof
 * that this session's own pages wrote it.
 * @module
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

const proofOf = (text: string, formToken: string): Buffer =>
  createHmac('sha256', formToken).update(`notice ${text}`).digest().subarray(0, 16);

/** Returns a path with a notice for the page that it leads to. */
export function withNotice(path: string, text: string, formToken: string): string {
  const query = new URLSearchParams({ said: text, proof: proofOf(text, formToken).toString('base64url') });
  return `${path}${path.includes('?') ? '&' : '?'}${query}`;
}

/** Returns the notice of an address; null if there is none, or if another session's pages wrote it. */
export function readNotice(query: URLSearchParams, formToken: string): string | null {
  const text = query.get('said');
  if (text === null) return null;
  const [own, sent] = [proofOf(text, formToken), Buffer.from(query.get('proof') ?? '', 'base64url')];
  return own.length === sent.length && timingSafeEqual(own, sent) ? text : null;
}
