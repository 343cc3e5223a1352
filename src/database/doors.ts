/**
 * Doors for panels and shops, and the orders that panels make through them. A door is an endpoint of a dialect. Its
 * notice is the delivery of the event that an order's session is paid.
 */
import type { DoorDialect, DoorTerms } from '../core/door.ts';
import type { EventType } from '../core/event.ts';
import { invariant } from '../core/fault.ts';
import type { AddressRow } from './addresses.ts';
import { type OperatorAct, recordAct } from './audit-log.ts';
import { freshEndpoint, sealSecret, signingSecret } from './endpoints.ts';
import { mapInOrder } from './engine/bodies.ts';
import type { Db } from './engine/open.ts';
import { changeRows, findRow, findRows, insertRow } from './engine/rows.ts';
import { nextNumber } from './meta.ts';
import type { VaultDb } from './sealing.ts';
import { findSession, type SessionRow } from './session.ts';
import { doorOrders, endpoints } from './tables.ts';
import type { TransferRow } from './transfers.ts';

/** Most doors of one dialect in an installation. The key of a request without a pid is found by trying each. */
export const DOORS_MAX = 20;
/** Most orders of a time span that are counted. */
const COUNTED_MAX = 10_000;
/** Lowest pid, so that all have four digits or more. */
const PID_MIN = 1001;

export type OrderRow = typeof doorOrders.$inferSelect;

/** An order as a panel sees it. `paid`: the time and transfer of its payment; null until it is paid. */
export type ShownOrder = OrderRow & Readonly<{ paid: Readonly<{ atS: number; payment: DoorPayment | null }> | null }>;

/** A door with its key, which verifies requests and signs notices. */
export type Door = Readonly<Awaited<ReturnType<typeof openDoors>>[number]>;

export type NewDoor = Omit<Door, 'pid'> & Readonly<{ createdAtMs: number; urlOf: (pid: number) => string }>;

export type DoorAdded = Readonly<{ kind: 'added'; pid: number; url: string }> | Readonly<{ kind: 'too_many' }>;

export type NewOrder = Omit<OrderRow, 'sessionId' | 'paidSessionId'>;

/**
 * Names an order by the panel's number, by our number that only its panel knows, or by the id in its return address.
 */
type OrderName =
  | Readonly<{ endpointId: string; orderNo: string }>
  | Readonly<{ endpointId?: string; tradeNo: string }>
  | Readonly<{ endpointId: string; id: string }>;

/** `changed`: an earlier request for this order differs in `field`. */
export type OrderKept =
  | Readonly<{ kind: 'kept'; order: OrderRow }>
  | Readonly<{ kind: 'changed'; field: keyof DoorTerms }>;

/** The last transfer to a paid order. `units`: the amount due in its coin on its network, in base units. */
export type DoorPayment = Pick<TransferRow, 'network' | 'currency' | 'tx' | 'units' | 'decimals'> &
  Pick<AddressRow, 'family'> &
  Readonly<{
    /** The key of the deposit address. */
    address: string;
  }>;

/** Fields that a repeated request must leave as they were. */
const BINDING = ['money', 'name', 'notifyUrl', 'param'] as const satisfies readonly (keyof DoorTerms)[];

/** Returns the doors that are on, with their keys. */
async function openDoors(db: VaultDb, column: 'id' | 'pid' | 'dialect', value: string | number) {
  const isOpen = 'removed = 0 AND dialect IS NOT NULL AND disabled_at_ms IS NULL';
  const rows = await findRows(db, endpoints, `WHERE ${column} = :value AND ${isOpen} ORDER BY pid`, { value });
  return mapInOrder(rows, async ({ id, storeId, mode, dialect, pid, door: settings }) => {
    invariant(dialect && pid !== null && settings, `the door ${id} is whole`);
    const { secret: key } = await signingSecret(db, { endpointId: id, storeId, mode });
    return { id, storeId, mode, dialect, pid, settings, key };
  });
}

