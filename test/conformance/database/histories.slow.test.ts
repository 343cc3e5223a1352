import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { BlockRef } from '../../../src/core/block.ts';
import type { ChainTransfer } from '../../../src/core/transfer.ts';
import type { Database } from '../../../src/database/database.ts';
import type { TempDatabase } from '../../support/temp-database.ts';
import {
  addressOf,
  allExtended,
  cancelSession,
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
import { askForRefund, cancelRefund, type PayoutEnding, Purse, payoutEndings } from './purse.ts';
import { rowsOf } from './rows-text.ts';

/** Where there is a PostgreSQL server, each history is played on both engines. */
const server = process.env.TEST_POSTGRES ?? null;
/** `HISTORIES=1500 SEED=7 npm test -- --postgres database/histories` plays those of a seed, in some ten minutes. */
const HISTORIES = Number(process.env.HISTORIES ?? (server === null ? 100 : 500));
const { SEED } = process.env;
const FLOOR_DEPTH = 4;
const ADDRESSES = 5;
/** Longer than a merchant may cancel a refund. */
const CANCEL_S = 61;

/** Chooses what happens next; random numbers are reduced to what is possible at that moment. */
type Act =
  | Readonly<{ do: 'create' | 'restart' | 'cancel' | 'withdraw'; random: number }>
  | Readonly<{ do: 'refund'; random: number; minor: number }>
  | Readonly<{ do: 'pay'; on: 0 | 1; ending: PayoutEnding }>
  | Readonly<{ do: 'mine'; on: 0 | 1; coins: readonly Readonly<{ to: number; minor: number }>[] }>
  | Readonly<{ do: 'reorg'; on: 0 | 1; depth: number; keep: boolean }>
  | Readonly<{ do: 'back'; on: 0 | 1 }>
  | Readonly<{ do: 'confirm' | 'floor'; on: 0 | 1 }>
  | Readonly<{ do: 'wait'; seconds: number; read: boolean }>;

const on = fc.constantFrom(0 as const, 1 as const);
const anAct: fc.Arbitrary<Act> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('create' as const), random: fc.nat() }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('mine' as const),
      on,
      coins: fc.array(fc.record({ to: fc.nat(), minor: fc.constantFrom(1, 400, 600, 1000, 1000) }), { maxLength: 3 }),
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
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('restart' as const, 'cancel' as const, 'withdraw' as const),
      random: fc.nat(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('refund' as const),
      random: fc.nat(),
      minor: fc.constantFrom(100, 400, 1000),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('pay' as const), on, ending: fc.constantFrom(...payoutEndings) }),
  },
);

/** Acts that rarely follow by accident: the newest session is paid, money becomes final, and some of it goes back. */
const usual = (on: 0 | 1): Readonly<Record<'sale' | 'depth' | 'refund' | 'all', readonly Act[]>> => {
  const mine: Act = { do: 'mine', on, coins: [] };
  const sale: readonly Act[] = [
    { do: 'create', random: 0 },
    { ...mine, coins: [{ to: 0, minor: 1000 }] },
    mine,
    { do: 'confirm', on },
  ];
  const depth: readonly Act[] = [mine, mine, mine, { do: 'floor', on }];
  const pay = { do: 'pay', on, ending: 'succeeded' } as const;
  const refund: readonly Act[] = [{ do: 'refund', random: 0, minor: 400 }, pay, pay, pay];
  return { sale, depth, refund, all: [...sale, ...depth, ...refund] };
};
const aHistory = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: fc.tuple(anAct) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(on, fc.constantFrom('sale' as const, 'depth' as const, 'refund' as const, 'all' as const))
          .map(([network, name]) => usual(network)[name]),
      },
    ),
    { minLength: 10, maxLength: 35, size: 'max' },
  )
  .map((parts) => parts.flat());

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

