import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createAddressTable, openAddressTable } from '../../../indexers/follower/address-table.ts';
import { runnable } from '../../../src/lib/installation.ts';
import { addressKeyOf } from '../../support/address-keys.ts';
import { until } from '../../support/until.ts';
import type { ReaderReport, ReaderWork } from './address-table-reader.ts';

test('text that is not a key of the table is never found, and cannot be added', () => {
  const table = createAddressTable(20);
  const key = addressKeyOf(1, 20);
  table.add(key);
  for (const text of ['', '0x', key.slice(2), `${key}00`, `0x${key.slice(2)}`, key.toUpperCase(), `${key.slice(1)}g`]) {
    assert.not(table.has(text), text);
    assert.throws(() => table.add(text), /lower-case hex/);
  }
});

test('a table agrees with a Set, whatever the width of its keys, across growth', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(4, 20, 21, 32),
      fc.array(fc.nat(5000), { maxLength: 3000, size: 'max' }),
      (keyBytes, picks) => {
        const table = createAddressTable(keyBytes);
        const expected = new Set<string>();
        for (const pick of picks) {
          const key = addressKeyOf(pick, keyBytes);
          assert.is(table.add(key), !expected.has(key));
          expected.add(key);
        }
        const reader = openAddressTable(table.buffer());
        assert.is(table.size(), expected.size);
        for (let n = 0; n < 5000; n++) {
          const key = addressKeyOf(n, keyBytes);
          assert.is(reader.has(key), expected.has(key));
        }
      },
    ),
    { numRuns: 12 },
  );
});

test('keys that differ in one bit only, or share their hash slot, are distinguished', () => {
  const table = createAddressTable(4);
  const even = Array.from({ length: 20_000 }, (_, n) => (n * 2).toString(16).padStart(8, '0'));
  for (const key of even) table.add(key);
  assert.is(table.size(), even.length);
  for (let n = 0; n < 40_000; n++) assert.is(table.has(n.toString(16).padStart(8, '0')), n % 2 === 0);
});

test('growth leaves the old buffer unchanged: its readers miss only later keys', () => {
  const table = createAddressTable(20);
  table.add(addressKeyOf(0, 20));
  const old = table.buffer();
  for (let n = 1; n < 5000; n++) table.add(addressKeyOf(n, 20));
  assert.is.not(table.buffer(), old);
  assert.ok(openAddressTable(old).has(addressKeyOf(0, 20)));
  assert.not(openAddressTable(old).has(addressKeyOf(4999, 20)));
  assert.ok(openAddressTable(table.buffer()).has(addressKeyOf(4999, 20)));
});

test('threads that read while keys are added find every published key and no other', async () => {
  const keyBytes = 20;
  const total = 10_000;
  const table = createAddressTable(keyBytes);
  // Grow the table first, so that all reading happens in one buffer, as it does for a running task.
  for (let n = 0; n < 25_000; n++) table.add(addressKeyOf(-1 - n, keyBytes));
  const buffer = table.buffer();
  const shared = new SharedArrayBuffer(3 * 4);
  const counters = new Int32Array(shared);
  const readers = [1, 2].map((reader) => {
    const workerData: ReaderWork = { table: buffer, shared, reader, total, keyBytes };
    const worker = new Worker(runnable(new URL('./address-table-reader.ts', import.meta.url)), { workerData });
    return Promise.all([once(worker, 'message'), once(worker, 'exit')]);
  });
  for (let n = 0; n < total; n++) {
    // However slowly threads start and run, each reader polls again before the next thousand keys.
    const looks = [1, 2].map((reader) => Atomics.load(counters, reader));
    if (n % 1000 === 0) {
      await until('both readers look', () => looks.every((count, at) => Atomics.load(counters, at + 1) > count));
    }
    table.add(addressKeyOf(n, keyBytes));
    Atomics.store(counters, 0, n + 1);
  }
  assert.is(table.buffer(), buffer, 'the test stayed within one buffer');
  for (const [[report]] of await Promise.all(readers)) {
    assert.equal(report, { missed: 0, invented: 0 } satisfies ReaderReport);
  }
});

test('a million addresses of 20 bytes cost tens of megabytes', () => {
  const table = createAddressTable(20);
  for (let n = 0; n < 1_000_000; n++) table.add(n.toString(16).padStart(40, '0'));
  assert.is(table.size(), 1_000_000);
  assert.ok(table.buffer().byteLength < 60e6, `${table.buffer().byteLength} bytes`);
});

test.run();
