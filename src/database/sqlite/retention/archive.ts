/**
 * Archived sessions: they are read as if nothing had happened, and come back as they were when something is written
 * about them, such as a payment that came after all.
 * @module
 */
import { eq, getTableColumns, sql } from 'drizzle-orm';
import { invariant } from '../../../core/fault.ts';
import type { Mode } from '../../../core/transfer.ts';
import type { StoredEvent } from '../../events.ts';
import type { ArchiveDatabase, ArchivedSession, ArchiveSummary, RetentionRun } from '../../retention.ts';
import type { Db } from '../open.ts';
import { atFirstUse, preparedInsert } from '../prepared.ts';
import { sessions } from '../schema.ts';
import type { SessionRow } from '../session-row.ts';
import {
  type ArchivedContent,
  hasPayerData,
  pack,
  type StoredRow,
  toDictionary,
  unpack,
  withoutPayerData,
} from './content.ts';
import { archiveDictionaries, archivedSessions } from './schema.ts';

/** To be called within a transaction. */
export type SessionArchive = Readonly<{
  /** Returns an archived session's row as it was in `sessions`. */
  find(id: string): SessionRow | undefined;
  /** Returns the archived session of an order. */
  ofOrder(order: Readonly<{ storeId: string; mode: Mode; orderId: string }>): SessionRow | undefined;
  /** Returns its events, oldest first; none if it is not archived. */
  eventsOf(id: string): StoredEvent[];
  /** Puts it back with its events and deliveries. @returns whether it was archived */
  bringBack(id: string): boolean;
  put(content: ArchivedContent, nowMs: number): void;
  /** Removes what identifies the payer. */
  anonymise(id: string): void;
}>;

/** A session that compresses to less than this part of its length is like the dictionary. */
const ALIKE_PART = 4;
/** Beyond these, sessions are compressed with the newest, however unlike they are. */
const DICTIONARIES_MAX = 200;

/** The name in `meta` of the last session that was looked at for payer data. */
export const ANONYMISED_THROUGH = 'anonymised_through';
/** The name in `meta` of how many sessions are archived. */
export const ARCHIVED_COUNT = 'archived_sessions';
/** The name in `meta` of what was done last. */
export const LAST_RUN = 'retention_run';

/** Returns the function that has a session looked at for payer data again, however long ago it ended. */
export function createPayerDataMark({ client }: Db): (sessionId: string) => void {
  const rewind = client.prepare(
    `UPDATE meta SET value = :before WHERE name = '${ANONYMISED_THROUGH}' AND value > :before`,
  );
  return (sessionId) => void rewind.run({ before: sessionId.slice(0, -1) });
}

type ArchivedRow = typeof archivedSessions.$inferSelect;

