/**
 * Every command of the operator that changes something leaves an entry in the audit log; no other one does. A command
 * that this file does not know fails it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { quaysideTool } from '../../scripts/cli/quayside.ts';
import { signerTool } from '../../scripts/cli/signer-tool.ts';
import { chains } from '../../src/chains/index.ts';
import { invariant } from '../../src/core/fault.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { merchantStore } from '../support/new-session.ts';
import { openToolBench } from '../support/tool-bench.ts';

const { answer, store, folder, database, network, order, close } = await openToolBench();
const KEY = network.key;
test.after(close);

const hex = (n: number) => n.toString(16).padStart(40, '0');
const { id: endpoint } = await answer('webhook', 'add', 'https://93.184.215.14/first', '--mode', 'test');

/** A session that was paid with 1.00 too much, which is held. */
async function paidSession(name: string): Promise<string> {
  const { id, pay } = await order(name);
  await pay(11_000_000n);
  return id;
}

/** A refund that waits for the operator. */
async function pendingRefund(name: string): Promise<string> {
  const sessionId = await paidSession(name);
  const plain = {
    storeId: store,
    mode: 'test',
    refundId: name,
    sessionId,
    amountMinor: 100n,
    currency: 'USDT',
  } as const;
  const made = await database.refunds.create(
    {
      ...plain,
      ...{ reason: null, description: null, metadata: null, refundAddress: 'the payer’s' },
      replay: { idempotencyKey: null, path: '/refunds/create', bodyHash: name },
      nowMs: systemClock.nowMs(),
    },
    () => ({ kind: 'ok', family: 'evm', key: hex(255) }),
  );
  invariant(made.kind === 'created', `not ${made.kind}`);
  return made.refund.id;
}

await answer('store', 'set', store, '--refund-automatic', '0');
const approved = await pendingRefund('to-approve');
const rejected = await pendingRefund('to-reject');
const [held] = await database.held.list({ limit: 1 });
const delivery = (await database.deliveries.list({ limit: 1 }))[0]?.id ?? '';
const key = await answer('key', 'create', '--mode', 'test');
await database.endpoints.enable(endpoint, false, 'it answered 410', systemClock.nowMs());
const elsewhere = chains.evm.address.format('c0ffee'.padStart(40, '1'));
const why = ['--reason', 'a reason'];
/** Stores as the dashboard creates them. */
const [waiting, unwanted] = ['mer_waiting', 'mer_unwanted'];
const [owner, asking] = ['usr_owner', { atMs: systemClock.nowMs(), operator: 'Ann', command: 'test', reason: null }];
const member = { role: 'staff', storeId: store } as const;
await database.people.add({ id: owner, name: 'Ann', membership: member, createdAtMs: 0 }, asking);
for (const id of [waiting, unwanted]) await database.stores.request({ ...merchantStore(), id }, owner, asking);

/** `states`: which of what was there before and what is there after is recorded. */
type Change = Readonly<{ words: readonly string[]; target?: string; states: 'both' | 'before' | 'after' | 'none' }>;

/** In this order. */
const changes: Readonly<Record<string, Change>> = {
  'store add': { words: ['Second', ...why], states: 'after' },
  'store set': { words: [store, '--late', 'accept', ...why], target: store, states: 'both' },
  'store decide': { words: [waiting, 'approve', ...why], target: waiting, states: 'both' },
  'key create': { words: ['--store', store, '--mode', 'live', '--scopes', 'sessions:read', ...why], states: 'after' },
  'key revoke': { words: [key.id, ...why], target: key.id, states: 'both' },
  'webhook add': {
    words: ['https://93.184.215.14/second', '--store', store, '--mode', 'test', ...why],
    states: 'after',
  },
  'webhook set': { words: [endpoint, '--state', 'on', ...why], target: endpoint, states: 'both' },
  'webhook secret': { words: [endpoint, '--rotate', 'start', ...why], target: endpoint, states: 'both' },
  'webhook resend': { words: [delivery], states: 'none' },
  'webhook remove': { words: [endpoint, ...why], target: endpoint, states: 'before' },
  'refund destination': { words: [approved, '--address', elsewhere, ...why], target: approved, states: 'both' },
  'refund approve': { words: [approved, ...why], target: approved, states: 'both' },
  'refund reject': { words: [rejected, ...why], target: rejected, states: 'both' },
  'held accept': { words: [held?.id ?? '', ...why], states: 'both' },
  'payout freeze': { words: [KEY, ...why], states: 'after' },
  'payout thaw': { words: [KEY, ...why], states: 'before' },
  'network rewind': { words: [KEY, '--to', '0', ...why], target: KEY, states: 'both' },
};