/** Refunds that left in all histories. */
let paidRefunds = 0;

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
  await fc.assert(
    fc.asyncProperty(aHistory, async (acts) => {
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
  assert.ok(paidRefunds > HISTORIES / 2, `${paidRefunds} refunds were paid: the histories were idle`);
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
  const purses: readonly [Purse, Purse] = [new Purse(feeds[0]), new Purse(feeds[1])];
  for (const purse of purses) await purse.begin();
  /** Ids of refunds in the order in which they were asked for; those that were canceled become null. */
  const refunds: (string | null)[] = [];

  const setClock = (ms: number): void => {
    nowMs = ms;
    for (const { feed } of truths) feed.nowMs = ms;
  };

  async function act(step: Act): Promise<void> {
    switch (step.do) {
      case 'create': {
        // An address that was paid before is skipped, so the model reads which one the session took.
        if (sessions.length >= ADDRESSES) return;
        const outcome = await database.sessions.create(newSession(`s${sessions.length}`, { nowMs }));
        if (outcome.kind === 'no_network_followed') return;
        const session = sessionOf(outcome);
        sessions.push({ id: session.id, address: addressOf(session), status: 'pending' });
        return;
      }
      case 'cancel': {
        const session = sessions[step.random % Math.max(1, sessions.length)];
        if (session) await cancelSession(database, session.id, nowMs);
        return;
      }
      case 'restart': {
        if (database !== first) database.close();
        database = place.connect();
        for (const { feed } of truths) feed.database = database;
        for (const purse of purses) await purse.begin();
        return;
      }
      case 'refund': {
        const session = fromEnd(sessions, step.random % Math.max(1, sessions.length));
        const id = session && (await askForRefund(feeds[0], `r${refunds.length}`, session.id, BigInt(step.minor)));
        if (id) refunds.push(id);
        return;
      }
      case 'withdraw': {
        const at = step.random % Math.max(1, refunds.length);
        if (refunds[at] && (await cancelRefund(feeds[0], `r${at}`))) refunds[at] = null;
        return;
      }
      case 'pay': {
        setClock(nowMs + CANCEL_S * 1000);
        await purses[step.on].work(step.ending);
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
    const when = `step ${at}: ${JSON.stringify(step)}`;
    for (const session of sessions) await check(database, session, truths, when);
    for (const [n, id] of refunds.entries()) await checkRefund(database, `r${n}`, id, purses, when);
  }
  if (database !== first) database.close();
  paidRefunds += purses.reduce((sum, { paid }) => sum + paid.size, 0);
}

const fromEnd = <One>(all: readonly One[], at: number): One | undefined => all[all.length - 1 - at];

/** An event on one chain. */
async function happen(
  truth: Truth,
  step: Extract<Act, { on: 0 | 1 }>,
  sessions: readonly { address: string }[],
): Promise<void> {
  const { feed } = truth;
  switch (step.do) {
    case 'mine': {
      const transfers = step.coins.map(({ to, minor }) => {
        // One more than there are sessions: an address that no session has.
        const address = fromEnd(sessions, to % (sessions.length + 1))?.address ?? keyOf(ADDRESSES + 1);
        return pays(address, BigInt(minor), { network: truth.name });
      });
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
  const types = await eventTypes(database, known.id);
  assert.is(types.filter((type) => type === 'payment.completed').length, status === 'paid' ? 1 : 0, when);
  const ends = types.filter((type) => /^payment\.(failed|expired|cancelled)$/.test(type));
  assert.is(ends.length, ['failed', 'expired', 'canceled'].includes(status) ? 1 : Math.min(ends.length, 1), when);
}

/** @param id null after the merchant has canceled it */
async function checkRefund(
  database: Database,
  refundId: string,
  id: string | null,
  purses: readonly Purse[],
  when: string,
): Promise<void> {
  const found = await database.refunds.find({ storeId: 'm1', mode: 'test', refundId });
  assert.ok(found.kind === 'found', `${when}: ${refundId} is there`);
  const { refund } = found;
  const paid = purses.flatMap((purse) => purse.paid.get(refund.id) ?? []);
  assert.equal(paid, refund.status === 'completed' ? [refund.units] : [], `${when}: ${refundId} is ${refund.status}`);
  if (id === null) assert.is(refund.status, 'canceled', when);
  if (purses.some(({ refused }) => refused.has(refund.id))) assert.is(refund.status, 'failed', when);
}
