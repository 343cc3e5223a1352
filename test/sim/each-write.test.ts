/**
 * A payment and its refund, command by command, over the real database. Each statement of each command fails once, as
 * with a full disk or a kill: nothing of the command is left, and the next process does it as if nothing had happened.
 */
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Database } from '../../src/database/database.ts';
import { allot, network, payer, sent, signatureOf } from '../conformance/database/payout-scene.ts';
import {
  booksAgree,
  claimAll,
  endpoint,
  type Feed,
  inWorld,
  pays,
  show,
  start,
  T0_MS,
  type World,
} from '../conformance/database/place.ts';
import { counted } from '../support/nonces.ts';

const payee = 'b'.repeat(40);
const ended = { tx: 'tx of the refund', feeUnits: 3n };
/** No command of this history has more statements that write. */
const WRITES_MAX = 100;

/** Values that pass from one command to the next. */
type Story = {
  to: string;
  block: Awaited<ReturnType<Feed['mine']>> | null;
  refundId: string;
  claimed: Awaited<ReturnType<typeof claimAll>>;
};
type Command = (database: Database, one: Feed, story: Story) => Promise<unknown>;

const intentOf = async (database: Database, { refundId }: Story) => {
  const intent = (await database.payouts.find(refundId))?.intent;
  assert.ok(intent && intent.kind === 'refund', 'it is planned');
  return intent;
};

const history: Readonly<Record<string, Command>> = {
  async 'the session is created'(database, _, story) {
    story.to = await start(database, 'o1');
  },
  async 'the payment is seen'(_, one, story) {
    story.block = await one.mine([pays(story.to, 1000n)]);
  },
  'the payment is confirmed': (_, one, { block }) => one.confirm(...(block ? [block] : [])),
  'the payment is final': (_, one, { block }) => one.step({ floor: block?.number ?? 0 }),
  async 'the refund is asked for'(database, _, story) {
    const outcome = await database.refunds.create(
      {
        storeId: 'm1',
        mode: 'test',
        refundId: 'r1',
        sessionId: 'cs_o1',
        amountMinor: 300n,
        currency: 'USDT',
        reason: null,
        description: null,
        metadata: null,
        refundAddress: payee,
        replay: { idempotencyKey: null, path: '/refunds/create', bodyHash: 'r1' },
        nowMs: T0_MS,
      },
      (_network, key) => ({ kind: 'ok', family: 'evm', key }),
    );
    assert.ok(outcome.kind === 'created', outcome.kind);
    story.refundId = outcome.refund.id;
  },
  'the payout is planned': (database) => database.refunds.advance(T0_MS, 10),
  'the engine starts': (database) => database.engines.nextFence(network, 0),
  'the nonce is offered': (database) => database.payouts.offerNonce(network, payer, counted(0), T0_MS),
  async 'the attempt is allotted'(database, _, { refundId }) {
    assert.is((await allot(database, refundId, { nowMs: T0_MS + 61_000 })).kind, 'allotted');
  },
  async 'the signature is recorded'(database, _, story) {
    const signature = { ...signatureOf(await intentOf(database, story), 1), tx: ended.tx };
    assert.is(await database.payouts.recordSigned(network, [signature]), null);
  },
  'the broadcast is recorded': (database, _, { refundId }) => sent(database, refundId),
  async 'the payout is settled'(database, _, { refundId: id }) {
    const outcome = { kind: 'succeeded', ended } as const;
    assert.ok(await database.payouts.settle({ id, generation: 0, outcome, nowMs: T0_MS }));
  },
  async 'the events are leased'(database, _, story) {
    story.claimed = await claimAll(database, T0_MS + 60_000);
    assert.ok(story.claimed.length > 0);
  },
  async 'their answers are recorded'(database, _, { claimed }) {
    const went = { startedAtMs: T0_MS, durationMs: 1, status: 200, error: null, responseExcerpt: null };
    await database.deliveries.record(
      claimed.map(({ id: deliveryId, endpointId, leaseUntilMs, attempt }) => ({
        endpointId,
        leaseUntilMs,
        verdict: { kind: 'delivered' },
        attempt: { ...went, deliveryId, attempt },
      })),
    );
  },
};

