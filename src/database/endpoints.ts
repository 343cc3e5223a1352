/**
 * Webhook endpoints.
 */

import { sameTarget } from '../core/delivery.ts';
import { SILENT_COUNT, STORE_ENDPOINTS_MAX } from '../core/endpoint.ts';
import type { ExtendedEventType } from '../core/event.ts';
import { type Mode, otherMode } from '../core/transfer.ts';
import { sortableId } from '../lib/id.ts';
import { type OperatorAct, recordAct } from './audit-log.ts';
import { mapInOrder, writeOrTry } from './engine/bodies.ts';
import type { Db } from './engine/open.ts';
import { changeRows, findRow, findRows, insertRow } from './engine/rows.ts';
import { WRITE_ROWS_MAX } from './engine/write-queue.ts';
import { type Replay, replaysOf } from './replays.ts';
import type { VaultDb } from './sealing.ts';
import { endpoints, stores } from './tables.ts';

type EndpointRow = typeof endpoints.$inferSelect;

/**
 * A webhook endpoint. With `perSession`, `url` is the origin of URLs that single sessions named. `extendedEvents`:
 * events that it opted in to. `failingSinceMs`: start of the time in which it accepted no attempt. `dialect`, `pid` and
 * `door` are null unless it is a door.
 */
export type Endpoint = Omit<EndpointRow, 'secret'>;

const toEndpoint = ({ secret: _, ...endpoint }: EndpointRow): Endpoint => endpoint;

/** An endpoint to add. If it has no secret, the store's secret of its mode signs. */
export type NewEndpoint = Pick<Endpoint, 'id' | 'storeId' | 'mode' | 'url' | 'extendedEvents' | 'createdAtMs'> &
  Readonly<{ secret?: string }>;

/** Makes an endpoint with a secret of its own, without saving it. */
export type IssueEndpoint = (
  ...of: [storeId: string, mode: Mode, url: string, extendedEvents: readonly ExtendedEventType[], nowMs: number]
) => NewEndpoint & Readonly<{ secret: string }>;

/** `other_mode`: the endpoint `endpointId` with the same URL receives events of the other mode. */
export type EndpointAdded =
  | Readonly<{ kind: 'added'; endpoint: Endpoint }>
  | Readonly<{ kind: 'other_mode'; endpointId: string }>;

/**
 * The outcome of a merchant's request for an endpoint. `replayed`: the same request made it before. `removed`: the same
 * request made it before, and it was removed since. `too_many`: the store has `STORE_ENDPOINTS_MAX`.
 */
export type EndpointRequested =
  | Readonly<{ kind: 'added' | 'replayed'; endpoint: Endpoint; secret: string }>
  | Extract<EndpointAdded, { kind: 'other_mode' }>
  | Readonly<{ kind: 'removed' | 'too_many' | 'idempotency_key_conflict' }>;

/** Most waiting deliveries that one transaction ends. */
const SLICE_DELIVERIES = Math.floor(WRITE_ROWS_MAX / 4);

/** The state columns of a new endpoint. */
export const freshEndpoint = {
  perSession: false,
  disabledAtMs: null,
  disabledReason: null,
  removed: false,
  failingSinceMs: null,
  failures: 0,
  gones: 0,
  silences: 0,
  pausedUntilMs: 0,
  dueAtMs: null,
  dialect: null,
  pid: null,
  door: null,
};

/** SQL flag of an endpoint whose last attempts all got no answer. */
export const IS_UNPROVEN = `CASE WHEN silences >= ${SILENT_COUNT} THEN 1 ELSE 0 END`;

/** The columns of an endpoint that decide whether it gets an event. */
export type EventEndpoint = Pick<Endpoint, 'id' | 'url' | 'extendedEvents'>;

const OF_STORE = 'WHERE store_id = :storeId AND mode = :mode AND removed = 0';

