/**
 * Payment sessions: creating, reading, canceling and settling them.
 */

import { certainlyBefore } from '../core/arrival.ts';
import { permanent } from '../core/fault.ts';
import { graceOf, type InclusionGrace } from '../core/inclusion.ts';
import { minorToPar } from '../core/money.ts';
import { type CancelRefusal, newLife, newStanding, type Terms, toleratedPar } from '../core/session.ts';
import type { Currency, Mode, NetworkKey } from '../core/transfer.ts';
import { toSeconds } from '../lib/clock.ts';
import { type AddressRow, addressRowsOf } from './addresses.ts';
import { type OperatorAct, recordAct } from './audit-log.ts';
import type { Conversion, PaymentOption, SessionRequest, StoreSettings } from './column-values.ts';
import { mapInOrder } from './engine/bodies.ts';
import { changeRows, insertRow } from './engine/rows.ts';
import { allNetworks, isOffered, type NetworkRow, readingOf } from './networks.ts';
import { type NonceUse, type Replay, replaysOf, requestNoncesOf } from './replays.ts';
import type { SealedDb } from './sealing.ts';
import {
  findSession,
  idsOfPage,
  lifeOf,
  PAYMENTS_MAX,
  requestColumns,
  type Session,
  type SessionPaging,
  type SessionRow,
  sessionOf,
  sessionsById,
  standingOf,
  stateOf,
  termsOf,
  toSession,
} from './session.ts';
import { transitionsOf } from './session-transitions.ts';
import { storeOf } from './stores.ts';
import { sessions } from './tables.ts';
import { transferRowsOf } from './transfers.ts';

export type NewSession = Readonly<{
  id: string;
  storeId: string;
  mode: Mode;
  request: SessionRequest;
  conversion: Conversion | null;
  /** Due value at par. With the store's settings it becomes part of the session's `Terms`. */
  duePar: bigint;
  accepts: readonly Currency[];
  expiresInS: number;
  /** The inclusion grace of every network that may be offered. */
  inclusionGraceS: InclusionGrace;
  /** Deepest reorg, in blocks, of every network that may be offered. */
  reorgDepthsMax: Readonly<Partial<Record<NetworkKey, number>>>;
  /** The possible ways to pay. Networks that are not ready and families without a free address are left out. */
  options: readonly PaymentOption[];
  replay: Replay;
  /** The nonce of the request, unless it is used up already. */
  nonce?: NonceUse | null;
  nowMs: number;
  /** The act of the person who creates the session. */
  act?: OperatorAct | undefined;
  /** The id of the door's order that the session is for. */
  doorOrder?: string | undefined;
}>;

export type CreateSessionOutcome =
  | Readonly<{ kind: 'created' | 'replayed'; session: Session }>
  | Readonly<{ kind: 'nonce_reused' | 'order_id_conflict' | 'idempotency_key_conflict' | 'store_suspended' }>
  /** No network is ready to see a payment. */
  | Readonly<{ kind: 'no_network_followed' }>
  /** No network that is ready has a free address. */
  | Readonly<{ kind: 'address_pool_empty'; family: string }>;

export type CancelSessionOutcome =
  | Readonly<{ kind: 'done' | 'replayed'; session: Session }>
  | Readonly<{ kind: 'refused'; why: CancelRefusal; session: Session }>
  | Readonly<{ kind: 'not_found' | 'idempotency_key_conflict' }>;

/** Adds the prefix of stored ids, which callers may omit. */
const fullId = (id: string): string => (id.startsWith('cs_') ? id : `cs_${id}`);

/** SQL for every set of networks with open deadlines, each found by one seek. There are few such sets. */
const openSets = `
  WITH RECURSIVE sets (networks) AS (
    SELECT min(networks) FROM sessions WHERE deadline_s IS NOT NULL
    UNION ALL
    SELECT (SELECT min(later.networks) FROM sessions AS later
            WHERE later.deadline_s IS NOT NULL AND later.networks > sets.networks)
    FROM sets WHERE sets.networks IS NOT NULL)
  SELECT networks FROM sets WHERE networks IS NOT NULL`;

/** Returns the ids of pending sessions that the clock ends now, longest overdue first. */
async function dueSessions(db: SealedDb, nowMs: number, limit: number): Promise<string[]> {
  const dueOfSet = db.client.values<string>(
    `SELECT id FROM sessions WHERE networks = :networks AND deadline_s < :beforeS ORDER BY deadline_s, id LIMIT :limit`,
  );
  const nowS = toSeconds(nowMs);
  const found: string[] = [];
  for (const networks of await db.client.values<string>(openSets).all()) {
    // This bound is core's rule: clock and reading have passed the deadline, or the wait for reading is over.
    const { readThroughS, rewoundAtS } = await readingOf(db, JSON.parse(networks) as NetworkKey[]);
    const waitedSinceS = nowS - db.outageWaitS;
    const beforeS = Math.max(Math.min(nowS, readThroughS), rewoundAtS < waitedSinceS ? waitedSinceS : 0);
    found.push(...(await dueOfSet.all({ networks, beforeS, limit: limit - found.length })));
  }
  return found;
}

