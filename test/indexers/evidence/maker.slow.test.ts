/**
 * Certificates of simulated nodes of each family, over a real database and a real indexer.
 * @module
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { runRetention } from '../../../src/app/retention.ts';
import type { Fault } from '../../../src/core/fault.ts';
import { openRetentionDatabase } from '../../../src/database/sqlite/retention/retention-database.ts';
import { type Kept, openArchive } from '../../../src/evidence/archive.ts';
import { verifyEvidence } from '../../../src/evidence/verify.ts';
import { DAY_MS, systemClock } from '../../../src/lib/clock.ts';
import { type EvidenceBench, openEvidenceBench } from '../../support/evidence-bench.ts';
import { until } from '../../support/until.ts';

const families = ['evm', 'tron', 'solana'] as const;

function onBench(
  family: (typeof families)[number],
  work: (bench: EvidenceBench) => Promise<void>,
): () => Promise<void> {
  return async () => {
    const bench = await openEvidenceBench(family);
    try {
      await work(bench);
    } finally {
      await bench.close();
    }
  };
}

const codesOf = ({ certificate }: Kept): string[] => certificate.differences.listed.map(({ code }) => code);
const messageOf = ({ certificate }: Kept): string =>
  certificate.differences.listed.map(({ message }) => message).join();

/** Two paid orders, one of which is swept, and a refund. */
async function trade(bench: EvidenceBench) {
  const [swept, kept] = [await bench.order(), await bench.order()];
  bench.pay(swept, bench.units(10));
  bench.mine(3);
  const tx = bench.pay(kept, bench.units(10));
  await bench.settle();
  await bench.sweep(swept, bench.units(10));
  await bench.refund(bench.units(4));
  await bench.settle();
  return { swept, kept, tx };
}

/** Archives everything that may be archived two years from now. */
async function archiveAll({ shop }: EvidenceBench) {
  const database = openRetentionDatabase({ file: shop.temp.file, busyTimeoutMs: 5000, bytesMax: null });
  try {
    const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + 730 * DAY_MS };
    const days = { anonymiseDays: 1, archiveDays: 1, attemptsDays: 1, endpointsDays: 1 };
    return await runRetention({ config: { retention: { nightly: '00:00', ...days } }, database, clock });
  } finally {
    database.close();
  }
}

/** Removes a transfer as if it had never been read. */
function forget({ raw }: EvidenceBench, tx: string): void {
  raw.pragma('foreign_keys = OFF');
  assert.is(raw.prepare('DELETE FROM transfers WHERE tx = ?').run(tx).changes, 1);
}