/** Tested with the signer, nodes or halted networks that they need; each of these files reads the audit log. */
const testedElsewhere: Readonly<Record<string, string>> = {
  'network reread': 'test/indexers/follower/recovery.test.ts',
  'held return': 'test/scripts/held.test.ts',

  'payout resolve': 'test/scripts/payout-exits.slow.test.ts',
  backup: 'test/scripts/backup.test.ts',
  'secret-key rotate': 'test/app/secret-key-rotation.test.ts',
  'alarm acknowledge': 'test/scripts/quayside.test.ts',
  'user link': 'test/scripts/user.test.ts',
  'user remove': 'test/scripts/user.test.ts',
};

/** Whose first write is recorded without states, by the connection that every command gets. */
const plain = ['payout reconcile', 'sweep', 'address-pool import'];

/** What changes no row. Some send something, such as `pay`. */
const readers = [
  ...['status', 'show', 'alarm list', 'store list', 'key list'],
  ...['pay', 'held list', 'webhook list', 'webhook test'],
  ...['refund list'],
  ...['payout list'],
  ...['export'],
  ...['ledger verify', 'audit list', 'drill'],
];

/** Changes a folder of no installation yet, the signer's, what is installed, or nothing (docs/operate.md). */
const unrecorded = [
  ...['restore', 'address-pool derive', 'doctor'],
  ...['network check', 'network sync', 'tron-ws'],
  ...['approve', 'restore', 'init', 'show', 'freeze', 'thaw', 'policy'],
];

test('every command is known here, as one that changes something or as one that does not', () => {
  const known = [...Object.keys(changes), ...Object.keys(testedElsewhere), ...plain, ...readers];
  const namesOf = (isOffline: boolean) =>
    [...quaysideTool.commands, ...signerTool.commands].flatMap((command) =>
      'runOffline' in command === isOffline ? [command.name] : [],
    );
  assert.equal(
    namesOf(false).filter((name) => !known.includes(name)),
    [],
  );
  assert.equal(
    namesOf(true).filter((name) => !unrecorded.includes(name) && !known.includes(name)),
    [],
  );
  for (const name of Object.values(testedElsewhere)) {
    assert.match(readFileSync(name, 'utf8'), /audit/i, name);
  }
});

for (const [name, { words, target, states }] of Object.entries(changes)) {
  test(`${name}: one entry says who changed what, and why`, async () => {
    const [before] = await database.audit.list(1);
    await answer(...name.split(' '), ...words);
    const entries = (await database.audit.list(9)).filter(({ id }) => id > (before?.id ?? 0));
    assert.is(entries.length, 1, JSON.stringify(entries));
    const [entry] = entries;
    assert.is(entry?.command, name);
    if (words.includes('a reason')) assert.is(entry?.reason, 'a reason');
    if (target !== undefined) assert.is(entry?.target, target);
    const has = { before: entry?.before !== null, after: entry?.after !== null };
    assert.equal(has, { before: ['both', 'before'].includes(states), after: ['both', 'after'].includes(states) });
    if (states === 'both') assert.is.not(JSON.stringify(entry?.before), JSON.stringify(entry?.after));
  });
}

test('the tool’s decision about a store ends its alarm', async () => {
  await answer('store', 'decide', unwanted, 'refuse', ...why);
  const [refused] = await database.audit.list(1);
  assert.equal([refused?.target, refused?.reason], [unwanted, 'a reason']);
  const listed: { id: string; channel_type: string }[] = await answer('store', 'list');
  assert.is(listed.find(({ id }) => id === waiting)?.channel_type, 'API');
  const keys = (await database.alarms.list(99)).filter(({ code, endedAtMs }) => code === 'store_waiting' && endedAtMs);
  assert.equal(keys.map(({ key }) => key).sort(), [`store:${unwanted}`, `store:${waiting}`]);
});

test('a command that only reads leaves none', async () => {
  const count = (await database.audit.list(1000)).length;
  for (const words of [['status'], ['store', 'list'], ['show', approved]]) {
    await answer(...words);
  }
  await answer('store', 'set', store, '--late', 'hold', '--dry-run');
  assert.is((await database.audit.list(1000)).length, count);
});

test('nothing changes or deletes an entry', () => {
  const raw = new Sqlite(join(folder, 'data', 'quayside.db'));
  for (const sql of ["UPDATE audit_log SET operator = 'nobody'", 'DELETE FROM audit_log']) {
    assert.throws(() => raw.exec(sql), /append-only/);
  }
  raw.close();
});

test.run();