/** Returns a store's own webhooks in one mode, on or off. Webhooks that single sessions named are not among them. */
const webhooksOf = (db: Db, { storeId, mode }: Readonly<{ storeId: string; mode: Mode }>) =>
  findRows(db, endpoints, `${OF_STORE} AND per_session = 0 AND dialect IS NULL`, { storeId, mode });

/** A session's store and mode, and the URL that it names for its own events. */
type Named = Readonly<{ storeId: string; mode: Mode; webhookUrl: string | null; nowMs: number }>;

/**
 * Returns the endpoints of a session's events, on or off: the store's, and the one of the URL that the session named.
 * That one is added if needed. Call it within a transaction.
 */
export async function endpointsOf(
  db: Db,
  { storeId, mode, webhookUrl, nowMs }: Named,
): Promise<readonly EventEndpoint[]> {
  const found = await webhooksOf(db, { storeId, mode });
  // If the URL is one of the store's own, it gets each event only once.
  if (webhookUrl === null || found.some(({ url }) => url === webhookUrl)) return found;
  const url = new URL(webhookUrl).origin;
  const known = await findRow(db, endpoints, `${OF_STORE} AND per_session = 1 AND url = :url`, {
    storeId,
    mode,
    url,
  });
  if (known) return [...found, known];
  const added = { id: `we_${sortableId(nowMs, storeId + mode + url)}`, url, extendedEvents: [], secret: null };
  const own = { storeId, mode, createdAtMs: nowMs, perSession: true, silences: SILENT_COUNT };
  await insertRow(db, endpoints, { ...freshEndpoint, ...added, ...own });
  return [...found, added];
}

const modes: readonly Mode[] = ['live', 'test'];

type Target = Readonly<{ storeId: string; mode: Mode; url: string }>;

