/** What the database makes of the signer's policy and freeze, as engines report them. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Database } from '../../../src/database/database.ts';
import { inWorld, T0_MS } from '../../conformance/database/place.ts';
import { openTempDatabase } from '../../support/temp-database.ts';
import { audit } from './audit.ts';

const makePlace = () => {
  const place = openTempDatabase();
  return { ...place, audit: () => audit(place.file) };
};
const policy = { 'test:one caps.USDT.day': '600', 'test:one treasury': '0xaa', 'test:one wallets.refund': '0' };
const entries = async (database: Database) =>
  (await database.listAudit(9)).map(({ operator, command, before, after }) => ({ operator, command, before, after }));
const alarms = async (database: Database) => (await database.listAlarms(9)).map(({ code }) => code);

test(
  'a policy that differs is in the audit log with what was before, and raises an alarm; the first one does neither',
  inWorld(makePlace, async ({ database }) => {
    await database.reportSignerPolicy(policy, T0_MS);
    await database.reportSignerPolicy(policy, T0_MS);
    assert.equal([await entries(database), await alarms(database)], [[], []]);
    const changed = { ...policy, 'test:one caps.USDT.day': '90000', 'approver ab': 'Eve' };
    // Each network's engine reports it.
    for (let engine = 0; engine < 3; engine++) await database.reportSignerPolicy(changed, T0_MS);
    assert.equal(await entries(database), [
      {
        operator: 'quayside',
        command: 'signer policy',
        before: { 'test:one caps.USDT.day': '600', 'approver ab': null },
        after: { 'test:one caps.USDT.day': '90000', 'approver ab': 'Eve' },
      },
    ]);
    const [alarm, ...others] = await database.listAlarms(9);
    assert.equal([alarm?.code, others], ['signer_policy_changed', []]);
    assert.match(alarm?.message ?? '', 'test:one caps.USDT.day: 600 → 90000; approver ab: none → Eve.');
    assert.match(alarm?.message ?? '', '`quayside signer freeze --because …`');
  }),
);

test(
  'another wallet is in the audit log, and has an alarm of its own; many settings are counted in the message',
  inWorld(makePlace, async ({ database }) => {
    await database.reportSignerPolicy(policy, T0_MS);
    await database.reportSignerPolicy({ ...policy, 'test:one wallets.refund': '1' }, T0_MS);
    assert.equal([(await entries(database)).length, await alarms(database)], [1, []]);
    const more = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`test:two setting${at}`, 'new']));
    await database.reportSignerPolicy({ ...policy, ...more }, T0_MS);
    assert.match((await database.listAlarms(9))[0]?.message ?? '', 'setting3: none → new; and 5 more. ');
  }),
);

test(
  'the begin and the end of a freeze are each one entry, whichever engines report them, with whom the signer names',
  inWorld(makePlace, async ({ database }) => {
    const freeze = { reason: 'a stolen key', frozenBy: 'ann', frozenAtMs: T0_MS };
    const networks = ['test:one', 'test:two'] as const;
    for (const network of networks) await database.reportSignerFreeze(network, null, null, T0_MS);
    assert.equal(await entries(database), []);
    for (const network of networks) await database.reportSignerFreeze(network, freeze, null, T0_MS + 1);
    const thaw = { frozenAtMs: T0_MS, thawedBy: 'Bob', thawedAtMs: T0_MS + 2 };
    for (const network of networks) await database.reportSignerFreeze(network, null, thaw, T0_MS + 3);
    const begin = { operator: 'ann', command: 'signer freeze', before: null, after: freeze };
    const end = { operator: 'Bob', command: 'signer thaw', before: freeze, after: { thawedAtMs: T0_MS + 2 } };
    assert.equal(await entries(database), [end, begin]);

    // A signer of an older version does not say who ended it, and a thaw of another freeze says nothing of this one.
    const second = { ...freeze, frozenAtMs: T0_MS + 9 };
    await database.reportSignerFreeze('test:one', second, thaw, T0_MS + 10);
    await database.reportSignerFreeze('test:one', null, thaw, T0_MS + 11);
    const [unknown] = await entries(database);
    assert.equal(unknown, { operator: 'quayside', command: 'signer thaw', before: second, after: null });
  }),
);

test.run();
