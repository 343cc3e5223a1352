/**
 * Jobs: work that is done once, soon, and tried again after a failure. A kind's own file says what its payload is, and
 * what follows from a result.
 *
 * A claim moves a job's due time to the end of a lease: if its process ends before it settles the job, the job is due
 * again then, so it is done at least once.
 */
import type { Db } from './engine/open.ts';

export type JobKind = 'mail' | 'look_up';

/** `queue`: what claims it. `owner`: whose it is, for limits and lists. `payload`: null once it is erased. */
export type Job = Readonly<{
  kind: JobKind;
  key: string;
  queue: string;
  owner: string;
  payload: string | null;
  createdAtMs: number;
  /** Null when it is done. */
  dueAtMs: number | null;
  tries: number;
  error: string | null;
}>;

type Key = Pick<Job, 'kind' | 'key'>;

/** To be called within a transaction, except `claim`. */
export type Jobs = Readonly<{
  /** Adds a job that is due at once, or makes the one with this key due again: with a new payload and time. */
  put(job: Omit<Job, 'createdAtMs' | 'dueAtMs' | 'tries' | 'error'>, nowMs: number): void;
  find(kind: JobKind, key: string): Job | null;
  /** Returns an owner's jobs by key. */
  ofOwner(kind: JobKind, owner: string): readonly Job[];
  /** Counts an owner's jobs that were added after a time. */
  countSince(kind: JobKind, owner: string, afterMs: number): number;
  /** Leases due jobs of a queue, longest waiting first. The write lock is taken only if there are any. */
  claim(queue: string, limits: Readonly<{ nowMs: number; leaseMs: number; limit: number }>): Promise<readonly Job[]>;
  /** Records what became of a job. */
  settle(job: Pick<Job, 'kind' | 'key' | 'payload' | 'dueAtMs' | 'tries' | 'error'>): void;
  /** Returns jobs with a payload that were added before a time, oldest first. */
  addedBefore(kind: JobKind, beforeMs: number, limit: number): readonly Key[];
  /** Returns an owner's jobs beyond the newest `keep`. */
  beyond(kind: JobKind, owner: string, keep: number, limit: number): readonly Key[];
  remove(jobs: readonly Key[]): void;
  /** Erases payloads: it stays known that there was a job. */
  erase(jobs: readonly Key[]): void;
}>;

const COLUMNS = 'kind, key, queue, owner, payload, created_at_ms AS createdAtMs, due_at_ms AS dueAtMs, tries, error';

export function createJobs(db: Pick<Db, 'client' | 'read' | 'write'>): Jobs {
  const { client } = db;
  const put = client.prepare(
    `INSERT INTO jobs (kind, key, queue, owner, payload, created_at_ms, due_at_ms, tries)
     VALUES (:kind, :key, :queue, :owner, :payload, :nowMs, :nowMs, 0)
     ON CONFLICT (kind, key) DO UPDATE SET payload = :payload, created_at_ms = :nowMs, due_at_ms = :nowMs, tries = 0`,
  );
  const find = client.prepare(`SELECT ${COLUMNS} FROM jobs WHERE kind = :kind AND key = :key`);
  const ofOwner = client.prepare(
    `SELECT ${COLUMNS} FROM jobs INDEXED BY jobs_of_owner WHERE kind = :kind AND owner = :owner ORDER BY key`,
  );
  const countSince = client
    .prepare(
      `SELECT count(*) FROM jobs INDEXED BY jobs_of_owner
       WHERE kind = :kind AND owner = :owner AND created_at_ms > :afterMs`,
    )
    .pluck();
  const due = client.prepare(
    `SELECT ${COLUMNS} FROM jobs INDEXED BY jobs_due
     WHERE queue = :queue AND due_at_ms <= :nowMs ORDER BY due_at_ms, key LIMIT :limit`,
  );
  const lease = client.prepare('UPDATE jobs SET due_at_ms = :untilMs WHERE kind = :kind AND key = :key');
  const settle = client.prepare(
    `UPDATE jobs SET payload = :payload, due_at_ms = :dueAtMs, tries = :tries, error = :error
     WHERE kind = :kind AND key = :key`,
  );
  const addedBefore = client.prepare(
    `SELECT kind, key FROM jobs INDEXED BY jobs_by_age
     WHERE kind = :kind AND created_at_ms < :beforeMs AND payload IS NOT NULL ORDER BY created_at_ms LIMIT :limit`,
  );
  const beyond = client.prepare(
    `SELECT kind, key FROM jobs INDEXED BY jobs_of_owner WHERE kind = :kind AND owner = :owner
     ORDER BY created_at_ms DESC, key DESC LIMIT :limit OFFSET :keep`,
  );
  const remove = client.prepare('DELETE FROM jobs WHERE kind = :kind AND key = :key');
  const erase = client.prepare('UPDATE jobs SET payload = NULL, due_at_ms = NULL WHERE kind = :kind AND key = :key');

  return {
    put(job, nowMs) {
      put.run({ ...job, nowMs });
    },
    find: (kind, key) => (find.get({ kind, key }) as Job | undefined) ?? null,
    ofOwner: (kind, owner) => ofOwner.all({ kind, owner }) as Job[],
    countSince: (kind, owner, afterMs) => countSince.get({ kind, owner, afterMs }) as number,
    async claim(queue, { nowMs, leaseMs, limit }) {
      if (db.read(() => due.get({ queue, nowMs, limit: 1 })) === undefined) return [];
      return db.write(() => {
        const jobs = due.all({ queue, nowMs, limit }) as Job[];
        for (const { kind, key } of jobs) lease.run({ kind, key, untilMs: nowMs + leaseMs });
        return jobs;
      });
    },
    settle({ kind, key, payload, dueAtMs, tries, error }) {
      settle.run({ kind, key, payload, dueAtMs, tries, error });
    },
    addedBefore: (kind, beforeMs, limit) => addedBefore.all({ kind, beforeMs, limit }) as Key[],
    beyond: (kind, owner, keep, limit) => beyond.all({ kind, owner, keep, limit }) as Key[],
    remove(jobs) {
      for (const { kind, key } of jobs) remove.run({ kind, key });
    },
    erase(jobs) {
      for (const { kind, key } of jobs) erase.run({ kind, key });
    },
  };
}