export function createSessionArchive(db: Db): SessionArchive {
  const { client, orm } = db;
  const findRow = atFirstUse(
    orm
      .select()
      .from(archivedSessions)
      .where(eq(archivedSessions.id, sql.placeholder('id'))),
  );
  const idOfOrder = client
    .prepare(
      `SELECT id FROM archived_sessions
       WHERE store_id = :storeId AND mode = :mode AND order_id = :orderId ORDER BY id DESC LIMIT 1`,
    )
    .pluck();
  const insert = preparedInsert(db, archivedSessions);
  const dictionaries = createDictionaries(db);
  const toRow = createRowReader(db);
  const remove = client.prepare('DELETE FROM archived_sessions WHERE id = :id');
  const countArchived = client.prepare(
    `UPDATE meta SET value = CAST(CAST(value AS INTEGER) + :by AS TEXT) WHERE name = '${ARCHIVED_COUNT}'`,
  );
  const count = client.prepare('UPDATE session_counts SET sessions = sessions + 1 WHERE status = :status');
  const lookAgain = createPayerDataMark(db);
  const endpointOfUrl = client
    .prepare(
      `SELECT id FROM endpoints
       WHERE store_id = :store_id AND mode = :mode AND url = :url AND per_session = 1 AND removed = 0`,
    )
    .pluck();
  const endpointWithId = client.prepare('SELECT id FROM endpoints WHERE id = :id').pluck();

  const contentOf = ({ content, dictionaryId }: ArchivedRow): ArchivedContent =>
    unpack(content, dictionaries.text(dictionaryId));

  /** Inserts a row with the columns that it had; newer columns get their defaults. */
  function insertStored(table: string, row: StoredRow): void {
    const names = Object.keys(row);
    const holes = names.map((name) => `:${name}`);
    client.prepare(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${holes.join(', ')})`).run(row);
  }

  /** Returns the id of the endpoint that a session named, which may have been removed meanwhile. */
  function endpointNow(endpoint: StoredRow): string {
    const known = endpointOfUrl.get(endpoint) ?? endpointWithId.get(endpoint);
    if (known === undefined) insertStored('endpoints', endpoint);
    return String(known ?? endpoint.id);
  }

  function find(id: string): SessionRow | undefined {
    const row = findRow.get({ id });
    return row && toRow(contentOf(row).session);
  }

  return {
    find,
    ofOrder(order) {
      const id = idOfOrder.get(order) as string | undefined;
      return id === undefined ? undefined : find(id);
    },
    eventsOf(id) {
      const row = findRow.get({ id });
      return row ? contentOf(row).events.map(toEvent) : [];
    },
    bringBack(id) {
      const row = findRow.get({ id });
      if (!row) return false;
      const content = contentOf(row);
      const { session, events, deliveries, endpoint } = content;
      const endpointId = endpoint && endpointNow(endpoint);
      insertStored('sessions', endpointId === null ? session : { ...session, endpoint_id: endpointId });
      for (const event of events) insertStored('events', event);
      for (const delivery of deliveries) {
        const isOwn = endpoint !== null && delivery.endpoint_id === endpoint.id;
        insertStored('deliveries', isOwn && endpointId !== null ? { ...delivery, endpoint_id: endpointId } : delivery);
      }
      remove.run({ id });
      countArchived.run({ by: -1 });
      count.run({ status: session.status });
      if (hasPayerData(content)) lookAgain(id);
      return true;
    },
    put(content, nowMs) {
      const { session } = content;
      const packed = dictionaries.pack(content);
      insert({
        id: String(session.id),
        storeId: String(session.store_id),
        mode: session.mode as Mode,
        orderId: String(session.order_id),
        endedAtS: Number(session.ended_at_s),
        archivedAtMs: nowMs,
        hasPayerData: hasPayerData(content),
        ...packed,
      });
      countArchived.run({ by: 1 });
    },
    anonymise(id) {
      const row = findRow.get({ id });
      invariant(row, `session ${id} is archived`);
      const content = pack(withoutPayerData(contentOf(row)), dictionaries.text(row.dictionaryId));
      orm.update(archivedSessions).set({ content, hasPayerData: false }).where(eq(archivedSessions.id, id)).run();
    },
  };
}

/** Sessions that others are compressed with. */
function createDictionaries(db: Db) {
  const { orm } = db;
  const select = atFirstUse(
    orm
      .select()
      .from(archiveDictionaries)
      .where(eq(archiveDictionaries.id, sql.placeholder('id'))),
  );
  const newestId = db.client.prepare('SELECT max(id) FROM archive_dictionaries').pluck();
  let last: typeof archiveDictionaries.$inferSelect | null = null;

  function read(id: number): typeof archiveDictionaries.$inferSelect {
    if (last?.id === id) return last;
    const found = select.get({ id });
    invariant(found, `dictionary ${id} of the archive exists`);
    last = found;
    return found;
  }

  return {
    text: (id: number): Buffer => read(id).text,
    /** Packs a content with the newest dictionary, or with a new one if it is unlike that. */
    pack(content: ArchivedContent): Pick<ArchivedRow, 'content' | 'dictionaryId'> {
      const id = newestId.get() as number | null;
      const newest = id === null ? null : read(id);
      if (newest) {
        const packed = pack(content, newest.text);
        const isAlike = packed.length * ALIKE_PART <= JSON.stringify(content).length;
        if (isAlike || newest.id >= DICTIONARIES_MAX) return { content: packed, dictionaryId: newest.id };
      }
      const text = toDictionary(content);
      const added = orm.insert(archiveDictionaries).values({ text }).returning().get();
      return { content: pack(content, text), dictionaryId: added.id };
    },
  };
}

/** Returns the function that reads a stored row of `sessions` as the query builder reads it from the table. */
function createRowReader({ client }: Db): (stored: StoredRow) => SessionRow {
  const columns = Object.entries(getTableColumns(sessions)).map(([key, column]) => ({
    key,
    column,
    name: key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  }));
  /** The default of a column that was added after the session had been archived. */
  function defaultOf(name: string): unknown {
    const text = client
      .prepare("SELECT dflt_value FROM pragma_table_info('sessions') WHERE name = ?")
      .pluck()
      .get(name);
    return text === null ? null : client.prepare(`SELECT ${text}`).pluck().get();
  }
  return (stored) =>
    Object.fromEntries(
      columns.map(({ key, column, name }) => {
        const value = stored[name] ?? (column.notNull ? defaultOf(name) : null);
        return [key, value === null ? null : column.mapFromDriverValue(value)];
      }),
    ) as SessionRow;
}

const toEvent = (row: StoredRow): StoredEvent =>
  ({
    id: row.id,
    storeId: row.store_id,
    sessionId: row.session_id,
    mode: row.mode,
    type: row.type,
    body: row.body,
    createdAtMs: row.created_at_ms,
  }) as StoredEvent;

export function archiveQueries({ client, orm, read }: Db): ArchiveDatabase {
  const { content: _content, dictionaryId: _dictionaryId, ...shown } = getTableColumns(archivedSessions);
  return {
    async findArchived(id) {
      return read(
        (): ArchivedSession | null =>
          orm.select(shown).from(archivedSessions).where(eq(archivedSessions.id, id)).get() ?? null,
      );
    },
    async archiveSummary() {
      const summary = client.prepare(
        `SELECT count(*) AS sessions, coalesce(sum(length(content)), 0) AS bytes, min(ended_at_s) AS firstEndedAtS,
           max(ended_at_s) AS lastEndedAtS, coalesce(sum(has_payer_data), 0) AS withPayerData
         FROM archived_sessions`,
      );
      const ran = client.prepare('SELECT value FROM meta WHERE name = ?').pluck();
      return read(() => {
        const text = ran.get(LAST_RUN) as string | undefined;
        const lastRun = text === undefined ? null : (JSON.parse(text) as RetentionRun);
        return { ...(summary.get() as Omit<ArchiveSummary, 'lastRun'>), lastRun };
      });
    },
  };
}