export function doorCommands(db: VaultDb) {
  const countOfDialect = db.client.values('SELECT count(*) FROM endpoints WHERE dialect = ? AND removed = 0');

  async function add({ urlOf, key, settings, ...door }: NewDoor, act: OperatorAct): Promise<DoorAdded> {
    const { id, storeId, mode, dialect } = door;
    if (Number(await countOfDialect.get(dialect)) >= DOORS_MAX) return { kind: 'too_many' };
    const pid = await nextNumber(db, 'doors', PID_MIN);
    const url = urlOf(pid);
    await insertRow(db, endpoints, {
      ...freshEndpoint,
      ...door,
      url,
      pid,
      door: settings,
      secret: sealSecret(db, id, mode, key),
      extendedEvents: [],
    });
    await recordAct(db, act, { target: id, before: null, after: { storeId, mode, dialect, pid, ...settings } });
    return { kind: 'added', pid, url };
  }

  return {
    ...orderCommands(db),
    /** Adds a door with the next pid. */
    async add(door: NewDoor, act: OperatorAct): Promise<DoorAdded> {
      return db.write(() => add(door, act));
    },
    /** Returns the door with this pid or id, unless it is off or removed. */
    async find(by: Readonly<{ pid: number }> | Readonly<{ id: string }>): Promise<Door | null> {
      const found = await db.read(() => ('pid' in by ? openDoors(db, 'pid', by.pid) : openDoors(db, 'id', by.id)));
      return found[0] ?? null;
    },
    /** Returns all doors of a dialect that are on. */
    async ofDialect(dialect: DoorDialect): Promise<readonly Door[]> {
      return db.read(() => openDoors(db, 'dialect', dialect));
    },
  };
}

function orderCommands(db: Db) {
  const insert = db.client.prepare(
    `INSERT INTO door_orders (id, endpoint_id, order_no, trade_no, terms, created_at_ms)
     VALUES (:id, :endpointId, :orderNo, :tradeNo, :terms, :createdAtMs) ON CONFLICT (endpoint_id, order_no) DO NOTHING`,
  );
  const count = db.client.values<number>(
    `SELECT count(*) FROM (SELECT 1 FROM door_orders
         WHERE endpoint_id = :endpointId AND created_at_ms >= :fromMs AND created_at_ms < :beforeMs
         LIMIT ${COUNTED_MAX}) AS limited`,
  );
  const update = (id: string, values: Partial<Pick<OrderRow, 'terms' | 'sessionId'>>) =>
    changeRows(db, doorOrders, { id }, values);

  async function keep(asked: NewOrder): Promise<OrderKept> {
    await insert.run({ ...asked, terms: JSON.stringify(asked.terms) });
    const order = await findRow(db, doorOrders, { endpointId: asked.endpointId, orderNo: asked.orderNo });
    invariant(order, `the order ${asked.id}, or an earlier one with its number, exists`);
    const field = BINDING.find((name) => order.terms[name] !== asked.terms[name]);
    if (field !== undefined) return { kind: 'changed', field };
    const { returnUrl } = asked.terms;
    if (order.paidSessionId !== null || order.terms.returnUrl === returnUrl) return { kind: 'kept', order };
    const terms = { ...order.terms, returnUrl };
    await update(order.id, { terms });
    return { kind: 'kept', order: { ...order, terms } };
  }

  return {
    /** Saves an order, or returns the earlier one with this number. A repeat replaces only the page to return to. */
    async keepOrder(asked: NewOrder): Promise<OrderKept> {
      return db.write(() => keep(asked));
    },
    /** Saves the newest session of an order. */
    async rememberSession(id: string, sessionId: string): Promise<void> {
      await db.write(() => update(id, { sessionId }));
    },
    async findOrder(name: OrderName): Promise<ShownOrder | null> {
      return db.read(async () => {
        const order = await findRow(db, doorOrders, name);
        return order ? await showOrder(db, order) : null;
      });
    },
    /** Counts a door's orders of a time span, up to `COUNTED_MAX`. */
    async countOrders(
      endpointId: string,
      { fromMs, beforeMs }: Readonly<{ fromMs: number; beforeMs: number }>,
    ): Promise<number> {
      return (await db.read(() => count.get({ endpointId, fromMs, beforeMs }))) ?? 0;
    },
    /** Lists a door's orders, newest first. A null `isPaid` matches all. */
    async orders(
      endpointId: string,
      { isPaid, ...page }: Readonly<{ isPaid: boolean | null; limit: number; offset: number }>,
    ): Promise<readonly ShownOrder[]> {
      // The expression keeps the planner on the index by time. Another one, of paid orders, would need a sort.
      const paid = 'CASE WHEN paid_session_id IS NULL THEN 0 ELSE 1 END';
      const chosen = isPaid === null ? '' : `AND ${paid} = ${Number(isPaid)}`;
      const newest = `WHERE endpoint_id = :endpointId ${chosen}
        ORDER BY created_at_ms DESC, id DESC LIMIT :limit OFFSET :offset`;
      return db.read(async () =>
        mapInOrder(await findRows(db, doorOrders, newest, { endpointId, ...page }), (order) => showOrder(db, order)),
      );
    },
  };
}

