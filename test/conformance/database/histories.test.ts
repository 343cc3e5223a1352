import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { BlockRef } from '../../../src/core/block.ts';
import type { ChainTransfer } from '../../../src/core/transfer.ts';
import type { Database } from '../../../src/database/database.ts';
import { rowsOf } from '../../support/rows-text.ts';
import type { TempDatabase } from '../../support/temp-database.ts';
import {
  addressOf,
  allExtended,
  endpoint,
  eventTypes,
  type Feed,
  inWorld,
  keyOf,
  newSession,
  pays,
  sessionOf,
  show,
  T0_MS,
} from './place.ts';

/** Where there is a PostgreSQL server, each history is played on both engines. */
const server = process.env.TEST_POSTGRES ?? null;
/** `HISTORIES=20000 npm test -- --postgres database/histories` plays that many; a failure names the `SEED`. */
const HISTORIES = Number(process.env.HISTORIES ?? 100);
const { SEED } = process.env;
const FLOOR_DEPTH = 4;
const ADDRESSES = 5;

/** What happens next; random numbers are reduced to what is possible at that moment. */
type Act =
  | Readonly<{ do: 'create' | 'restart' | 'cancel'; random: number }>
  | Readonly<{ do: 'mine'; on: 0 | 1; coins: readonly Readonly<{ to: number; minor: number }>[] }>
  | Readonly<{ do: 'reorg'; on: 0 | 1; depth: number; keep: boolean }>
  | Readonly<{ do: 'back'; on: 0 | 1 }>
  | Readonly<{ do: 'confirm' | 'floor'; on: 0 | 1 }>
  | Readonly<{ do: 'wait'; seconds: number; read: boolean }>;

const on = fc.constantFrom(0 as const, 1 as const);
const anAct: fc.Arbitrary<Act> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant('create' as const), random: fc.nat() }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('mine' as const),
      on,
      coins: fc.array(fc.record({ to: fc.nat(ADDRESSES - 1), minor: fc.constantFrom(1, 400, 600, 1000) }), {
        maxLength: 3,
      }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('reorg' as const),
      on,
      depth: fc.integer({ min: 1, max: 3 }),
      keep: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('back' as const), on }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('confirm' as const), on }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('floor' as const), on }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      seconds: fc.constantFrom(10, 700, 1900),
      read: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('restart' as const, 'cancel' as const), random: fc.nat() }) },
);

type Content = readonly ChainTransfer[];
type Piece = Readonly<{ block: BlockRef; transfers: Content }>;

/** The truth about one network: every block that ever existed, and the canonical chain. */
class Truth {
  readonly feed: Feed;
  readonly name: 'one' | 'two';
  readonly everSeen: Piece[] = [];
  readonly confirmed = new Set<string>();
  lastDropped: Piece[] = [];
  floor = 0;

  constructor(feed: Feed, name: 'one' | 'two') {
    this.feed = feed;
    this.name = name;
  }

  contentOf(block: BlockRef): Content {
    return this.everSeen.find((piece) => piece.block.hash === block.hash)?.transfers ?? [];
  }

  /** Returns what a session with this address must show. */
  paymentsTo(address: string): string[] {
    const canonical = new Set(this.feed.chain.map(({ hash }) => hash));
    const tip = this.feed.chain.at(-1)?.number ?? 0;
    return this.everSeen.flatMap(({ block, transfers }) =>
      transfers
        .filter(({ to }) => to === address)
        .map(({ tx, index, units }) => {
          const stands = canonical.has(block.hash);
          const firm = this.confirmed.has(block.hash) ? (block.number <= this.floor ? 'final' : 'confirmed') : 'seen';
          const depth = stands ? tip - block.number + 1 : 0;
          return `${this.feed.network} ${block.hash} ${tx}#${index} ${units} ${stands ? firm : 'orphaned'} ${depth}`;
        }),
    );
  }
}

/**
 * Plays a history on an engine.
 * @param server see `openTempDatabase`
 * @returns the rows at the end
 */
async function play(acts: readonly Act[], server: string | null): Promise<readonly string[]> {
  let rows: readonly string[] = [];
  await inWorld(
    async ({ database, place, one, two }) => {
      await live(database, place, [one, two], acts, server === null);
      rows = rowsOf(await place.rows());
    },
    undefined,
    server,
  )();
  return rows;
}

test(`after every step of ${HISTORIES} histories, sessions show what the chains hold, on either engine`, async () => {
  const history = fc.array(anAct, { minLength: 10, maxLength: 45 });
  await fc.assert(
    fc.asyncProperty(history, async (acts) => {
      const rows = await play(acts, null);
      if (server === null) return;
      const others = await play(acts, server);
      const apart = [...rows.filter((row) => !others.includes(row)), ...others.filter((row) => !rows.includes(row))];
      assert.ok(apart.length === 0 && others.length === rows.length, `the engines' rows differ:\n${apart.join('\n')}`);
    }),
    {
      numRuns: HISTORIES,
      endOnFailure: server !== null,
      includeErrorInReport: true,
      ...(SEED !== undefined && { seed: Number(SEED) }),
    },
  );
});

test.run();

