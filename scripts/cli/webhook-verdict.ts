/**
 * What is wrong with an answer to a webhook, in words.
 */
import type { Attempt } from '../../src/database/attempts.ts';

const TITLE_CHARACTERS_MAX = 100;

const errorTexts: Readonly<Record<string, string>> = {
  timeout: 'it did not answer in time; a handler must answer before it does its work',
  tls: 'TLS failed: its certificate is invalid, has expired, or is for another name',
  dns: 'its name was not found; look at the DNS of the host',
  connect: 'no connection: nothing listens there, or a firewall drops it',
  blocked_address: 'its address is private, and not in webhooks.allow_cidrs',
  too_large: 'the headers of its answer are too large',
  http: 'what answers there is not HTTP',
};

/** Returns in words what is wrong with an answer; null for a success. */
export function wrongWith({
  status,
  error,
  responseExcerpt,
}: Pick<Attempt, 'status' | 'error' | 'responseExcerpt'>): string | null {
  if (status === null) return errorTexts[error ?? ''] ?? `no answer: ${error}`;
  if (status >= 200 && status < 300) return null;
  const title = titleOf(responseExcerpt);
  const page = title === null ? '' : `, with the page "${title}"`;
  if (status >= 300 && status < 400) return `it redirects (${status}): register the URL that it redirects to`;
  if (status === 401 || status === 403) {
    return title === null
      ? `it refuses (${status}): the handler’s check of the signature, or something before it`
      : `a firewall or login page answers (${status})${page}: let these requests through to the handler`;
  }
  if (status === 404 || status === 405) return `no handler at this URL takes a POST (${status})${page}`;
  if (status === 410) return `it says that it is gone (410)${page}`;
  if (status === 429) return 'it asks for fewer requests (429)';
  return status >= 500 ? `the handler or its server fails (${status})${page}` : `it refuses (${status})${page}`;
}

/** Returns the title of an HTML page without control characters, or null. */
function titleOf(excerpt: string | null): string | null {
  const [, title = ''] = /<title[^>]{0,200}>([^<]{1,500})/i.exec(excerpt ?? '') ?? [];
  const text = title
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
    .slice(0, TITLE_CHARACTERS_MAX);
  return text === '' ? null : text;
}
