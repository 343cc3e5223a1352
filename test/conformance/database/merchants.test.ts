import * as assert from 'uvu/assert';
import type { NewApiKey } from '../../../src/database/keys.ts';
import { WAITING_STORES_MAX } from '../../../src/database/stores.ts';
import { column, has, have } from '../../support/fields.ts';
import { act, breaks, inWorlds, merchant, newSession, sessionOf, show, T0_MS, type World } from './place.ts';

const by = (command: string, reason: string | null = null) => ({ atMs: T0_MS, operator: 'root', command, reason });

/** Adds a member of the first store. */
const addMember = ({ database }: World, id: string) =>
  database.people.add(
    { id, name: id, membership: { role: 'staff', storeId: 'm1' }, createdAtMs: T0_MS },
    by('user create'),
  );

/** Neither one person nor many can pile up stores that wait. */
async function boundWaiting(world: World): Promise<void> {
  const { database } = world;
  await addMember(world, 'ann');
  const request = (id: string) => database.stores.request(merchant(id), 'ann', by('create store'));
  const asked = Array.from({ length: WAITING_STORES_MAX + 2 }, (_, nth) => `w${nth}`);
  const made = await Promise.all(asked.map(request));
  assert.is(made.filter((isMade) => isMade).length, WAITING_STORES_MAX, 'at once, too');
  assert.is((await database.stores.find('w0'))?.status, 'pending');
  assert.is(await database.stores.find(asked.at(-1) ?? ''), null);
  await database.stores.decide('w1', 'suspend', by('store suspend', 'no'));
  assert.ok(await request('w9'), 'the suspended one no longer waits');
  assert.not.ok(await request('w8'));
}

/** Revokes a key, and again, which changes nothing. */
async function revokeTwice({ database }: World, created: Required<NewApiKey>): Promise<void> {
  await database.keys.create(created);
  assert.is(await database.keys.revoke('k1', act('key revoke', T0_MS + 5)), true);
  assert.is(await database.keys.revoke('k1', act('key revoke', T0_MS + 9)), true);
  assert.is((await database.keys.find('hash of k1'))?.revokedAtMs, T0_MS + 5);
  const [entry, ...others] = await database.audit.list(10);
  const change = { target: 'k1', before: { revokedAtMs: null }, after: { revokedAtMs: T0_MS + 5 } };
  assert.equal(entry, { id: entry?.id, ...act('key revoke', T0_MS + 5), ...change });
  assert.equal(others, [], 'what changes nothing is not recorded');
  assert.is(await database.keys.revoke('nobody', act('key revoke')), false);
}

const test = inWorlds('merchants');
const key = (id: string, storeId = 'm1'): Required<NewApiKey> => ({
  id,
  storeId,
  mode: 'test',
  name: null,
  hint: 'sk_test_…abcd',
  scopes: ['sessions:read', 'sessions:write'],
  createdAtMs: T0_MS,
  revokedAtMs: null,
  keyHash: `hash of ${id}`,
  secret: `ss_secret of ${id}`,
});

test('a store is found as it was created, and approved once', async ({ database }) => {
  const { webhookSecrets, ...plain } = merchant('m2', { latePolicy: 'accept' });
  const second = { ...plain, status: 'pending', createdAtMs: T0_MS + 1 } as const;
  await database.stores.create({ ...second, webhookSecrets });
  assert.equal(await database.stores.find('m2'), second);
  assert.equal(column(await database.stores.list(), 'id'), ['m1', 'm2']);
  const act = { atMs: T0_MS, operator: 'root', command: 'store approve', reason: null };
  const approved = { ...second, status: 'approved' } as const;
  assert.equal(await database.stores.decide('m2', 'approve', act), approved);
  assert.equal(await database.stores.find('m2'), approved);
  assert.equal(await database.stores.decide('m2', 'approve', act), approved);
  assert.equal(
    (await database.audit.list(9)).filter(({ command }) => command === 'store approve').map(({ target }) => target),
    ['m2'],
  );
  assert.is(await database.stores.decide('nobody', 'approve', act), null);
  assert.is(await database.stores.find('nobody'), null);
  await breaks(database.stores.create({ ...second, webhookSecrets }));
});