export function endpointCommands(db: VaultDb) {
  const replays = replaysOf(db);

  /** Returns the store's endpoint with this URL, in any spelling, in the other mode. */
  async function findOfOtherMode({ storeId, mode, url }: Target): Promise<string | null> {
    const target = sameTarget(url);
    const others = await webhooksOf(db, { storeId, mode: otherMode(mode) });
    return others.find((one) => sameTarget(one.url) === target)?.id ?? null;
  }

  const endWaiting = db.client.prepare(
    `UPDATE deliveries SET state = 'failed', due_at_ms = NULL, lease_until_ms = NULL, last_error = 'endpoint_removed'
     WHERE id IN (SELECT id FROM deliveries WHERE endpoint_id = ? AND due_at_ms IS NOT NULL LIMIT ${SLICE_DELIVERIES})`,
  );

  async function add({ secret, ...input }: NewEndpoint, act?: OperatorAct): Promise<EndpointAdded> {
    const endpointId = await findOfOtherMode(input);
    if (endpointId !== null) return { kind: 'other_mode', endpointId };
    const endpoint = { ...freshEndpoint, ...input };
    const { id, storeId, mode, url } = endpoint;
    const sealed = secret === undefined ? null : sealSecret(db, id, mode, secret);
    await insertRow(db, endpoints, { ...endpoint, secret: sealed });
    const extendedEvents = endpoint.extendedEvents.join(',');
    await recordAct(db, act, { target: id, before: null, after: { storeId, mode, url, extendedEvents } });
    return { kind: 'added', endpoint };
  }

  const countOfStore = async (storeId: string): Promise<number> =>
    (await mapInOrder(modes, (mode) => webhooksOf(db, { storeId, mode }))).flat().length;

  /** Returns the result of an earlier request. */
  async function made(id: string): Promise<EndpointRequested> {
    const row = await findRow(db, endpoints, { id, removed: false });
    if (!row) return { kind: 'removed' };
    const { secret } = await signingSecret(db, { endpointId: id, storeId: row.storeId, mode: row.mode });
    return { kind: 'replayed', endpoint: toEndpoint(row), secret };
  }

  return {
    ...secretCommands(db),
    /** Adds an endpoint, unless its URL receives events of the other mode. */
    async add(input: NewEndpoint, act?: OperatorAct): Promise<EndpointAdded> {
      return db.write(() => add(input, act));
    },
    /** Adds an endpoint for a request that may be repeated. */
    async request(
      input: NewEndpoint & Readonly<{ secret: string }>,
      replay: Replay,
      act: OperatorAct,
    ): Promise<EndpointRequested> {
      const scope = { storeId: input.storeId, mode: input.mode, replay, nowMs: input.createdAtMs };
      return db.write(async (): Promise<EndpointRequested> => {
        const past = await replays.recall(scope);
        if (past.kind === 'other_body') return { kind: 'idempotency_key_conflict' };
        if (past.kind === 'same_body') return made(past.madeId);
        if ((await countOfStore(input.storeId)) >= STORE_ENDPOINTS_MAX) return { kind: 'too_many' };
        const added = await add(input, act);
        if (added.kind === 'other_mode') return added;
        await replays.remember(scope, input.id);
        return { ...added, secret: input.secret };
      });
    },
    /** Returns a store's own endpoints and doors in one mode, in the order of their ids. */
    async ofStore({ storeId, mode }: Readonly<{ storeId: string; mode: Mode }>): Promise<readonly Endpoint[]> {
      const own = `${OF_STORE} AND per_session = 0 ORDER BY id`;
      return (await db.read(() => findRows(db, endpoints, own, { storeId, mode }))).map(toEndpoint);
    },
    /** Returns the id of a store's endpoint with this URL in the other mode than this one, or null. */
    async findOfOtherMode(target: Readonly<{ storeId: string; mode: Mode; url: string }>): Promise<string | null> {
      return db.read(() => findOfOtherMode(target));
    },
    async list(storeId: string | null): Promise<readonly Endpoint[]> {
      const ofStore = storeId === null ? '' : 'AND store_id = :storeId';
      const present = `WHERE removed = 0 ${ofStore} ORDER BY created_at_ms, id`;
      return (await db.read(() => findRows(db, endpoints, present, { storeId }))).map(toEndpoint);
    },
    /** Returns an endpoint, even a removed one. */
    async find(id: string): Promise<Endpoint | null> {
      const row = await db.read(() => findRow(db, endpoints, { id }));
      return row ? toEndpoint(row) : null;
    },
    async enable(
      id: string,
      enabled: boolean,
      reason: string | null,
      nowMs: number,
      act?: OperatorAct,
    ): Promise<boolean> {
      return db.write(async () => {
        const before = await findRow(db, endpoints, { id, removed: false });
        if (!before) return false;
        const state = enabled
          ? { disabledAtMs: null, disabledReason: null, failingSinceMs: null, failures: 0, gones: 0 }
          : { disabledAtMs: before.disabledAtMs ?? nowMs, disabledReason: reason };
        await changeRows(db, endpoints, { id }, state);
        await refreshDue(db, id);
        const wasEnabled = before.disabledAtMs === null;
        await recordAct(db, act, { target: id, before: { enabled: wasEnabled }, after: { enabled } });
        return true;
      });
    },
    /**
     * Changes which events beyond the documented ones an endpoint gets. @returns false when there is no such endpoint
     */
    async setEvents(id: string, extendedEvents: readonly ExtendedEventType[], act?: OperatorAct): Promise<boolean> {
      return db.write(async () => {
        const before = await findRow(db, endpoints, { id, removed: false });
        if (!before) return false;
        await changeRows(db, endpoints, { id }, { extendedEvents });
        const textOf = (events: readonly string[]) => ({ extendedEvents: events.join(',') });
        await recordAct(db, act, { target: id, before: textOf(before.extendedEvents), after: textOf(extendedEvents) });
        return true;
      });
    },
    async remove(id: string, act?: OperatorAct): Promise<boolean> {
      const removeSlice = async (): Promise<'removed' | 'unknown' | 'more'> => {
        const row = await findRow(db, endpoints, { id, removed: false });
        if (!row) return 'unknown';
        const { changes } = await endWaiting.run(id);
        await refreshDue(db, id);
        if (changes === SLICE_DELIVERIES) return 'more';
        // The row stays, because past deliveries refer to it.
        await changeRows(db, endpoints, { id }, { removed: true });
        const { storeId, mode, url } = row;
        await recordAct(db, act, { target: id, before: { storeId, mode, url }, after: null });
        return 'removed';
      };
      for (;;) {
        const outcome = await db.write(removeSlice);
        if (outcome !== 'more') return outcome === 'removed';
      }
    },
  };
}

