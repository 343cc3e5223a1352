/**
 * The sender of a request, by the session cookie and its token.
 */
import { timingSafeEqual } from 'node:crypto';
import type { Request, Response } from 'express';
import type { Config } from '../config/config.ts';
import type { Database } from '../database/database.ts';
import type { Person, WebSession, WebSessionLimits } from '../database/people.ts';
import type { Clock } from '../lib/clock.ts';
import { hashOf, newToken } from '../lib/id.ts';
import { isFactorRequired } from './second-factor.ts';

/** OWASP's Session Management Cheat Sheet: 15 to 30 minutes without use, and one working day at all. */
export const sessionLimits: WebSessionLimits = { idleMs: 30 * 60_000, lifeMs: 8 * 3_600_000 };

/** How long a proof of the second factor lets a session do what lets money or power out. Signing in is one. */
export const SUDO_MS = 10 * 60_000;

/** Somebody who is signed in. `formToken` proves that a form was written for this session. */
export type Visitor = Readonly<{ person: Person; session: WebSession; formToken: string }>;

export type WebSessions = ReturnType<typeof createWebSessions>;

/** Compares a form's token in constant time. */
export function isFormToken(visitor: Visitor, text: string | undefined): boolean {
  const [own, sent] = [Buffer.from(visitor.formToken), Buffer.from(text ?? '')];
  return own.length === sent.length && timingSafeEqual(own, sent);
}

/**
 * @param isHttps the dashboard's own address decides about the cookie's name and flags, never the request: browsers
 * differ about `Secure` on `http://localhost`, and behind a proxy every request is plain
 */
export function createWebSessions(
  { database, clock, config }: Readonly<{ database: Database; clock: Clock; config: Pick<Config, 'networks'> }>,
  isHttps: boolean,
) {
  const name = isHttps ? '__Host-quayside' : 'quayside';
  // A link from a mail or a chat brings the cookie: no page changes anything, and forms have a token of their own.
  const flags = `Path=/; HttpOnly; SameSite=Lax${isHttps ? '; Secure' : ''}`;
  const tokenOf = (request: Request): string | null => {
    for (const part of (request.get('Cookie') ?? '').split(';')) {
      const [key, value = ''] = part.trim().split('=', 2);
      if (key === name && /^[\w-]{43}$/.test(value)) return value;
    }
    return null;
  };
  /** Gives the browser a session's token. */
  const give = (response: Response, token: string): void => {
    response.append('Set-Cookie', `${name}=${token}; ${flags}`);
  };
  return {
    give,
    /** Returns who sent the request; null for nobody, and for a person who has yet to set up the required factor. */
    async visitorOf(request: Request): Promise<Visitor | null> {
      const token = tokenOf(request);
      if (token === null) return null;
      const found = await database.people.findWebSession(hashOf(token), clock.nowMs(), sessionLimits);
      const isMissing = !found?.person.hasFactor && isFactorRequired(config.networks);
      return found && !isMissing ? { ...found, formToken: found.session.formToken } : null;
    },
    hasCookie: (request: Request) => tokenOf(request) !== null,
    /** Returns a new session of a person, and a function that gives its cookie to the browser. */
    prepare(personId: string) {
      const token = newToken();
      const nowMs = clock.nowMs();
      const session: WebSession = {
        hash: hashOf(token),
        formToken: newToken(),
        personId,
        startedAtMs: nowMs,
        seenAtMs: nowMs,
        sudoUntilMs: nowMs + SUDO_MS,
      };
      return { session, give: (response: Response) => give(response, token) };
    },
    /** Makes the browser forget its cookie. */
    forget(response: Response): void {
      response.append('Set-Cookie', `${name}=; Max-Age=0; ${flags}`);
    },
  };
}