/** The rows of every table, in order. */
const tablesOf = (raw: Sqlite.Database): readonly string[] =>
  raw
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .pluck()
    .all() as string[];
const rowsOf = (raw: Sqlite.Database): string =>
  tablesOf(raw)
    .filter((table) => table !== 'crash')
    .map((table) => JSON.stringify([table, raw.prepare(`SELECT * FROM "${table}"`).raw().all()], bigAsText))
    .join('\n');
const bigAsText = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);

/** Makes statements fail: the one after so many others, from then on. */
function armCrashes(file: string) {
  const raw = new Sqlite(file);
  const tables = tablesOf(raw);
  raw.exec('CREATE TABLE crash (left INTEGER)');
  for (const table of tables) {
    for (const change of ['INSERT', 'UPDATE', 'DELETE']) {
      raw.exec(`CREATE TRIGGER "crash ${table} ${change}" BEFORE ${change} ON "${table}"
        WHEN EXISTS (SELECT 1 FROM crash) BEGIN
          SELECT RAISE(ABORT, 'crash') FROM crash WHERE left = 0;
          UPDATE crash SET left = left - 1;
        END`);
    }
  }
  return {
    rows: () => rowsOf(raw),
    after: (statements: number) => void raw.prepare('INSERT INTO crash VALUES (?)').run(statements),
    disarm: () => void raw.exec('DELETE FROM crash'),
    counts: () => tables.map((table) => [table, raw.prepare(`SELECT count(*) FROM "${table}"`).pluck().get()]),
    close: () => raw.close(),
  };
}

/** Plays the history. @returns how many rows each table has in the end, and how many statements failed */
async function play(world: World, isInterrupted: boolean) {
  const { database, one, place } = world;
  await database.endpoints.add(endpoint('e1', { extendedEvents: ['payment.detected', 'refund.processing'] }));
  const crashes = armCrashes(place.file);
  const story: Story = { to: '', block: null, refundId: '', claimed: [] };
  let failed = 0;
  try {
    for (const [what, command] of Object.entries(history)) {
      const before = crashes.rows();
      for (let statements = 0; isInterrupted; statements++) {
        assert.ok(statements < WRITES_MAX, what);
        crashes.after(statements);
        const process = place.connect();
        one.database = process;
        const told = { ...story };
        const error = await command(process, one, told).then(
          () => null,
          (thrown: unknown) => thrown,
        );
        await process.close();
        crashes.disarm();
        if (error === null) {
          Object.assign(story, told);
          break;
        }
        failed += 1;
        assert.match(String(error), /crash/, what);
        assert.is(crashes.rows(), before, `${what}, and nothing of it is left after statement ${statements}`);
      }
      one.database = database;
      if (!isInterrupted) await command(database, one, story);
    }
    await booksAgree(database);
    const session = await show(database, 'o1');
    assert.equal({ status: session.life.status, funded: session.standing.funded }, { status: 'paid', funded: 'full' });
    assert.is((await database.refunds.findBy({ id: story.refundId }))?.status, 'completed');
    return { counts: crashes.counts(), failed };
  } finally {
    crashes.close();
  }
}

test('whichever statement of a payment and of its refund fails, the next process goes on', async () => {
  const ends: Awaited<ReturnType<typeof play>>[] = [];
  for (const isInterrupted of [false, true])
    await inWorld(async (world) => void ends.push(await play(world, isInterrupted)))();
  const [whole, interrupted] = ends;
  assert.equal(interrupted?.counts, whole?.counts);
  assert.ok((interrupted?.failed ?? 0) > 50, `${interrupted?.failed} statements failed`);
});

test.run();
