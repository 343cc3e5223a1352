/** Whatever happens to payments, refunds and sweeps, what accountants export adds up to what the ledger holds. */
import Sqlite from 'better-sqlite3';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type SweepOwner, sweepIntent } from '../../../src/core/sweep.ts';
import type { Currency } from '../../../src/core/transfer.ts';
import {
  BOOK_PAGE_ENTRIES,
  type Booked,
  type BookFilter,
  type BookKind,
  bookKinds,
} from '../../../src/database/bookkeeping.ts';
import type { Database } from '../../../src/database/database.ts';
import type { DestinationCheck } from '../../../src/database/refunds/refund.ts';
import {
  addressOf,
  Feed,
  keyOf,
  merchant,
  newSession,
  pays,
  pool,
  request,
  sessionOf,
  T0_MS,
} from '../../conformance/database/place.ts';
import { openTempDatabase } from '../../support/temp-database.ts';

const SESSIONS = 5;
const payee = 'b'.repeat(40);
const treasury = 'd'.repeat(40);
const check: DestinationCheck = (_network, key) => ({ kind: 'ok', family: 'evm', key });
const stores = ['m1', 'm2'] as const;

/** What happens next; numbers are reduced to what is possible at that moment. */
type Act =
  | Readonly<{ do: 'pay'; on: 0 | 1; to: number; minor: number; currency: Currency }>
  | Readonly<{ do: 'confirm' | 'orphan' | 'final' | 'sweep' | 'reverse'; on: 0 | 1 }>
  | Readonly<{ do: 'refund'; of: number; minor: number; fee: number }>;
const on = fc.constantFrom(0 as const, 1 as const);
const anAct: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('pay' as const),
      on,
      to: fc.nat(SESSIONS + 1),
      minor: fc.constantFrom(1, 400, 1000, 1234),
      currency: fc.constantFrom('USDT' as const, 'USDC' as const),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom('confirm' as const, 'final' as const), on }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constantFrom('orphan' as const, 'sweep' as const, 'reverse' as const), on }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('refund' as const),
      of: fc.nat(SESSIONS - 1),
      minor: fc.constantFrom(1, 100, 999),
      fee: fc.nat(5),
    }),
  },
);