export function sessionCommands(db: SealedDb) {
  const addresses = addressRowsOf(db);
  const transfers = transferRowsOf(db);
  const replays = replaysOf(db);
  const transitions = transitionsOf(db);
  // An order whose session ended unpaid can be tried again. Late money may have paid an earlier session of it.
  const findByOrder = db.client.prepare<Pick<SessionRow, 'id' | 'bodyHash'>>(
    `SELECT id, body_hash AS "bodyHash" FROM sessions
     WHERE store_id = :storeId AND mode = :mode AND order_id = :orderId AND status IN ('pending', 'paid')
     ORDER BY CASE status WHEN 'pending' THEN 0 ELSE 1 END, id DESC LIMIT 1`,
  );

  /** @throws Fault permanent `row_altered` if an address may not be ours */
  async function view(row: SessionRow): Promise<Session> {
    const own = await addresses.ofSession(row.id);
    if (row.terms.options.some(({ family }) => own[family] === undefined))
      throw permanent(
        'row_altered',
        `A deposit address of session ${row.id} was altered in the database; \`quayside status\` shows the alarm.`,
      );
    return toSession(row, own, await transfers.ofSession(row.id, PAYMENTS_MAX));
  }

  const viewOf = async (id: string): Promise<Session> => view(await sessionOf(db, id));

  /** Saves a new session with one address per family. A family without a free address is left out. */
  async function begin(input: NewSession, settings: StoreSettings): Promise<CreateSessionOutcome> {
    const followed = (await allNetworks(db)).filter((row) => isOffered(row, input.nowMs));
    const ready = readyOptions(input, followed);
    const [first] = ready;
    if (!first) return { kind: 'no_network_followed' };
    const free = new Map<string, AddressRow>();
    for (const family of new Set(ready.map((option) => option.family))) {
      const address = await addresses.nextFree({ family, mode: input.mode });
      if (address) free.set(family, address);
    }
    const options = ready.filter(({ family }) => free.has(family));
    if (options.length === 0) return { kind: 'address_pool_empty', family: first.family };
    const terms = termsFor(input, options, settings, beforeNumbers(input, followed));
    const row = toRow(input, options, terms);
    await insertRow(db, sessions, row);
    for (const address of free.values()) await addresses.take(address, row.id);
    await replays.remember(input, row.id);
    await recordAct(db, input.act, {
      target: row.id,
      before: null,
      after: { orderId: row.orderId, status: row.status },
    });
    const keys = Object.fromEntries([...free].map(([family, { key }]) => [family, key]));
    return { kind: 'created', session: toSession(row, keys, []) };
  }

  async function create(input: NewSession): Promise<CreateSessionOutcome> {
    if (input.nonce && !(await requestNoncesOf(db).spend(input.nonce))) return { kind: 'nonce_reused' };
    const past = await replays.recall(input);
    if (past.kind === 'other_body') return { kind: 'idempotency_key_conflict' };
    if (past.kind === 'same_body') return { kind: 'replayed', session: await viewOf(past.madeId) };
    const { storeId, mode, request, replay } = input;
    const earlier = await findByOrder.get({ storeId, mode, orderId: request.orderId });
    if (!earlier) {
      const { settings, isSuspended } = await storeOf(db, storeId);
      if (isSuspended()) return { kind: 'store_suspended' };
      return begin({ ...input, id: fullId(input.id) }, settings);
    }
    if (earlier.bodyHash !== replay.bodyHash) return { kind: 'order_id_conflict' };
    await replays.remember(input, earlier.id);
    return { kind: 'replayed', session: await viewOf(earlier.id) };
  }

  return {
    // Concurrent creations are committed together, because most of a commit's time is the disk's.
    /** Uses up the nonce, takes addresses, saves the session and remembers the idempotency key, in one transaction. */
    create(input: NewSession): Promise<CreateSessionOutcome> {
      return db.write(() => create(input), { isGrouped: true });
    },
    /** @param id with or without its `cs_` prefix */
    async find(id: string): Promise<Session | null> {
      return db.read(async () => {
        const row = await findSession(db, fullId(id));
        return row ? await view(row) : null;
      });
    },
    /** Returns at most `limit` sessions by their ids, at a cost that does not depend on the number stored. */
    async page(paging: SessionPaging): Promise<readonly Session[]> {
      return db.read(async () => mapInOrder(await sessionsById(db, await idsOfPage(db, paging)), view));
    },
    async cancel(
      input: Readonly<{ id: string; storeId: string; mode: Mode; replay: Replay; nowMs: number }>,
    ): Promise<CancelSessionOutcome> {
      return db.write(async () => {
        const row = await findSession(db, fullId(input.id));
        if (row?.storeId !== input.storeId || row.mode !== input.mode) return { kind: 'not_found' };
        const past = await replays.recall(input);
        if (past.kind === 'other_body') return { kind: 'idempotency_key_conflict' };
        if (past.kind === 'same_body') return { kind: 'replayed', session: await viewOf(past.madeId) };
        const refusal = await transitions.cancel(row, input.nowMs);
        if (refusal) return { kind: 'refused', why: refusal, session: await viewOf(row.id) };
        await replays.remember(input, row.id);
        return { kind: 'done', session: await viewOf(row.id) };
      });
    },
    /**
     * Ends the time of a pending test session now, without any grace, for the sandbox. Earlier money stays in time. The
     * session ends with the next `settleDue`.
     * @returns false when there is no such session
     */
    async cutShort(id: string, nowMs: number): Promise<boolean> {
      return db.write(async () => {
        const row = await findSession(db, fullId(id));
        if (row?.mode !== 'test' || row.status !== 'pending') return false;
        // The end is one second ago, so that money from now on is late even by a chain's clock. Earlier money stays in
        // time.
        const cameS = (await transfers.ofSession(row.id, PAYMENTS_MAX)).map(({ blockTimeS }) => blockTimeS);
        const expiresAtS = Math.max(toSeconds(nowMs) - 1, ...cameS);
        const cut = { expiresAtS, topUpGraceS: 0, inclusionGraceS: {} };
        const terms: Terms = { ...termsOf(row), ...cut };
        const { deadlineS } = stateOf(terms, lifeOf(row), standingOf(row), row.sums);
        const changes = { terms: { ...row.terms, ...cut }, deadlineS };
        await changeRows(db, sessions, { id: row.id }, changes);
        return true;
      });
    },
    /** Settles up to `limit` pending sessions whose deadline has passed. @returns the number whose status changed */
    async settleDue(nowMs: number, limit: number): Promise<number> {
      // The write lock is taken only when there is something to do.
      const ids = await db.read(() => dueSessions(db, nowMs, limit));
      if (ids.length === 0) return 0;
      return db.write(async () => {
        let changed = 0;
        for (const id of ids) {
          const row = await findSession(db, id);
          if (row && (await transitions.advance(row, nowMs, null, []))) changed++;
        }
        return changed;
      });
    },
  };
}