/**
 * Finds the door that gets an event. Only the first paid session of an order has one. Call it within a transaction.
 * @returns the id of an endpoint; null if the event is for no door
 */
export async function doorOf(
  { client }: Db,
  { id: sessionId, terms: { doorOrder: id } }: Pick<SessionRow, 'id' | 'terms'>,
  type: EventType,
): Promise<string | null> {
  if (id === undefined || type !== 'payment.completed') return null;
  const take = client.values<string>(
    `UPDATE door_orders SET paid_session_id = :sessionId WHERE id = :id AND paid_session_id IS NULL
     RETURNING endpoint_id`,
  );
  const endpointId = await take.get({ id, sessionId });
  if (endpointId === undefined) return null;
  const present = client.values<string>('SELECT id FROM endpoints WHERE id = :id AND removed = 0');
  return (await present.get({ id: endpointId })) ?? null;
}

/** Adds the payment to an order. Call it within a transaction. */
async function showOrder(db: Db, order: OrderRow): Promise<ShownOrder> {
  const { paidSessionId } = order;
  const session = paidSessionId === null ? undefined : await findSession(db, paidSessionId);
  if (!session) return { ...order, paid: null };
  const { id: sessionId, paidAtS, terms } = session;
  invariant(paidAtS !== null, `session ${sessionId}, which paid an order, is paid`);
  const newest = db.client.prepare<Omit<DoorPayment, 'units'> & { units: string }>(
    `SELECT t.network, t.currency, t.tx, a.family, a.key AS address, t.units, t.decimals
     FROM addresses AS a JOIN transfers AS t ON t.address_id = a.id
     WHERE a.session_id = :sessionId AND t.dust = 0 AND t.first_confirmed_at_ms IS NOT NULL
     ORDER BY t.first_confirmed_at_ms DESC, t.id DESC LIMIT 1`,
  );
  const last = await newest.get({ sessionId });
  const due = terms.options.find((one) => one.networkKey === last?.network && one.currency === last.currency);
  const payment = last ? { ...last, units: due?.units ?? BigInt(last.units) } : null;
  return { ...order, paid: { atS: paidAtS, payment } };
}

/** Returns the order that a session paid. Call it within a transaction. */
export async function paidOrderOf(db: Db, sessionId: string): Promise<ShownOrder> {
  const order = await findRow(db, doorOrders, { paidSessionId: sessionId });
  invariant(order, `session ${sessionId}, whose door has a delivery, paid an order`);
  return showOrder(db, order);
}
