import * as assert from 'uvu/assert';
import type { Database } from '../../../src/database/database.ts';
import type { RotationStep } from '../../../src/database/endpoints.ts';
import { cancelNew, claimAll, endpoint, inWorlds, T0_MS } from './place.ts';

const act = { atMs: T0_MS + 7, operator: 'alice', command: 'webhook secret', reason: 'it leaked' };
const secretOf = (id: string) => `whsec_${btoa(id)}`;

const rotate = (database: Database, id: string, step: RotationStep, isDryRun = false) =>
  database.endpoints.rotateSecret({ id, mode: 'test', step, act, isDryRun });

/** Cancels a new session and returns what signs its event for each endpoint's URL. */
async function signing(database: Database, orderId: string, webhookUrl: string | null = null) {
  await cancelNew(database, orderId, T0_MS, webhookUrl);
  const claimed = await claimAll(database, T0_MS);
  return Object.fromEntries(
    claimed.map(({ url, secret, nextSecret }) => [
      url.split('/').at(-1),
      [secret, ...(nextSecret ? [nextSecret] : [])],
    ]),
  );
}

const test = inWorlds('webhook secrets');

test('an endpoint has its own secret; one-off URLs have that of the store and mode', async ({ database }) => {
  await database.endpoints.add({ ...endpoint('own'), secret: secretOf('own') });
  await database.endpoints.add(endpoint('old'));
  assert.equal(await signing(database, 'o1', 'https://shop.example/once'), {
    own: [secretOf('own')],
    old: ['whsec_of_m1'],
    once: ['whsec_of_m1'],
  });
  assert.is((await database.endpoints.findSecret('m1', 'live'))?.secret, 'whsec_live_of_m1');
  assert.is((await database.endpoints.findSecret('m1', 'test'))?.secret, 'whsec_of_m1');
  assert.is(await database.endpoints.findSecret('nobody', 'live'), null);
});

test('a rotation makes two secrets valid until it is finished, and is recorded without them', async ({ database }) => {
  await database.endpoints.add({ ...endpoint('e1'), secret: secretOf('a') });
  const start = { kind: 'start', secret: secretOf('b') } as const;
  assert.is((await rotate(database, 'e1', { kind: 'finish' })).kind, 'not_under_way');
  const tried = await rotate(database, 'e1', start, true);
  assert.is(tried.kind, 'done');
  assert.equal(await signing(database, 'o1'), { e1: [secretOf('a')] }, 'a dry run changes nothing');

  assert.is((await rotate(database, 'e1', start)).kind, 'done');
  assert.equal(await signing(database, 'o2'), { e1: [secretOf('a'), secretOf('b')] });
  assert.is((await rotate(database, 'e1', { kind: 'start', secret: secretOf('c') })).kind, 'under_way');
  const finished = await rotate(database, 'e1', { kind: 'finish' });
  assert.equal(finished.kind === 'done' && [finished.secret.secret, finished.secret.nextSecret], [secretOf('b'), null]);
  assert.equal(await signing(database, 'o4'), { e1: [secretOf('b')] });

  const entries = await database.audit.list(9);
  assert.equal(
    entries.map(({ target, reason, after }) => [target, reason, after]),
    ['finish', 'start'].map((step) => ['e1', 'it leaked', { mode: 'test', secrets: step === 'start' ? 2 : 1, step }]),
  );
  assert.not.ok(JSON.stringify(entries).includes('whsec_'));
});

test('rotating an endpoint that has no secret of its own leaves the store’s as it is', async ({ database }) => {
  await database.endpoints.add(endpoint('old'));
  assert.is((await rotate(database, 'old', { kind: 'start', secret: secretOf('b') })).kind, 'done');
  const urls = { old: ['whsec_of_m1', secretOf('b')], once: ['whsec_of_m1'] };
  assert.equal(await signing(database, 'o1', 'https://shop.example/once'), urls);
  assert.is((await rotate(database, 'm1', { kind: 'start', secret: secretOf('c') })).kind, 'done');
  const both = { ...urls, once: ['whsec_of_m1', secretOf('c')] };
  assert.equal(await signing(database, 'o2', 'https://shop.example/once'), both);
  const once = (await database.endpoints.list('m1')).find(({ perSession }) => perSession);
  assert.is((await rotate(database, once?.id ?? '', { kind: 'finish' })).kind, 'one_off');
  assert.is((await rotate(database, 'nobody', { kind: 'finish' })).kind, 'unknown');
});

test('a URL receives events of one mode only, in whatever spelling', async ({ database }) => {
  const url = 'https://shop.example/hooks?a=1';
  await database.endpoints.add(endpoint('live', { mode: 'live', url }));
  const spellings = [
    url,
    'https://SHOP.example:443/hooks?a=1',
    'https://shop.example./x/../hooks?a=1#top',
    'https://user@shop.example/hooks?a=1',
  ];
  const ask = { storeId: 'm1', mode: 'test' } as const;
  for (const spelling of spellings) {
    assert.is(await database.endpoints.findOfOtherMode({ ...ask, url: spelling }), 'live', spelling);
    assert.equal(await database.endpoints.add(endpoint('second', { url: spelling })), {
      kind: 'other_mode',
      endpointId: 'live',
    });
  }
  assert.is(await database.endpoints.findOfOtherMode({ ...ask, mode: 'live', url }), null, 'its own mode');
  assert.is(await database.endpoints.findOfOtherMode({ ...ask, url: 'https://shop.example/hooks' }), null);
  assert.is(await database.endpoints.findOfOtherMode({ ...ask, storeId: 'm2', url }), null, 'another store');

  await database.endpoints.remove('live');
  assert.is((await database.endpoints.add(endpoint('second', { url }))).kind, 'added');
});

test.run();
