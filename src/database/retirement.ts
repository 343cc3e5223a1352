import type { DueTimes } from './due.ts';
import type { Db } from './engine/open.ts';
import { WRITE_ROWS_MAX } from './engine/write-queue.ts';

/** Endpoints that one transaction retires. */
const SLICE_ENDPOINTS = Math.floor(WRITE_ROWS_MAX / 4);
/** How exactly the time of the last event is kept, so that an event is no write to its endpoint too. */
export const LAST_EVENT_MS = 3_600_000;

export function retirementCommands(db: Db, due: DueTimes) {
  const idle = db.client
    .prepare(
      `SELECT id FROM endpoints INDEXED BY endpoints_idle
       WHERE per_session = 1 AND removed = 0 AND retired_at_ms IS NULL AND last_event_at_ms <= :beforeMs
       ORDER BY last_event_at_ms LIMIT ${SLICE_ENDPOINTS}`,
    )
    .pluck();
  const retire = db.client.prepare('UPDATE endpoints SET retired_at_ms = :nowMs WHERE id = :id');
  return {
    /**
     * Retires endpoints that single sessions named and that had no event for so long: nothing is sent to them by
     * itself, and they are not listed, until a session that names the URL has an event. @returns how many
     */
    async retire(nowMs: number, idleMs: number): Promise<number> {
      const beforeMs = nowMs - idleMs - LAST_EVENT_MS;
      const isAny = () => idle.get({ beforeMs }) !== undefined;
      let retired = 0;
      // The write lock is taken only when there is something to do.
      while (db.read(isAny)) {
        retired += await db.write(() => {
          const ids = idle.all({ beforeMs }) as string[];
          for (const id of ids) {
            retire.run({ id, nowMs });
            due.refresh(id);
          }
          return ids.length;
        });
      }
      return retired;
    },
  };
}