for (const family of families) {
  test(
    `${family}: payments, a sweep and a refund in the range add up to a complete certificate that verifies`,
    onBench(family, async (bench) => {
      await trade(bench);
      const kept = await bench.make();
      const { certificate, file } = kept;
      assert.equal(codesOf(kept), [], messageOf(kept));
      assert.is(certificate.result, 'complete');
      assert.is(certificate.transfers.count, 2);
      assert.is(certificate.transfers.units.USDT, bench.units(20).toString());
      assert.equal(certificate.payouts, { count: 2, units: { USDT: bench.units(14).toString() } });
      assert.is(certificate.balances.state, 'read');
      if (certificate.balances.state === 'read') {
        assert.is(certificate.balances.addresses, 2, 'the emptied address is in it, because it moved');
        assert.is(certificate.balances.on_chain.USDT, bench.units(10).toString());
        assert.is(certificate.balances.in_ledger.USDT, bench.units(10).toString());
      }
      const { problems, proved } = await verifyEvidence({ file });
      assert.equal(problems, []);
      assert.ok(proved.length >= 3);
      assert.equal(
        readdirSync(join(bench.dataDir, 'evidence', `test-${family}`)).sort(),
        ['000001.json', '000001.list.gz'],
        'nothing else is left',
      );
    }),
  );

  test(
    `${family}: archiving changes nothing: certificates verify, and the same range and the next one are complete`,
    onBench(family, async (bench) => {
      const quiet = await bench.order();
      await trade(bench);
      const before = await bench.make();
      const { id } = await quiet.read();
      const { storeId } = await quiet.read();
      const replay = { idempotencyKey: null, path: 'cancel', bodyHash: '' };
      await bench.shop.database.cancelSession({ id, storeId, mode: 'test', replay, nowMs: systemClock.nowMs() });
      assert.is((await archiveAll(bench)).archived, 1);
      assert.ok((await bench.shop.database.findArchived(id)) !== null);
      assert.equal((await verifyEvidence({ file: before.file })).problems, []);
      const { range, transfers, payouts, balances } = before.certificate;
      const again = await bench.make({ from: range.from, to: range.to });
      assert.equal(codesOf(again), [], messageOf(again));
      assert.equal([again.certificate.transfers, again.certificate.payouts], [transfers, payouts]);
      assert.equal(again.certificate.balances.state, balances.state);
      // Money that comes after all brings the session back, and is in the next certificate.
      bench.pay(quiet, bench.units(10));
      await bench.settle();
      const next = await bench.make();
      assert.equal(codesOf(next), [], messageOf(next));
      assert.is(next.certificate.transfers.units.USDT, bench.units(10).toString());
      assert.is(await bench.shop.database.findArchived(id), null);
      for (const { file } of [before, again, next]) assert.equal((await verifyEvidence({ file })).problems, []);
    }),
  );

  test(
    `${family}: a transfer that the database lacks is named, and so is the money on its address`,
    onBench(family, async (bench) => {
      const { tx } = await trade(bench);
      forget(bench, tx);
      const kept = await bench.make();
      assert.is(kept.certificate.result, 'differences');
      assert.ok(codesOf(kept).includes('transfer_missing'), messageOf(kept));
      assert.ok(messageOf(kept).includes(tx));
      assert.ok((await verifyEvidence({ file: kept.file })).problems.length > 0);
      assert.is(openArchive(bench.dataDir, bench.network.key).open().length, 1);
    }),
  );

  test(
    `${family}: a balance above or below the ledger's is named`,
    onBench(family, async (bench) => {
      const { kept: order } = await trade(bench);
      await bench.sweep(order, bench.units(3), false);
      await bench.settle();
      const low = await bench.make();
      assert.equal(codesOf(low), ['balance_low'], messageOf(low));
      const elsewhere = await bench.make(
        { from: low.certificate.range.from, to: low.certificate.range.to },
        { hasSigner: false },
      );
      assert.equal(codesOf(elsewhere), [], 'whoever has the keys may empty addresses where this installation does not');
      assert.equal((await verifyEvidence({ file: elsewhere.file })).problems, []);
      // More than the database knows of.
      bench.raw
        .prepare("UPDATE transfers SET units = '1' WHERE address_id = (SELECT id FROM addresses WHERE key = ?)")
        .run(order.address);
      await bench.settle();
      const high = await bench.make();
      assert.equal(codesOf(high), ['balance_high'], messageOf(high));
    }),
  );

  test(
    `${family}: three certificates continue each other; an earlier range may be made again`,
    onBench(family, async (bench) => {
      const made: Kept[] = [];
      for (let count = 0; count < 3; count++) {
        const order = await bench.order();
        bench.pay(order, bench.units(10));
        await bench.settle();
        made.push(await bench.make());
      }
      const ranges = made.map(({ certificate }) => certificate.range);
      assert.is(ranges[1]?.from, (ranges[0]?.to ?? 0) + 1);
      assert.is(ranges[1]?.first.parent, ranges[0]?.last.hash, 'linked across certificates');
      assert.is(ranges[2]?.first.parent, ranges[1]?.last.hash);
      for (const { file, certificate } of made) {
        assert.is(certificate.transfers.count, 1);
        assert.equal((await verifyEvidence({ file })).problems, []);
      }
      const { from = 0, to = 0 } = ranges[0] ?? {};
      const again = await bench.make({ from, to });
      assert.is(again.certificate.sequence, 4);
      assert.is(again.certificate.certified_through, ranges[2]?.to);
      assert.equal(codesOf(again), []);
    }),
  );
}

test(
  'a block that the database holds with another hash is named',
  onBench('evm', async (bench) => {
    await trade(bench);
    const number = (await bench.floor()) - 2;
    const change = bench.raw.prepare('UPDATE blocks SET hash = ? WHERE number = ? AND canonical = 1');
    assert.is(change.run(`0x${'ee'.repeat(32)}`, number).changes, 1);
    const kept = await bench.make();
    assert.equal(codesOf(kept), ['block_differs']);
    assert.ok(messageOf(kept).includes(`block ${number}`));
  }),
);

test(
  'a transfer of another amount, one that the chain lacks, and one that is not booked are named',
  onBench('evm', async (bench) => {
    const { tx } = await trade(bench);
    bench.raw.prepare("UPDATE transfers SET units = '5' WHERE tx = ?").run(tx);
    const changed = await bench.make();
    assert.ok(codesOf(changed).includes('transfer_differs'), messageOf(changed));
    assert.ok(codesOf(changed).includes('ledger_differs'), messageOf(changed));
    bench.raw
      .prepare('UPDATE transfers SET tx = ?, units = ? WHERE tx = ?')
      .run(`0x${'ab'.repeat(32)}`, bench.units(10).toString(), tx);
    const { from, to } = changed.certificate.range;
    const unknown = await bench.make({ from, to });
    assert.equal(codesOf(unknown).sort(), ['transfer_missing', 'transfer_unknown'], messageOf(unknown));
  }),
);