async function openBooks() {
  const temp = openTempDatabase();
  const { database } = temp;
  for (const id of stores) await database.stores.create(merchant(id));
  const keys = Array.from({ length: 20 }, (_, at) => keyOf(at + 1));
  await database.addresses.add({ ...pool, source: 'xpub one', firstIndex: 0, keys });
  const feeds = [new Feed(database, 'one'), new Feed(database, 'two')] as const;
  const signed = new Map<string, number>();
  for (const feed of feeds) {
    await feed.mine();
    await database.engines.nextFence(feed.network, 0);
  }
  const addresses: string[] = [];
  for (let n = 0; n < SESSIONS; n++) {
    const storeId = stores[n % 2] ?? 'm1';
    const conversion = n === 1 ? { rate: '1.0823', currency: 'USDT' as const, amountMinor: 1000n } : null;
    const own = { storeId, conversion, ...(conversion && { request: request(`s${n}`, { currency: 'EUR' }) }) };
    addresses.push(addressOf(sessionOf(await database.sessions.create(newSession(`s${n}`, own)))));
  }

  /** Carries out every payout of a network that is due. */
  async function carry(feed: Feed, fee: number): Promise<void> {
    for (const { payout } of await database.payouts.open(feed.network, feed.nowMs + 61_000, 20)) {
      const { id, intent } = payout;
      const name = { id, generation: 0, attempt: 0 };
      const payerRole = intent.kind === 'sweep' ? ('collection' as const) : ('refund' as const);
      const own = { payer: 'a'.repeat(40), payerRole, nonce: null, terms: {}, feeUnitsMax: 9n };
      const allotted = await database.payouts.allot({ ...name, ...own, intent, nowMs: feed.nowMs + 61_000 });
      if (allotted.kind !== 'allotted') continue;
      const journalId = (signed.get(feed.network) ?? 0) + 1;
      signed.set(feed.network, journalId);
      const tx = `tx of ${id}`;
      const signature = { id: journalId, intent, generation: 0, attempt: 0, terms: {}, signedAtMs: feed.nowMs };
      await database.payouts.recordSigned(feed.network, [{ ...signature, tx, bytes: new Uint8Array([1]) }]);
      await database.payouts.recordSent({ ...name, answerCode: 'ok', answer: 'ok', refusal: null, nowMs: feed.nowMs });
      const outcome = { kind: 'succeeded', ended: { tx, feeUnits: BigInt(fee) } } as const;
      await database.payouts.settle({ id, generation: 0, outcome, nowMs: feed.nowMs });
    }
  }

  async function sweep(feed: Feed): Promise<void> {
    const place = { network: feed.network, pool };
    const { owners } = await database.sweeps.unswept(place, 0, 20);
    const first = owners.filter(({ currency }) => currency === owners[0]?.currency).slice(0, 1);
    if (first.length === 0) return;
    const due = first.map((owner: SweepOwner) => ({ owner, why: 'value' as const }));
    const intent = sweepIntent(feed.network, { currency: first[0]?.currency ?? 'USDT', due });
    const planned = { sweep: intent, keys: first.map(({ key }) => key), before: [], after: null };
    await database.sweeps.plan({ ...place, treasury, sweeps: [planned], nowMs: feed.nowMs });
    await carry(feed, 2);
  }

  let refunds = 0;
  async function refund(of: number, minor: number, fee: number): Promise<void> {
    refunds++;
    const nowMs = feeds[0].nowMs;
    const replay = { idempotencyKey: null, path: '/refunds/create', bodyHash: `r${refunds}` };
    const own = {
      storeId: stores[of % 2] ?? 'm1',
      mode: 'test' as const,
      refundId: `r${refunds}`,
      sessionId: `cs_s${of}`,
    };
    const rest = { reason: null, description: null, metadata: null, refundAddress: payee, replay, nowMs };
    await database.refunds.create({ ...own, ...rest, amountMinor: BigInt(minor), currency: 'USDT' }, check);
    await database.refunds.advance(nowMs, 10);
    for (const feed of feeds) await carry(feed, fee);
  }

  return {
    ...temp,
    async act(step: Act): Promise<void> {
      for (const feed of feeds) feed.nowMs += 1000;
      if (step.do === 'refund') return refund(step.of, step.minor, step.fee);
      const feed = feeds[step.on];
      const network = step.on === 0 ? 'one' : 'two';
      const tip = feed.chain.at(-1);
      if (step.do === 'pay') {
        const to = addresses[step.to] ?? keyOf(15 + step.to);
        await feed.mine([pays(to, BigInt(step.minor), { network, currency: step.currency })]);
      } else if (step.do === 'reverse') {
        await feed.confirm(await feed.mine([pays(addresses[1] ?? '', 777n, { network })]));
        await feed.reorg(1, [[]]);
      } else if (step.do === 'confirm' && tip) await feed.confirm(tip);
      else if (step.do === 'final' && tip) {
        await feed.confirm(tip);
        await feed.step({ floor: tip.number });
      } else if (step.do === 'orphan' && feed.chain.length > 1) {
        const status = (await database.networks.list()).find((one) => one.network === feed.network);
        if ((tip?.number ?? 0) > (status?.floor ?? 0)) await feed.reorg(1, [[]]);
      } else if (step.do === 'sweep') await sweep(feed);
    },
  };
}

async function exported(database: Database, kind: BookKind, more: Partial<BookFilter> = {}): Promise<Booked[]> {
  const filter = { kind, fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, storeId: null, ...more };
  const rows: Booked[] = [];
  for (const { network, entry: newest } of await database.reports.newestEntries()) {
    for (let after = 0; after < newest; after += BOOK_PAGE_ENTRIES)
      rows.push(...(await database.reports.bookPage(filter, network, after)));
  }
  return rows;
}

type Sums = Record<string, bigint>;
const addTo = (sums: Sums, place: string, units: bigint): void => {
  sums[place] = (sums[place] ?? 0n) + units;
};
const withoutZeros = (sums: Sums): Sums =>
  Object.fromEntries(
    Object.entries(sums)
      .filter(([, units]) => units !== 0n)
      .sort(),
  );
