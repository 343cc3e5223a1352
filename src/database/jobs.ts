/**
 * Jobs: work that is done once, soon, and tried again after a failure. A queue's own file says what its payload is, and
 * what follows from a result.
 *
 * A claim moves a job's due time to the end of a lease: if its process ends before it settles the job, the job is due
 * again then, so it is done at least once.
 */
import type { Db } from './engine/open.ts';

/** `owner`: a session, for limits and lists. */
export type Job = Readonly<{
  key: string;
  /** A network's. */
  queue: string;
  owner: string;
  payload: string;
  createdAtMs: number;
  /** Null when it is done. */
  dueAtMs: number | null;
  tries: number;
}>;

/** To be called within a transaction, except `claim`. */
export type Jobs = Readonly<{
  /** Adds a job that is due at once, or makes the one with this key due again: with a new payload and time. */
  put(job: Omit<Job, 'createdAtMs' | 'dueAtMs' | 'tries'>, nowMs: number): Promise<void>;
  find(key: string): Promise<Job | null>;
  /** Returns an owner's jobs by key. */
  ofOwner(owner: string): Promise<readonly Job[]>;
  /** Leases due jobs of a queue, longest waiting first. The write lock is taken only if there are any. */
  claim(queue: string, limits: Readonly<{ nowMs: number; leaseMs: number; limit: number }>): Promise<readonly Job[]>;
  /** Records what became of a job. */
  settle(job: Pick<Job, 'key' | 'payload' | 'dueAtMs' | 'tries'>): Promise<void>;
  /** Returns the keys of jobs that were added before a time, oldest first. */
  addedBefore(queue: string, beforeMs: number, limit: number): Promise<readonly string[]>;
  /** Returns the keys of an owner's jobs beyond the newest `keep`. */
  beyond(owner: string, keep: number, limit: number): Promise<readonly string[]>;
  remove(keys: readonly string[]): Promise<void>;
}>;

const COLUMNS = 'key, queue, owner, payload, created_at_ms AS "createdAtMs", due_at_ms AS "dueAtMs", tries';

export function createJobs(db: Pick<Db, 'client' | 'read' | 'write'>): Jobs {
  const { client } = db;
  const put = client.prepare(
    `INSERT INTO jobs (key, queue, owner, payload, created_at_ms, due_at_ms, tries)
     VALUES (:key, :queue, :owner, :payload, :nowMs, :nowMs, 0)
     ON CONFLICT (key) DO UPDATE SET payload = :payload, created_at_ms = :nowMs, due_at_ms = :nowMs, tries = 0`,
  );
  const find = client.prepare(`SELECT ${COLUMNS} FROM jobs WHERE key = :key`);
  const ofOwner = client.prepare(`SELECT ${COLUMNS} FROM jobs WHERE owner = :owner ORDER BY key`);
  const due = client.prepare(
    `SELECT ${COLUMNS} FROM jobs
     WHERE queue = :queue AND due_at_ms <= :nowMs ORDER BY due_at_ms, key LIMIT :limit`,
  );
  const lease = client.prepare('UPDATE jobs SET due_at_ms = :untilMs WHERE key = :key');
  const settle = client.prepare(
    'UPDATE jobs SET payload = :payload, due_at_ms = :dueAtMs, tries = :tries WHERE key = :key',
  );
  const addedBefore = client
    .prepare(
      `SELECT key FROM jobs
       WHERE queue = :queue AND created_at_ms < :beforeMs ORDER BY created_at_ms LIMIT :limit`,
    )
    .pluck();
  const beyond = client
    .prepare(
      `SELECT key FROM jobs WHERE owner = :owner
       ORDER BY created_at_ms DESC, key DESC LIMIT :limit OFFSET :keep`,
    )
    .pluck();
  const remove = client.prepare('DELETE FROM jobs WHERE key = :key');

  return {
    async put(job, nowMs) {
      await put.run({ ...job, nowMs });
    },
    find: async (key) => ((await find.get({ key })) as Job | undefined) ?? null,
    ofOwner: async (owner) => (await ofOwner.all({ owner })) as Job[],
    async claim(queue, { nowMs, leaseMs, limit }) {
      if ((await db.read(() => due.get({ queue, nowMs, limit: 1 }))) === undefined) return [];
      return db.write(async () => {
        const jobs = (await due.all({ queue, nowMs, limit })) as Job[];
        for (const { key } of jobs) await lease.run({ key, untilMs: nowMs + leaseMs });
        return jobs;
      });
    },
    async settle({ key, payload, dueAtMs, tries }) {
      await settle.run({ key, payload, dueAtMs, tries });
    },
    addedBefore: async (queue, beforeMs, limit) => (await addedBefore.all({ queue, beforeMs, limit })) as string[],
    beyond: async (owner, keep, limit) => (await beyond.all({ owner, keep, limit })) as string[],
    async remove(keys) {
      for (const key of keys) await remove.run({ key });
    },
  };
}
