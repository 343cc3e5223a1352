/**
 * The security headers of the page.
 */
import type { RequestHandler, Response } from 'express';
import { invariant } from '../core/fault.ts';

/**
 * Returns the content security policy: the page loads only its own files, and only the given origins may frame it.
 * @param allowed `connect`: other origins that the page may call; `ancestors`: origins whose pages may frame it
 */
function contentPolicy({ connect, ancestors }: Allowed): string {
  const isSource = (origin: string) => !/[\s;,*]/.test(origin);
  invariant([...connect, ...ancestors].every(isSource), 'an origin of a security policy ends no directive');
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

type Allowed = Readonly<{ connect: readonly string[]; ancestors: readonly string[] }>;

/** Sets the headers of everything below the page's path. */
export const protect: RequestHandler = (_request, response, next) => {
  response.set({ 'Referrer-Policy': 'no-referrer', 'X-Robots-Tag': 'noindex, nofollow' });
  allow(response, { connect: [], ancestors: [] });
  next();
};

/** Sets who may frame the page. `X-Frame-Options` cannot name an origin, so it is sent only if nobody may. */
export function allow(response: Response, allowed: Allowed): void {
  response.set('Content-Security-Policy', contentPolicy(allowed));
  if (allowed.ancestors.length === 0) response.set('X-Frame-Options', 'DENY');
  else response.removeHeader('X-Frame-Options');
}
