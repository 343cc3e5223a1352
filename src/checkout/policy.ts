/**
 * What a browser lets the page do.
 * @module
 */
import type { RequestHandler, Response } from 'express';

/**
 * What the page may do: load its own files and nothing else, and be framed by nobody but those who are named.
 * @param allowed `connect`: other origins that may be called from inside the page; `ancestors`: origins whose pages may frame it
 */
function contentPolicy({ connect, ancestors }: Allowed): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src ${["'self'", ...connect].join(' ')}`,
    "base-uri 'none'",
    "form-action 'self'",
    `frame-ancestors ${ancestors.length === 0 ? "'none'" : ancestors.join(' ')}`,
  ].join('; ');
}

export type Allowed = Readonly<{ connect: readonly string[]; ancestors: readonly string[] }>;

/** Headers of everything under the page's address. */
export const protect: RequestHandler = (_request, response, next) => {
  response.set({ 'Referrer-Policy': 'no-referrer', 'X-Robots-Tag': 'noindex, nofollow' });
  allow(response, { connect: [], ancestors: [] });
  next();
};

/** The older header cannot name an origin, so it stands only where nobody is named. */
export function allow(response: Response, allowed: Allowed): void {
  response.set('Content-Security-Policy', contentPolicy(allowed));
  if (allowed.ancestors.length === 0) response.set('X-Frame-Options', 'DENY');
  else response.removeHeader('X-Frame-Options');
}