/** Updates the time at which an endpoint is due, from its deliveries. Call it within a transaction. */
export async function refreshDue({ client }: Db, endpointId: string): Promise<void> {
  const refresh = client.prepare(
    `UPDATE endpoints SET due_at_ms = CASE WHEN disabled_at_ms IS NULL AND removed = 0 THEN (
       SELECT CASE WHEN d.due_at_ms > endpoints.paused_until_ms THEN d.due_at_ms ELSE endpoints.paused_until_ms END
       FROM deliveries AS d
       WHERE d.endpoint_id = endpoints.id AND d.due_at_ms IS NOT NULL AND d.lease_until_ms IS NULL
       ORDER BY d.due_at_ms LIMIT 1) END
     WHERE id = :endpointId`,
  );
  await refresh.run({ endpointId });
}

/** Does `refreshDue` once for each of the endpoints. */
export async function refreshEach(db: Db, of: readonly Readonly<{ endpointId: string }>[]): Promise<void> {
  for (const endpointId of new Set(of.map((one) => one.endpointId))) await refreshDue(db, endpointId);
}

// ── Secrets ──────────────────────────────────────────────────────────────────────────────────────────────────────────
/** `nextSecret` is set during a rotation, in which Standard Webhooks signatures are made with both. */
export type SecretPair = Readonly<{ secret: string; nextSecret: string | null }>;

/** The sealed form of the secret. */
type KeptSecret = SecretPair & Readonly<{ rotatedAtMs: number | null }>;

/** The secret that signs for an endpoint or store, whose id is `owner`. */
export type WebhookSecret = KeptSecret & Readonly<{ owner: string; mode: Mode }>;

/** `start` makes a second secret valid. `finish` ends the first. */
export type RotationStep = Readonly<{ kind: 'start'; secret: string }> | Readonly<{ kind: 'finish' }>;

export type RotationOutcome =
  | Readonly<{ kind: 'done'; secret: WebhookSecret }>
  | Readonly<{ kind: 'unknown' | 'one_off' | 'door' | 'under_way' | 'not_under_way' }>;

type Signed = Readonly<{ endpointId: string; storeId: string; mode: Mode }>;

/** Returns the name under which the secret is sealed. */
export const webhookSecretName = (owner: string, mode: Mode): string => `${owner}, ${mode} webhook secret`;

// Call these within a transaction.

const sealed = ({ vault }: VaultDb, { owner, mode, ...kept }: WebhookSecret): string =>
  vault.seal(JSON.stringify(kept), webhookSecretName(owner, mode));

const opened = ({ vault }: VaultDb, owner: string, mode: Mode, text: string): WebhookSecret => ({
  owner,
  mode,
  ...(JSON.parse(vault.open(text, webhookSecretName(owner, mode))) as KeptSecret),
});

/** Seals a new secret, for the row of its owner. */
export const sealSecret = (db: VaultDb, owner: string, mode: Mode, secret: string): string =>
  sealed(db, { owner, mode, secret, nextSecret: null, rotatedAtMs: null });