test(
  'a refund that the chain does not have is named',
  onBench('evm', async (bench) => {
    const tx = await bench.refund(bench.units(4), false);
    const settledMs = systemClock.nowMs();
    await until('the chain’s clock is past it', () => systemClock.nowMs() > settledMs + 1_000);
    await bench.settle();
    const kept = await bench.make();
    assert.equal(codesOf(kept), ['payout_missing']);
    assert.ok(messageOf(kept).includes(tx));
  }),
);

test(
  'what the node has no state of is left out, and the certificate says so',
  onBench('evm', async (bench) => {
    const { tx } = await trade(bench);
    const first = await bench.make();
    bench.own.faults.set({ rates: { states_gone: 1 } });
    const { from, to } = first.certificate.range;
    const { certificate, file } = await bench.make({ from, to });
    assert.is(certificate.result, 'complete');
    assert.is(certificate.balances.state, 'left_out');
    const { problems, unproved } = await verifyEvidence({ file });
    assert.equal(problems, []);
    assert.ok(unproved.some((one) => one.startsWith('what the addresses hold')));
    forget(bench, tx);
    assert.equal(codesOf(await bench.make({ from, to })), ['transfer_missing']);
  }),
);

test(
  'blocks that are not final get no certificate, and a node that fails leaves nothing behind',
  onBench('tron', async (bench) => {
    await trade(bench);
    const to = (await bench.floor()) + 1;
    const refused = await bench.make({ from: to - 5, to }).catch((error: Fault) => error.code);
    assert.is(refused, 'usage');
    const failing = bench.make(null, {
      through: (node) => ({ ...node, content: () => Promise.reject(new TypeError('a bug')) }),
    });
    assert.is(await failing.catch((error: Error) => error.message), 'a bug');
    assert.equal(readdirSync(join(bench.dataDir, 'evidence', 'test-tron')), []);
  }),
);

test(
  'blocks that the node has lost at either end of the range are no blocks that were skipped',
  onBench('solana', async (bench) => {
    await trade(bench);
    const to = await bench.floor();
    const lost = async (number: number) => {
      const made = bench.make(
        { from: to - 20, to },
        {
          through: (node) => ({
            ...node,
            header: async () => null,
            async range(from, last) {
              const all = await node.range(from, last);
              const left = all.filter((block) => block.number !== number);
              return left.length > 0 ? left : node.range(last + 1, last + 1);
            },
          }),
        },
      );
      return made.then(
        () => 'made',
        (error: Fault) => error.code,
      );
    };
    assert.is(await lost(-1), 'made');
    assert.is(await lost(to), 'node_block_missing');
    assert.is(await lost(to - 20), 'node_block_missing');
  }),
);

test(
  'a certified block that the chain has replaced is named, and does not stop the next certificate',
  onBench('evm', async (bench) => {
    const to = await bench.floor();
    const hash = `0x${'ee'.repeat(32)}`;
    const first = await bench.make(
      { from: to - 10, to },
      {
        through: (node) => ({
          ...node,
          range: async (from, last) =>
            (await node.range(from, last)).map((block) => (block.number === to ? { ...block, hash } : block)),
          async content(block, thorough) {
            const [own = block] = block.hash === hash ? await node.range(to, to) : [block];
            return node.content(own, thorough);
          },
        }),
      },
    );
    assert.equal(codesOf(first), ['block_differs']);
    await bench.settle();
    const second = await bench.make();
    assert.equal(codesOf(second), ['certified_block_replaced'], messageOf(second));
    await bench.settle();
    assert.equal(codesOf(await bench.make()), []);
  }),
);

test(
  'dust is no payment, and still counts in the balance of its address',
  onBench('tron', async (bench) => {
    const order = await bench.order();
    bench.pay(order, bench.units(10));
    await bench.settle();
    bench.pay(order, 1n);
    await bench.settle();
    const { certificate } = await bench.make();
    assert.is(certificate.result, 'complete');
    assert.is(certificate.transfers.dust, 1);
    assert.is(certificate.transfers.units.USDT, (bench.units(10) + 1n).toString());
  }),
);

test(
  'blocks that were skipped are named as not covered, until they have been read again',
  onBench('evm', async (bench) => {
    await trade(bench);
    const [from, to] = [10, 12];
    bench.raw
      .prepare("INSERT INTO block_gaps (network, from_number, to_number, because, at_ms) VALUES (?, ?, ?, 'lost', 1)")
      .run(bench.network.key, from, to);
    const gap = await bench.make({ from: 5, to: 20 });
    assert.equal([codesOf(gap), gap.certificate.result], [['gap_open'], 'differences']);
    assert.match(messageOf(gap), /blocks 10 to 12 .* not covered: `quayside networks reread \S+ --from 10 --to 12`/);
    assert.equal(codesOf(await bench.make({ from: 13, to: 20 })), [], 'a range beside it');
    bench.raw.prepare('UPDATE block_gaps SET closed_at_ms = 2').run();
    assert.equal(codesOf(await bench.make({ from: 5, to: 20 })), []);
  }),
);

test.run();
