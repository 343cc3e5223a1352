/**
 * The one way from a door's request to a session: the order is saved under the panel's number, then gets its session. A
 * repeat heals what a crash left between the two.
 */
import { randomInt } from 'node:crypto';
import type { Config } from '../config/config.ts';
import type { DoorSession, DoorTerms } from '../core/door.ts';
import { parseUnits } from '../core/money.ts';
import type { Mode } from '../core/transfer.ts';
import type { Database } from '../database/database.ts';
import type { Door, OrderRow } from '../database/doors.ts';
import type { Session } from '../database/session.ts';
import type { Clock } from '../lib/clock.ts';
import { randomBase62 } from '../lib/id.ts';
import type { Log } from '../lib/log.ts';
import { exponentOf } from '../rates/currencies.ts';
import { type DoorFault, doorFault } from './faults.ts';
import { shortest } from './words.ts';

const ID_LENGTH = 22;
const TRADE_NO_DIGITS = 32;

export type DoorDeps = Readonly<{
  database: Database;
  config: Pick<Config, 'networks' | 'checkoutUrl' | 'limits'>;
  clock: Pick<Clock, 'nowMs'>;
  log: Log;
  /** Returns why no notice may be sent to a URL; null if it may. */
  checkWebhookUrl(url: string, mode: Mode): Promise<string | null>;
  /** Creates a session as the API does. `refusal`: why it does not, for the log; `code`: the API's. */
  createForDoor(
    owner: Readonly<{ storeId: string; mode: Mode }>,
    order: DoorSession,
  ): Promise<Readonly<{ session: Session }> | Readonly<{ refusal: string; code: string }>>;
  /** Refunds a share of what a session cost, as the API does. @returns why not; null if it is done */
  refundForDoor(
    owner: Readonly<{ id: string; storeId: string; mode: Mode }>,
    refund: Readonly<{ sessionId: string; refundId: string; currency: string; share: readonly [bigint, bigint] }>,
  ): Promise<string | null>;
}>;

/** An order with its session: of a paid one the session that paid it, otherwise the newest. */
export type Placed = Readonly<{ order: OrderRow; session: Session }>;

/** Saves an order and creates its session. A repeated request gives the same session, or a new one if it ended. */
export async function placeOrder(
  deps: DoorDeps,
  door: Door,
  asked: Readonly<{ orderNo: string; terms: DoorTerms }>,
): Promise<Placed | DoorFault> {
  const { database, clock, log, config } = deps;
  const moneyField = door.dialect === 'epay' ? 'money' : 'amount';
  const { currency } = door.settings;
  const amountMinor = parseUnits(shortest(asked.terms.money), exponentOf(currency) ?? 0);
  if (amountMinor === null) return doorFault(moneyField, 'malformed');
  const objection = await deps.checkWebhookUrl(asked.terms.notifyUrl, door.mode);
  if (objection !== null) return doorFault('notify_url', 'blocked');
  const kept = await database.doors.keepOrder({
    ...asked,
    id: randomBase62(ID_LENGTH),
    endpointId: door.id,
    tradeNo: Array.from({ length: TRADE_NO_DIGITS }, () => randomInt(10)).join(''),
    createdAtMs: clock.nowMs(),
  });
  const fields: Readonly<Record<string, string>> = { money: moneyField, notifyUrl: 'notify_url' };
  if (kept.kind === 'changed') return doorFault(fields[kept.field] ?? kept.field, 'changed');
  const { order } = kept;
  const paid = order.paidSessionId === null ? null : await database.sessions.find(order.paidSessionId);
  if (paid) return { order, session: paid };
  const { name, method } = order.terms;
  const made = await deps.createForDoor(door, {
    id: order.id,
    orderId: `${door.dialect}/${door.pid}/${order.orderNo}`,
    name,
    amountMinor,
    currency,
    only: { network: method?.network ?? null, currency: method?.coin ?? null },
    returnUrl: `${config.checkoutUrl}/${door.pid}/return/${order.id}`,
  });
  if ('refusal' in made) {
    log.warn({ door: door.pid, code: made.code, refusal: made.refusal }, 'an order of a door has no session');
    return made.code === 'unsupported_currency' ? doorFault('type', 'method_off') : doorFault('order', 'not_offered');
  }
  const { session } = made;
  if (session.id !== order.sessionId) await database.doors.rememberSession(order.id, session.id);
  return { order: { ...order, sessionId: session.id }, session };
}
