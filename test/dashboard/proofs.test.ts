/** What was proved and when, on the operator's page: never in amber with the command, and a check that is asked for. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { DAY_MS } from '../../src/lib/clock.ts';
import { confirm, textOf, withDashboard } from '../support/dashboard.ts';

const PATH = '/operator/sources';

test('drills and checks say when they were proved, by whom, and what failed since', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const mary = await dashboard.person('Mary', { role: 'operator', storeId: null });
    const shown = async () => textOf((await mary.get(PATH)).text);
    const before = await shown();
    assert.match(before, 'Last backup never quayside backup');
    assert.match(before, 'Seed drill never proved quayside signer drill');
    assert.match(before, 'Books check never proved quayside ledger verify');
    assert.match((await mary.get(PATH)).text, 'badge attention');

    const proof = { kind: 'books', atMs: api.clock.nowMs(), ok: true, by: 'root', about: '9 entries add up' } as const;
    await api.database().recordProof(proof);
    api.clock.advance(3 * DAY_MS);
    const joan = await dashboard.person('Joan', { role: 'operator', storeId: null });
    const later = async () => textOf((await joan.get(PATH)).text);
    assert.match(await later(), /Books check \S+ \S+ , 3 days ago , by root : 9 entries add up/);
    await api.database().recordProof({ ...proof, atMs: api.clock.nowMs(), ok: false, about: '2 problems' });
    assert.match(
      await later(),
      /Books check the last one failed .*: 2 problems \. quayside ledger verify .* 3 days ago/,
    );

    const asked = await joan.submit(PATH, '/operator/networks/test:ethereum/ask');
    assert.is(asked.status, 303);
    const [operation] = await api.database().listOperations({ limit: 1 }, api.clock.nowMs());
    assert.equal(operation?.wish, { kind: 'check_books' });

    const review = await joan.submit(PATH, `${PATH}/seed-drill`);
    assert.match(review.text, 'on another machine');
    assert.equal((await api.database().latestProofs()).seed.proved, null, 'not before it is confirmed');
    assert.is((await confirm(joan, `${PATH}/seed-drill`, review)).status, 303);
    assert.match(await later(), /Seed drill .* by Joan \(dashboard\) : on another machine/);
    const [entry] = await api.database().listAudit(1);
    assert.equal([entry?.operator, entry?.command, entry?.target], ['Joan (dashboard)', 'record seed drill', 'seed']);
  }));

test.run();
