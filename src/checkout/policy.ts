/** The security headers of the page. */
import type { RequestHandler, Response } from 'express';
import { contentPolicy } from '../web/policy.ts';

/** Sets the headers of everything below the page's path. */
export const protect: RequestHandler = (_request, response, next) => {
  response.set({ 'Referrer-Policy': 'no-referrer', 'X-Robots-Tag': 'noindex, nofollow' });
  allow(response, { connect: [], ancestors: [] });
  next();
};

/** Sets who may frame the page. `X-Frame-Options` cannot name an origin, so it is sent only if nobody may. */
export function allow(
  response: Response,
  allowed: Readonly<{ connect: readonly string[]; ancestors: readonly string[] }>,
): void {
  response.set('Content-Security-Policy', contentPolicy(allowed));
  if (allowed.ancestors.length === 0) response.set('X-Frame-Options', 'DENY');
  else response.removeHeader('X-Frame-Options');
}
