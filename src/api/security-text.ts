/** Where somebody who finds a hole in this installation reports it. */
import { DAY_MS } from '../lib/clock.ts';

/** RFC 9116 asks for less than a year, so that no dead address stands for long. Counted from each answer. */
const VALID_DAYS = 180;

/**
 * Writes `/.well-known/security.txt`. Format: RFC 9116.
 * @param contact a `mailto:` or `https://` URL
 */
export const securityText = (contact: string, baseUrl: string, nowMs: number): string =>
  [
    `Contact: ${contact}`,
    `Expires: ${new Date(nowMs + VALID_DAYS * DAY_MS).toISOString()}`,
    `Canonical: ${baseUrl}/.well-known/security.txt`,
    '',
  ].join('\n');