/** Returns the options on followed networks with a canonical block, so that a payment would be seen. */
function readyOptions({ options }: NewSession, followed: readonly NetworkRow[]): PaymentOption[] {
  const isReady = new Set(followed.flatMap((row) => (row.tipHash === null ? [] : row.key)));
  return options.filter(({ networkKey }) => isReady.has(networkKey));
}

/** Returns the newest block that came before a new session, on each followed network of its mode. */
function beforeNumbers({ mode, reorgDepthsMax }: NewSession, followed: readonly NetworkRow[]): Terms['beforeNumbers'] {
  const own = followed.filter((row) => row.key.startsWith(`${mode}:`));
  return Object.fromEntries(
    own.flatMap(({ key, tipNumber, headNumber, floor }) => {
      const depthMax = reorgDepthsMax[key] ?? Number.POSITIVE_INFINITY;
      const before = tipNumber === null ? null : certainlyBefore({ tipNumber, headNumber, floor }, depthMax);
      return before === null ? [] : [[key, before]];
    }),
  );
}

const networksOf = (options: readonly PaymentOption[]): NetworkKey[] =>
  [...new Set(options.map(({ networkKey }) => networkKey))].sort();

const termsFor = (
  { duePar, accepts, expiresInS, inclusionGraceS, nowMs }: NewSession,
  options: readonly PaymentOption[],
  settings: StoreSettings,
  beforeNumbers: Terms['beforeNumbers'],
): Terms => ({
  duePar,
  tolerancePar: toleratedPar(duePar, minorToPar(BigInt(settings.toleranceMinor))),
  accepts,
  createdAtS: toSeconds(nowMs),
  beforeNumbers,
  expiresAtS: toSeconds(nowMs) + expiresInS,
  inclusionGraceS: graceOf(inclusionGraceS, networksOf(options)),
  topUpGraceS: settings.topUpGraceS,
  monitoringS: settings.monitoringS,
  latePolicy: settings.latePolicy,
});

function toRow(input: NewSession, options: readonly PaymentOption[], terms: Terms): SessionRow {
  const { id, storeId, mode, request, conversion, replay, nowMs, doorOrder } = input;
  const { taxMinor, shippingMinor, webhookUrl } = request;
  const { createdAtS: _, beforeNumbers, ...own } = terms;
  return {
    id,
    storeId,
    mode,
    ...requestColumns(request),
    bodyHash: replay.bodyHash,
    createdAtMs: nowMs,
    networks: networksOf(options),
    beforeNumbers,
    terms: { ...own, taxMinor, shippingMinor, webhookUrl, conversion, options, ...(doorOrder && { doorOrder }) },
    ...stateOf(terms, newLife, newStanding, []),
    paymentCount: 0,
  };
}
