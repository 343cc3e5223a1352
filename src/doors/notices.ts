/**
 * Notices of paid orders, which the process that sends webhooks sends to panels.
 */
import { type DoorDialect, doorDialects } from '../core/door.ts';
import { invariant } from '../core/fault.ts';
import { addQuery } from '../lib/form.ts';
import type { DoorFormats, Format } from '../webhooks/format.ts';
import * as epay from './epay/codec.ts';
import * as epusdt from './epusdt/codec.ts';
import { paidOrder } from './success.ts';

const TIMEOUT_MS = 5_000;
/** Not for ever: dujiaoka and acg-faka never acknowledge a second notice, so a lost answer cannot be made good. */
const RETRY_DELAYS_S = [1, 3, 20, 60, 120, 360, 1440].map((minutes) => minutes * 60);
const HEADERS = { 'User-Agent': 'Service-Webhook/1.0', Accept: '*/*' };

/** A panel that does not acknowledge a notice gets it again, whatever its status. */
const formatOf = (dialect: DoorDialect): Format => ({
  request({ door, sessionId, secret: key, mode, url }) {
    const paid = door && paidOrder(door.pid, door.order);
    invariant(paid && door.order.paidSessionId === sessionId, 'a notice is of the session that paid its order');
    const common = { mode, timeoutMs: TIMEOUT_MS };
    if (dialect === 'epay') {
      return { ...common, url: addQuery(url, epay.notice(paid, key)), headers: () => HEADERS, body: null };
    }
    const headers = () => ({ ...HEADERS, 'Content-Type': 'application/json' });
    return { ...common, url, headers, body: epusdt.notice(dialect, paid, key) };
  },
  judge(outcome, excerpt) {
    const { isAccepted } = dialect === 'epay' ? epay : epusdt;
    return outcome.kind === 'answered' && isAccepted(outcome.status, excerpt ?? '') ? 'delivered' : 'retry';
  },
  retryDelaysS: RETRY_DELAYS_S,
});

export const doorFormats = Object.fromEntries(
  doorDialects.map((dialect) => [dialect, formatOf(dialect)]),
) as DoorFormats;
