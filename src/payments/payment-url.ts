/**
 * The addresses of a session's payment page.
 */
import type { Config } from '../config/config.ts';
import type { Database } from '../database/database.ts';
import type { Session } from '../database/session.ts';

/** Parts of the URLs of a session. */
export type UrlParts = Readonly<{
  config: Pick<Config, 'checkoutUrl'>;
  database: Database;
}>;

/** Returns the URL of a session's payment page. */
export const paymentUrl = (session: Pick<Session, 'id'>, config: Pick<Config, 'checkoutUrl'>): string =>
  `${config.checkoutUrl}/pay/${session.id}`;

/** Returns the URL of a session's payment page with the payer's token. */
export const payerUrl = (session: Pick<Session, 'id'>, { config, database }: UrlParts): string =>
  `${paymentUrl(session, config)}?k=${database.sessions.payerToken(session.id)}`;
