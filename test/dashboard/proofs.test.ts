/** What was proved and compared, and when, on the operator's page; what never was has its command beside it. */
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
    assert.match(before, 'Seed drill never proved quayside-signer drill');
    assert.match(before, 'Books check never proved quayside ledger verify');
    assert.match((await mary.get(PATH)).text, 'badge attention');

    const proof = { kind: 'books', atMs: api.clock.nowMs(), ok: true, by: 'root', about: '9 entries add up' } as const;
    await api.database().audit.recordProof(proof);
    api.clock.advance(3 * DAY_MS);
    const joan = await dashboard.person('Joan', { role: 'operator', storeId: null });
    const later = async () => textOf((await joan.get(PATH)).text);
    assert.match(await later(), /Books check \S+ \S+ , 3 days ago , by root : 9 entries add up/);
    await api.database().audit.recordProof({ ...proof, atMs: api.clock.nowMs(), ok: false, about: '2 problems' });
    assert.match(
      await later(),
      /Books check the last one failed .*: 2 problems \. quayside ledger verify .* 3 days ago/,
    );

    assert.match(await later(), /test:ethereum none yet – –/);
    const compared = {
      network: 'test:ethereum',
      from: 90,
      through: 99,
      comparedAtMs: api.clock.nowMs(),
      blocks: 10,
    } as const;
    const same = { transfers: 2, differs: null, differences: 0, message: null };
    await api.database().blocks.recordComparison({ ...compared, ...same });
    assert.match(await later(), /test:ethereum no difference 99 \d{4}-/);
    const other = { differs: { from: 95, to: 96 }, differences: 2, message: 'the node has one more' };
    await api.database().blocks.recordComparison({ ...compared, ...same, ...other });
    assert.match(await later(), /test:ethereum differences the node has one more 99/);

    const review = await joan.submit(PATH, `${PATH}/seed-drill`);
    assert.match(review.text, 'on another machine');
    assert.equal((await api.database().audit.latestProofs()).seed.proved, null, 'not before it is confirmed');
    assert.is((await confirm(joan, `${PATH}/seed-drill`, review)).status, 303);
    assert.match(await later(), /Seed drill .* by Joan \(dashboard\) : on another machine/);
    const [entry] = await api.database().audit.list(1);
    assert.equal([entry?.operator, entry?.command, entry?.target], ['Joan (dashboard)', 'record seed drill', 'seed']);
  }));

test.run();
