/**
 * The parts that the dashboard works on.
 */
import type { Context } from '../acts/act.ts';
import type { Config } from '../config/config.ts';
import type { Mode } from '../core/transfer.ts';
import type { NewNoticeTarget, TargetField, TargetText } from '../database/alarms.ts';
import type { OperatorAct } from '../database/audit-log.ts';
import type { ChannelKind } from '../database/column-values.ts';
import type { Person } from '../database/people.ts';
import type { DestinationCheck } from '../database/refunds/refund.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Notices } from '../web/notice.ts';
import type { Passkeys } from './passkeys.ts';
import type { Passwords } from './passwords.ts';
import type { Languages } from './texts.ts';
import type { WebSessions } from './web-session.ts';

/** Some of them are for the acts that it offers. */
export type DashboardDeps = Pick<Context, 'database' | 'checkWebhookUrl' | 'sendTestEvent' | 'issue'> &
  Readonly<{
    config: Pick<Config, 'networks' | 'signer' | 'limits' | 'trustedProxies' | 'baseUrl' | 'checkoutUrl'>;
    /** The dashboard's address in browsers, without a trailing slash. */
    url: string;
    clock: Clock;
    log: Log;
    languages: Languages;
    passwords: Passwords;
    passkeys: Passkeys;
    checkDestination: DestinationCheck;
    /** Creates a payment as the API does. @returns its id, or why it is not made, in English */
    createPayment(
      owner: Readonly<{ storeId: string; mode: Mode }>,
      order: Readonly<{ amountMinor: bigint; currency: string; orderId: string }>,
      replay: Readonly<{ idempotencyKey: string; path: string; act: OperatorAct }>,
    ): Promise<Readonly<{ id: string }> | Readonly<{ refusal: string }>>;
    newNotices: NewNotices;
    /** Returns when the newest backup was made and proved, and why the last scheduled one failed; or nulls. */
    readBackups(): Readonly<{
      proved: Readonly<{ madeAtMs: number; provedAtMs: number }> | null;
      failure: string | null;
    }>;
  }>;

/** Adding somebody who is informed about alarms: what needs the channels. */
type NewNotices = Readonly<{
  /** Returns where messages of a kind go, as it is saved; or which field is wrong, and why. */
  read(
    kind: ChannelKind,
    typed: TargetText,
  ): Readonly<{ address: string }> | Readonly<{ field: TargetField; problem: string }>;
  /** Makes a new target and sends it its code. @returns also what the service answered; `status` is null for nothing */
  send(wish: Omit<NewNoticeTarget, 'id' | 'code' | 'createdAtMs'>): Promise<
    Readonly<{
      target: NewNoticeTarget;
      answer: Readonly<{ ok: boolean; status: number | null; text: string }>;
    }>
  >;
}>;

export type SignInDeps = DashboardDeps & Readonly<{ sessions: WebSessions; notices: Notices }>;

/** Returns who does something in the dashboard, for the audit log. `command` is what is done, in words. */
export const actOf = ({ name }: Pick<Person, 'name'>, command: string, clock: Pick<Clock, 'nowMs'>): OperatorAct => ({
  atMs: clock.nowMs(),
  operator: `${name} (dashboard)`,
  command,
  reason: null,
});