test('stores that wait cannot be piled up', boundWaiting);

test('the look of a payment page is set one by one, and can be reset', async ({ database }) => {
  const { stores } = database;
  const look = async () => {
    const { accent, embedOrigins, logo } = await stores.values('m1');
    return { accent, embedOrigins, logo };
  };
  const unset = { accent: null, embedOrigins: [], logo: null };
  assert.equal(await look(), unset);
  await stores.update('m1', { accent: '#ff8800' });
  assert.equal(await look(), { ...unset, accent: '#ff8800' });
  const logo = { hash: 'ab'.repeat(32), bytes: new Uint8Array([1, 2, 255]) };
  await stores.update('m1', { logo, embedOrigins: ['https://shop.example'] });
  assert.equal(await look(), { accent: '#ff8800', embedOrigins: ['https://shop.example'], logo: logo.hash });
  const found = await stores.findLogo('m1', logo.hash);
  assert.equal([...(found ?? [])], [...logo.bytes]);
  assert.is(await stores.findLogo('m1', 'cd'.repeat(32)), null);
  assert.is(await stores.findLogo('nobody', logo.hash), null);
  await stores.update('m1', unset);
  assert.equal(await look(), unset);
  assert.is(await stores.findLogo('m1', logo.hash), null);
});

test('changed settings hold for new sessions, and each change is recorded', async ({ database }) => {
  const open = sessionOf(await database.sessions.create(newSession('o1')));
  const changes = { latePolicy: 'accept', topUpGraceS: 60, refundAutoMinor: 5 } as const;
  await database.stores.update('m1', changes, act('store set'));
  assert.is((await database.stores.find('m1'))?.settings.topUpGraceS, 60);
  assert.is((await database.stores.values('m1')).refundAutoMinor, 5);
  assert.equal((await show(database, 'o1')).terms, open.terms);
  const { terms } = sessionOf(await database.sessions.create(newSession('o2')));
  has(terms, { latePolicy: 'accept', topUpGraceS: 60, monitoringS: open.terms.monitoringS });
  await database.stores.update('m1', { latePolicy: 'accept' }, act('store set'));
  const [entry, ...others] = await database.audit.list(9);
  assert.equal(others, [], 'the same again changes nothing');
  assert.equal(entry?.before, { latePolicy: 'hold', topUpGraceS: 1800, refundAutoMinor: 100_000 });
  has(entry, { target: 'm1', after: changes });
});

test('a store is suspended with a reason and approved again, each recorded once', async ({ database }) => {
  const suspend = (to: 'suspend' | 'approve', atMs: number, id = 'm1') =>
    database.stores.decide(id, to, { ...act(`store ${to}`, atMs), reason: `at ${atMs}` });
  const found = async () => (await database.stores.find('m1'))?.suspension;
  assert.is(await suspend('suspend', 1, 'nobody'), null);
  await suspend('approve', 1);
  for (const atMs of [3, 4]) await suspend('suspend', atMs);
  assert.equal(await found(), { atMs: 3, because: 'at 3' });
  assert.equal(await database.sessions.create(newSession('o1')), { kind: 'store_suspended' });
  await suspend('approve', 5);
  assert.is(await found(), undefined);
  assert.is((await database.sessions.create(newSession('o1'))).kind, 'created');
  const none = { status: 'approved' };
  const since = { status: 'suspended', because: 'at 3' };
  have(await database.audit.list(9), [
    { atMs: 5, target: 'm1', before: since, after: none },
    { atMs: 3, target: 'm1', before: none, after: since },
  ]);
});

test('creating a store is recorded with its settings, and its secrets are not', async ({ database }) => {
  const second = merchant('m2', { latePolicy: 'accept' });
  await database.stores.create(second, act('store add'));
  const after = { name: second.name, zone: 'UTC', ...second.settings };
  have(await database.audit.list(9), [{ command: 'store add', target: 'm2', before: null, after }]);
});