async function live(
  first: Database,
  place: TempDatabase,
  feeds: readonly [Feed, Feed],
  acts: readonly Act[],
  checksEachStep: boolean,
): Promise<void> {
  await first.endpoints.add(endpoint('e1', { extendedEvents: allExtended }));
  const truths: readonly [Truth, Truth] = [new Truth(feeds[0], 'one'), new Truth(feeds[1], 'two')];
  let database = first;
  let nowMs = T0_MS;
  const sessions: { id: string; address: string; status: string }[] = [];

  const setClock = (ms: number): void => {
    nowMs = ms;
    for (const { feed } of truths) feed.nowMs = ms;
  };

  async function act(step: Act): Promise<void> {
    switch (step.do) {
      case 'create': {
        // An address that was paid before is skipped, so the model reads which one the session took.
        if (sessions.length >= ADDRESSES) return;
        const id = `s${sessions.length}`;
        const outcome = await database.sessions.create(newSession(id, { nowMs }));
        if (outcome.kind === 'no_network_followed') return;
        const session = sessionOf(outcome);
        sessions.push({ id, address: addressOf(session), status: 'pending' });
        return;
      }
      case 'cancel': {
        const session = sessions[step.random % Math.max(1, sessions.length)];
        const replay = { idempotencyKey: null, path: '/', bodyHash: '' };
        if (session) await database.sessions.cancel({ id: session.id, storeId: 'm1', mode: 'test', replay, nowMs });
        return;
      }
      case 'restart': {
        if (database !== first) database.close();
        database = place.connect();
        for (const { feed } of truths) feed.database = database;
        return;
      }
      case 'wait': {
        setClock(nowMs + step.seconds * 1000);
        if (step.read) for (const { feed } of truths) await feed.readThrough(nowMs / 1000);
        await database.sessions.settleDue(nowMs, 100);
        return;
      }
      default:
        await happen(truths[step.on], step, sessions);
    }
  }

  for (const [at, step] of acts.entries()) {
    await act(step);
    if (!checksEachStep && at < acts.length - 1) continue;
    for (const session of sessions) await check(database, session, truths, `step ${at}: ${JSON.stringify(step)}`);
  }
  if (database !== first) database.close();
}

/** An event on one chain. */
async function happen(
  truth: Truth,
  step: Extract<Act, { on: 0 | 1 }>,
  sessions: readonly { address: string }[],
): Promise<void> {
  const { feed } = truth;
  switch (step.do) {
    case 'mine': {
      const transfers = step.coins.map(({ to, minor }) =>
        pays(sessions[to]?.address ?? keyOf(1 + to), BigInt(minor), { network: truth.name }),
      );
      truth.everSeen.push({ block: await feed.mine(transfers), transfers });
      return;
    }
    case 'reorg': {
      const depth = Math.min(step.depth, feed.chain.filter(({ number }) => number > truth.floor).length - 1);
      if (depth < 1) return;
      const dropped = feed.chain.slice(-depth).map((block) => ({ block, transfers: truth.contentOf(block) }));
      // The transactions are mined again in other places, or are lost.
      const again = step.keep ? dropped.flatMap(({ transfers }) => transfers).map((t, index) => ({ ...t, index })) : [];
      const contents: Content[] = Array.from({ length: depth + 1 }, (_, at) => (at === 0 ? again : []));
      const blocks = await feed.reorg(depth, contents);
      for (const [at, block] of blocks.entries()) truth.everSeen.push({ block, transfers: contents[at] ?? [] });
      for (const { block } of dropped) truth.confirmed.delete(block.hash);
      truth.lastDropped = dropped;
      return;
    }
    case 'back': {
      const parent = truth.lastDropped[0]?.block.parent;
      const fork = feed.chain.findIndex(({ hash }) => hash === parent);
      const leaving = feed.chain.slice(fork + 1);
      if (fork < 0 || leaving.length === 0 || leaving.some(({ number }) => number <= truth.floor)) return;
      const back = truth.lastDropped;
      const dropped = leaving.map((block) => ({ block, transfers: truth.contentOf(block) }));
      assert.is(await feed.reconnect(leaving.length, back), 'done');
      for (const { block } of dropped) truth.confirmed.delete(block.hash);
      truth.lastDropped = dropped;
      return;
    }
    case 'confirm': {
      const deep = feed.chain.slice(0, -1).slice(-3);
      await feed.confirm(...deep);
      for (const { hash } of deep) truth.confirmed.add(hash);
      return;
    }
    case 'floor': {
      const floor = (feed.chain.at(-1)?.number ?? 0) - FLOOR_DEPTH;
      await feed.step({ floor });
      truth.floor = Math.max(truth.floor, floor);
    }
  }
}

async function check(
  database: Database,
  known: { id: string; address: string; status: string },
  truths: readonly Truth[],
  when: string,
): Promise<void> {
  const session = await show(database, known.id);
  const shown = session.payments.map(
    (p) => `${p.networkKey} ${p.block} ${p.tx}#${p.index} ${p.units} ${p.state} ${p.confirmations}`,
  );
  assert.equal([...shown].sort(), truths.flatMap((truth) => truth.paymentsTo(known.address)).sort(), when);

  const there = session.payments.filter(({ state }) => state !== 'orphaned');
  const sum = there.reduce((total, { units, decimals }) => total + units * 10n ** BigInt(18 - decimals), 0n);
  const { seenPar, confirmedPar, latePar } = session.standing;
  assert.is(seenPar + confirmedPar + latePar, sum, `${when}: every coin is in one place`);

  const { status } = session.life;
  const mayFollow =
    status === known.status || known.status === 'pending' || (status === 'paid' && known.status !== 'paid');
  assert.ok(mayFollow, `${when}: ${known.status} became ${status}`);
  known.status = status;
  const types = await eventTypes(database, `cs_${known.id}`);
  assert.is(types.filter((type) => type === 'payment.completed').length, status === 'paid' ? 1 : 0, when);
  const ends = types.filter((type) => /\.(failed|expired|cancelled)$/.test(type));
  assert.is(ends.length, ['failed', 'expired', 'canceled'].includes(status) ? 1 : Math.min(ends.length, 1), when);
}
