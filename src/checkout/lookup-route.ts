/**
 * Requests to look up a transaction. The form writes a row for the indexers and redirects to the page, which shows the
 * results. A lookup costs node requests, so the rate is limited for each session and each IP address.
 */
import type { Router } from 'express';
import type { Config } from '../config/config.ts';
import type { Database } from '../database/database.ts';
import type { Session } from '../database/session.ts';
import type { Clock } from '../lib/clock.ts';
import { queryOf } from '../lib/form.ts';
import { createLimiter } from '../lib/rate-limit.ts';
import { PASTED_CHARS_MAX, readTransaction } from './lookup.ts';
import { findSession, formReader, limitCallers, type Refuse } from './request.ts';

const SESSIONS_MAX = 10_000;
const ofSession = { perSecond: 1 / 10, burst: 6, namesMax: SESSIONS_MAX };
const ofCaller = { perSecond: 1 / 3, burst: 30 };
const FORM_BYTES_MAX = 4096;

type LookupDeps = Readonly<{
  database: Pick<Database, 'sessions' | 'lookups'>;
  config: Pick<Config, 'networks'>;
  clock: Clock;
}>;

export function serveLookups(router: Router, { database, config, clock }: LookupDeps, refuse: Refuse): void {
  const perSession = createLimiter({ ...ofSession, clock });
  const countCaller = limitCallers(ofCaller, clock);

  /** Asks all networks, also those that the session does not offer: the payer may have used a wrong one. */
  async function ask(session: Session, pasted: string): Promise<void> {
    const ids = readTransaction(pasted);
    const asks = config.networks.flatMap(({ key, family }) => {
      const tx = ids.get(family);
      return tx === undefined ? [] : [{ network: key, family, tx }];
    });
    await database.lookups.request({ sessionId: session.id, asks, nowMs: clock.nowMs() });
  }

  router.post('/pay/:id/look-up', formReader(FORM_BYTES_MAX), async (request, response) => {
    const session = await findSession(database, request);
    if (!session) return refuse(request, response, null);
    const pasted = String(Object(request.body).transaction ?? '')
      .trim()
      .slice(0, PASTED_CHARS_MAX);
    const query = queryOf(request);
    query.set('tx', pasted);
    if (readTransaction(pasted).size > 0) {
      const waitS = Math.max(perSession.take(session.id), countCaller(request));
      if (waitS === 0) await ask(session, pasted);
      else query.set('wait', String(waitS));
    }
    // Redirects to the page, one folder up, with the same choice. Inside a frame, no other page could be shown.
    response.redirect(303, `../${session.id}?${query}#look-up`);
  });
}