function sumOf(rows: readonly Booked[], ofStores = true): Sums {
  const sums: Sums = {};
  for (const { session, network, asset, units } of rows) {
    addTo(sums, `${ofStores ? (session?.storeId ?? '-') : ''} ${network} ${asset}`, units);
  }
  return withoutZeros(sums);
}

/** Adds up postings of the ledger itself, by the store of the session whose part of the account they are. */
function ledgerSums(file: string, accounts: readonly string[], sign: bigint, ofStores = true): Sums {
  const raw = new Sqlite(file, { readonly: true });
  const sums: Sums = {};
  const all = raw.prepare(
    `SELECT p.account, p.network, p.asset, p.units, s.store_id AS store FROM ledger_postings AS p
     LEFT JOIN sessions AS s ON s.id = p.subject WHERE p.account IN (${accounts.map((one) => `'${one}'`).join(', ')})`,
  );
  for (const { network, asset, units, store } of all.all() as Record<string, string>[]) {
    addTo(sums, `${ofStores ? (store ?? '-') : ''} ${network} ${asset}`, sign * BigInt(units ?? 0));
  }
  raw.close();
  return withoutZeros(sums);
}

const tokensOnly = (sums: Sums): Sums =>
  Object.fromEntries(Object.entries(sums).filter(([place]) => !place.endsWith('native')));

test('after any history, exports add up to the ledger for each store, network and asset, in any cut of time', async () => {
  let [refunds, reversals, sweeps] = [0, 0, 0];
  await fc.assert(
    fc.asyncProperty(fc.array(anAct, { minLength: 10, maxLength: 35 }), fc.nat(40), async (acts, cut) => {
      const books = await openBooks();
      const { database, file } = books;
      try {
        for (let to = 0; to < SESSIONS; to++) {
          await books.act({ do: 'pay', on: 0, to, minor: 1234, currency: 'USDT' });
          await books.act({ do: 'final', on: 0 });
        }
        for (const step of acts) await books.act(step);
        const of = Object.fromEntries(
          await Promise.all(bookKinds.map(async (kind) => [kind, await exported(database, kind)])),
        ) as Record<BookKind, Booked[]>;
        assert.equal(sumOf(of.refunds), ledgerSums(file, ['refunded'], -1n));
        assert.equal(sumOf(of.fees, false), ledgerSums(file, ['fees'], 1n, false));
        assert.equal(sumOf(of.sweeps, false), ledgerSums(file, ['treasury'], 1n, false));
        const held = ledgerSums(file, ['collected', 'in_transit', 'treasury'], 1n, false);
        assert.equal(sumOf(of.payments, false), tokensOnly(held));
        // What a store received, less what was paid back, is what its sessions still have.
        const left = sumOf([...of.payments, ...of.refunds.map((row) => ({ ...row, units: -row.units }))]);
        assert.equal(left, ledgerSums(file, ['received', 'unclaimed', 'reserved'], -1n));
        const atMs = T0_MS + cut * 1000;
        for (const kind of bookKinds) {
          const parts = [
            ...(await exported(database, kind, { toMs: atMs })),
            ...(await exported(database, kind, { fromMs: atMs })),
          ];
          assert.equal(parts.map(({ entry }) => entry).sort(), of[kind].map(({ entry }) => entry).sort());
          for (const storeId of stores) {
            const own = of[kind].filter(({ session }) => session?.storeId === storeId);
            assert.equal(await exported(database, kind, { storeId }), own);
          }
        }
        for (const { network, reverses, units, cause } of of.payments) {
          if (reverses === null) continue;
          reversals++;
          const first = of.payments.find((one) => one.network === network && one.entry === reverses);
          assert.equal([first?.cause, first?.units], [cause, -units], 'a reversal names what it takes back');
        }
        refunds += of.refunds.length;
        sweeps += of.sweeps.length;
      } finally {
        books.close();
      }
    }),
    { numRuns: 20 },
  );
  // Each kind must occur; how often is up to chance.
  assert.ok(refunds > 0 && reversals > 0 && sweeps > 0, `${refunds} refunds, ${reversals} reversals, ${sweeps} sweeps`);
});

test.run();