/** Returns an endpoint's own secret, otherwise its store's for the mode. */
export async function signingSecret(db: VaultDb, { endpointId, storeId, mode }: Signed): Promise<WebhookSecret> {
  const own = await db.client.values<string | null>('SELECT secret FROM endpoints WHERE id = ?').get(endpointId);
  if (own) return opened(db, endpointId, mode, own);
  const ofStore = db.client.values<string>(`SELECT ${mode}_secret FROM stores WHERE id = ?`);
  return opened(db, storeId, mode, (await ofStore.get(storeId)) ?? '');
}

/** Replaces the secret of an endpoint, or of a store in one mode. */
async function saveSecret(db: VaultDb, one: WebhookSecret): Promise<void> {
  const secret = sealed(db, one);
  if ((await changeRows(db, endpoints, { id: one.owner }, { secret })) > 0) return;
  const ofMode = one.mode === 'live' ? { liveSecret: secret } : { testSecret: secret };
  await changeRows(db, stores, { id: one.owner }, ofMode);
}

function secretCommands(db: VaultDb) {
  /** Returns the endpoint with this id, or the store with the mode. */
  async function findOwner(
    id: string,
    mode: Mode,
  ): Promise<(Signed & { readonly kind: 'endpoint' | 'one_off' | 'door' | 'store' }) | null> {
    const endpoint = await findRow(db, endpoints, { id, removed: false });
    if (endpoint) {
      const kind = endpoint.perSession ? 'one_off' : endpoint.dialect ? 'door' : 'endpoint';
      return { kind, endpointId: id, storeId: endpoint.storeId, mode: endpoint.mode };
    }
    const store = await db.client.prepare('SELECT 1 FROM stores WHERE id = ?').get(id);
    return store ? { kind: 'store', endpointId: id, storeId: id, mode } : null;
  }

  function take(now: WebhookSecret, step: RotationStep, nowMs: number): WebhookSecret {
    if (step.kind === 'start') return { ...now, nextSecret: step.secret, rotatedAtMs: nowMs };
    return { ...now, secret: now.nextSecret ?? now.secret, nextSecret: null, rotatedAtMs: null };
  }

  return {
    /**
     * Returns the secret that signs for an endpoint, or for a store in one mode.
     * @param mode the mode of a store's secret; not used for an endpoint, which has one mode
     * @returns null when there is neither an endpoint of webhooks nor a store with this id
     */
    async findSecret(id: string, mode: Mode): Promise<WebhookSecret | null> {
      return db.read(async () => {
        const owner = await findOwner(id, mode);
        return owner && owner.kind !== 'door' ? signingSecret(db, owner) : null;
      });
    },
    /**
     * Takes one step of a rotation. It gives an endpoint without a secret one of its own.
     * @returns `one_off` for an endpoint that single sessions named, because the store's secret signs for it. `door`
     * for a door, because its key is shown only once
     */
    async rotateSecret({
      id,
      mode,
      step,
      act,
      isDryRun,
    }: Readonly<{
      id: string;
      mode: Mode;
      step: RotationStep;
      act: OperatorAct;
      isDryRun: boolean;
    }>): Promise<RotationOutcome> {
      return writeOrTry(db, isDryRun, async (): Promise<RotationOutcome> => {
        const owner = await findOwner(id, mode);
        if (!owner) return { kind: 'unknown' };
        if (owner.kind === 'one_off' || owner.kind === 'door') return { kind: owner.kind };
        const now = await signingSecret(db, owner);
        if (step.kind === 'start' && now.owner === id && now.nextSecret !== null) return { kind: 'under_way' };
        if (step.kind !== 'start' && (now.owner !== id || now.nextSecret === null)) return { kind: 'not_under_way' };
        const secret = take({ ...now, owner: id }, step, act.atMs);
        await saveSecret(db, secret);
        const valid = (count: number) => ({ mode: now.mode, secrets: count });
        const [before, after] = step.kind === 'start' ? [1, 2] : [2, 1];
        await recordAct(db, act, { target: id, before: valid(before), after: { ...valid(after), step: step.kind } });
        return { kind: 'done', secret };
      });
    },
  };
}
