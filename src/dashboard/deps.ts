/**
 * What the dashboard works on.
 * @module
 */
import type { Config } from '../config/config.ts';
import type { Mode } from '../core/transfer.ts';
import type { OperatorAct } from '../database/audit-log.ts';
import type { Database } from '../database/database.ts';
import type { ApiKey, NewApiKey, Scope } from '../database/keys.ts';
import type { Person } from '../database/people.ts';
import type { DestinationCheck } from '../database/refunds.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Passwords } from './passwords.ts';
import type { WebSessions } from './web-session.ts';

export type DashboardDeps = Readonly<{
  database: Database;
  config: Pick<Config, 'networks' | 'limits' | 'trustedProxies' | 'baseUrl' | 'checkoutUrl'>;
  /** The dashboard's address in browsers, without a trailing slash. */
  url: string;
  clock: Clock;
  log: Log;
  passwords: Passwords;
  issue: Issuer;
  checkDestination: DestinationCheck;
}>;

/** Makes what is given to merchants; saves nothing. */
export type Issuer = Readonly<{
  /** A key as it is stored (`row`), and its text, which is shown once. */
  key(
    storeId: string,
    mode: Mode,
    scopes: readonly Scope[],
    nowMs: number,
    life: Pick<ApiKey, 'expiresAtMs' | 'sources'>,
  ): Readonly<{ key: string; row: NewApiKey }>;
}>;

export type SignInDeps = DashboardDeps & Readonly<{ sessions: WebSessions }>;

/** Returns who does something in the dashboard, for the audit log. `command` is what is done, in words. */
export const actOf = ({ name }: Pick<Person, 'name'>, command: string, clock: Pick<Clock, 'nowMs'>): OperatorAct => ({
  atMs: clock.nowMs(),
  operator: `${name} (dashboard)`,
  command,
  reason: null,
});