test('a key is found by its hash, with its secret and the state and settings of its store', async ({ database }) => {
  await database.keys.create(key('k1'));
  await database.stores.create({ ...merchant('m2'), status: 'pending' });
  await database.keys.create(key('k2', 'm2'));
  const { keyHash, ...shown } = key('k1');
  const unused = { createdBy: null, lastUsedAtMs: null, lastUsedFrom: null };
  const ofStore = { storeStatus: 'approved', storeSettings: merchant('m1').settings };
  assert.equal(await database.keys.find(keyHash), { ...shown, ...unused, ...ofStore });
  assert.is((await database.keys.find('hash of k2'))?.storeStatus, 'pending');
  assert.is(await database.keys.find('hash of nobody'), null);
  const { secret: _, ...listed } = shown;
  assert.equal(await database.keys.list('m1'), [{ ...listed, ...unused }]);
  assert.equal(await database.keys.show('k1'), { ...listed, ...unused });
  assert.is(await database.keys.show('nobody'), null);
  assert.is((await database.keys.list(null)).length, 2);
});

test('a revoked key is still found, with its first time', (world) => revokeTwice(world, key('k1')));

test('creating a key is recorded with what it may do, and its secret is not', async ({ database }) => {
  await database.keys.create(key('k1'), act('key create'));
  const [entry] = await database.audit.list(1);
  has(entry, { command: 'key create', target: 'k1', before: null });
  assert.equal(entry?.after, {
    storeId: 'm1',
    mode: 'test',
    name: null,
    hint: 'sk_test_…abcd',
    scopes: 'sessions:read,sessions:write',
  });
});

test('the last use of a key is noted with its address, once a minute', async ({ database }) => {
  await database.keys.create(key('k1'));
  await database.keys.create(key('k2'));
  const use = (nonce: string, nowMs: number, from?: string, keyId = 'k1') =>
    database.keys.useNonce({ keyId, nonce, nowMs, keepUntilMs: nowMs + 600_000, ...(from && { from }) });
  const last = async (id = 'k1') => {
    const shown = await database.keys.show(id);
    return [shown?.lastUsedAtMs ?? null, shown?.lastUsedFrom ?? null];
  };
  await use('n-1', T0_MS);
  assert.equal(await last(), [null, null], 'without an address nothing is noted');
  await use('n-2', T0_MS, '203.0.113.1');
  assert.equal(await last(), [T0_MS, '203.0.113.1']);
  await use('n-3', T0_MS + 59_999, '203.0.113.2');
  assert.equal(await last(), [T0_MS, '203.0.113.1'], 'not written again within a minute');
  await use('n-2', T0_MS + 70_000, '203.0.113.3');
  assert.equal(await last(), [T0_MS, '203.0.113.1'], 'a replayed request is no use');
  await use('n-4', T0_MS + 60_000, '203.0.113.2');
  assert.equal(await last(), [T0_MS + 60_000, '203.0.113.2']);
  assert.equal(await last('k2'), [null, null]);
});

test('a nonce is accepted once per key, also after a restart and in another process', async ({ database, place }) => {
  await database.keys.create(key('k1'));
  await database.keys.create(key('k2'));
  const use = (keyId: string, nowMs = T0_MS, connection = database) =>
    connection.keys.useNonce({ keyId, nonce: 'n-1', nowMs, keepUntilMs: nowMs + 600_000 });
  assert.is(await use('k1'), true);
  assert.is(await use('k1'), false);
  assert.is(await use('k2'), true);
  const other = place.connect();
  assert.is(await use('k1', T0_MS + 599_999, other), false);
  assert.is(await use('k1', T0_MS + 600_000, other), true, 'kept until the requested time');
  other.close();
  const old = Array.from({ length: 30 }, (_, n) => `old-${n}`);
  for (const nonce of old) await database.keys.useNonce({ keyId: 'k2', nonce, nowMs: T0_MS, keepUntilMs: T0_MS + 1 });
  const again = { keyId: 'k2', nonce: 'old-29', nowMs: T0_MS + 2, keepUntilMs: T0_MS + 3 };
  assert.is(await database.keys.useNonce(again), true, 'an expired nonce counts as removed');
  const racers = Array.from({ length: 20 }, () =>
    database.keys.useNonce({ keyId: 'k1', nonce: 'raced', nowMs: T0_MS, keepUntilMs: T0_MS + 1 }),
  );
  assert.is((await Promise.all(racers)).filter(Boolean).length, 1);
});

test.run();
