/** Lookups: the payment page asks about transactions, a network's indexer answers. */

import {
  judge,
  LOOKUP_AGE_MS_MAX,
  type LookupResult,
  nextLookAtMs,
  recipientsChecked,
  type TransactionReport,
} from '../core/lookup.ts';
import type { Mode, NetworkKey } from '../core/transfer.ts';
import type { AddressRows } from './addresses.ts';
import type { RaiseAlarm } from './alarms.ts';
import { mapInOrder } from './engine/each.ts';
import type { Db } from './engine/open.ts';
import type { Job, Jobs } from './jobs.ts';
import type { NetworkRows } from './networks.ts';
import type { FindSessionRow } from './sessions.ts';
import type { Transfers } from './transfers.ts';

/** A lookup of one transaction on one network. It informs and never credits. */
export type Lookup = Readonly<{
  network: NetworkKey;
  tx: string;
  askedAtMs: number;
  /** The result; null before the network's indexer has looked. */
  finding: LookupResult | null;
  /** True while the indexer will look again. */
  isOpen: boolean;
}>;

/** A node answers sooner, or not at all. */
const LEASE_MS = 60_000;

/** `position`: the session's lookups by when they were first asked. `finding`: null before the indexer has looked. */
type Payload = Readonly<{
  network: NetworkKey;
  family: string;
  tx: string;
  position: number;
  finding: LookupResult | null;
}>;
type Asked = Job & Payload & Readonly<{ sessionId: string }>;

const asked = (job: Job): Asked => ({ ...job, ...(JSON.parse(job.payload) as Payload), sessionId: job.owner });

/** Lookups that one session keeps; older ones are deleted. */
const OF_SESSION_MAX = 60;
const KEPT_MS = 24 * 3600_000;
/** Expired rows that one request removes: more than it adds. */
const DELETED_MAX = 20;

export function lookupCommands(
  db: Db,
  parts: Readonly<{
    addresses: AddressRows;
    networks: NetworkRows;
    transfers: Transfers;
    findSession: FindSessionRow;
    raiseAlarm: RaiseAlarm;
    jobs: Jobs;
  }>,
) {
  const { addresses, networks, transfers, findSession, raiseAlarm, jobs } = parts;

  /** Judges a node's report for the session that asked, by what the database holds now. */
  async function judgeReport(
    { sessionId, network, family, tx }: Asked,
    report: TransactionReport,
  ): Promise<LookupResult> {
    const session = await findSession(sessionId);
    const isTaken = async (key: string, mode: Mode) => (await addresses.find({ family, mode }, key))?.state === 'taken';
    const others = new Set<string>();
    for (const key of recipientsChecked(report)) {
      if ((await isTaken(key, 'live')) || (await isTaken(key, 'test'))) others.add(key);
    }
    return judge(report, {
      ownKey: (await addresses.ofSession(sessionId))[family] ?? null,
      others,
      accepts: session?.terms.accepts ?? [],
      isOwnNetwork: network.startsWith(`${session?.mode}:`),
      isKept: await transfers.holds(sessionId, network, tx),
      floor: (await networks.find(network))?.floor ?? 0,
    });
  }

  async function alarmMissed({ sessionId, network, tx }: Asked, number: number, atMs: number): Promise<void> {
    await raiseAlarm({
      atMs,
      code: 'transfer_missed',
      message:
        `A payer named transaction ${tx} in block ${number}. The node shows that it paid this session's address, but ` +
        'it was not found when the block was read, and it is not credited. Read the block again, and report this bug: ' +
        `\`quayside network reread ${network} --from ${number} --to ${number}\`.`,
      network,
      sessionId,
    });
  }

  return {
    /**
     * Asks the indexers of some networks about a transaction, again if it was asked before. A session keeps at most 60
     * lookups, for a day. `tx` is canonical text of the network's family.
     */
    async request({
      sessionId,
      asks,
      nowMs,
    }: Readonly<{
      sessionId: string;
      asks: readonly Readonly<{ network: NetworkKey; family: string; tx: string }>[];
      nowMs: number;
    }>): Promise<void> {
      await db.write(async () => {
        if (!(await findSession(sessionId))) return;
        const before = (await jobs.ofOwner(sessionId)).map((job) => asked(job).position);
        const last = Math.max(0, ...before);
        for (const [at, ask] of asks.entries()) {
          const key = `${sessionId} ${ask.network} ${ask.tx}`;
          const known = await jobs.find(key);
          const payload: Payload = known ? asked(known) : { ...ask, position: last + 1 + at, finding: null };
          await jobs.put({ key, queue: ask.network, owner: sessionId, payload: written(payload) }, nowMs);
        }
        const beyond = await jobs.beyond(sessionId, OF_SESSION_MAX, DELETED_MAX);
        const expired = (
          await mapInOrder(asks, ({ network }) => jobs.addedBefore(network, nowMs - KEPT_MS, DELETED_MAX))
        ).flat();
        await jobs.remove([...beyond, ...expired]);
      });
    },
    /** Returns all lookups of a session, in the order in which they were first asked. */
    async list(sessionId: string): Promise<readonly Lookup[]> {
      const found = (await db.read(() => jobs.ofOwner(sessionId))).map(asked);
      return found.sort((a, b) => a.position - b.position).map(toLookup);
    },
    /** Leases what an indexer should ask its node now, longest waiting first, and nothing past `LOOKUP_AGE_MS_MAX`. */
    async claim(
      network: NetworkKey,
      nowMs: number,
      limit: number,
    ): Promise<readonly Readonly<{ id: string; tx: string }>[]> {
      const claimed = (await jobs.claim(network, { nowMs, leaseMs: LEASE_MS, limit })).map(asked);
      const isYoung = ({ createdAtMs }: Asked) => createdAtMs > nowMs - LOOKUP_AGE_MS_MAX;
      const over = claimed.filter((one) => !isYoung(one));
      // They stay open, and are deleted before anybody looks again.
      if (over.length > 0) {
        await db.write(async () => {
          for (const one of over) await jobs.settle({ ...one, dueAtMs: one.createdAtMs + KEPT_MS });
        });
      }
      return claimed.filter(isYoung).map(({ key: id, tx }) => ({ id, tx }));
    },
    /**
     * Judges the node's report by what is stored, and raises an alarm when money was missed. It credits nothing.
     * @param input `report` is null when the node could not tell: it is asked again, and an earlier result stays
     */
    async answer({
      id,
      report,
      nowMs,
    }: Readonly<{ id: string; report: TransactionReport | null; nowMs: number }>): Promise<void> {
      await db.write(async () => {
        const job = await jobs.find(id);
        if (!job) return;
        const row = asked(job);
        const finding = report ? await judgeReport(row, report) : row.finding;
        // While nothing is known it stays open, until it is too old to be asked.
        const next = nextLookAtMs(finding ?? 'unknown', row.createdAtMs, nowMs) ?? (finding === null ? nowMs : null);
        await jobs.settle({ ...job, payload: written({ ...row, finding }), dueAtMs: next, tries: job.tries + 1 });
        if (finding === 'missed' && row.finding !== 'missed' && report?.kind === 'mined') {
          await alarmMissed(row, report.number, nowMs);
        }
      });
    },
  };
}

const written = ({ network, family, tx, position, finding }: Payload): string =>
  JSON.stringify({ network, family, tx, position, finding });

const toLookup = ({ network, tx, createdAtMs, finding, dueAtMs }: Asked): Lookup => ({
  network,
  tx,
  askedAtMs: createdAtMs,
  finding,
  isOpen: dueAtMs !== null,
});
