/** The audit log on the dashboard: read page by page to its first entry. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withDashboard } from '../support/dashboard.ts';
import { nextOf, rowsOf } from '../support/read-page.ts';

test('the log is limited to a person, an act and days, in the address, page by page', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const operator = await dashboard.person('Mary', { role: 'operator', storeId: null });
    const startMs = Date.UTC(2026, 0, 10);
    for (let nth = 0; nth < 120; nth++) {
      const atMs = startMs + nth * 3_600_000;
      const who = nth % 2 === 0 ? 'Ann (dashboard)' : 'root';
      const act = { atMs, operator: who, command: nth % 3 === 0 ? 'approve refund' : 'pay', reason: null };
      await api.database().audit.record(act, { target: `t-${nth}`, before: null, after: { nth } });
    }
    const targets = (text: string) => rowsOf(text, 'Audit log').map(({ On = '' }) => Number(On.slice(2)));
    const all = async (query: string) => {
      const seen: number[] = [];
      for (let path: string | undefined = `/operator/audit?${query}`; path; ) {
        const { text }: { text: string } = await operator.get(path);
        seen.push(...targets(text));
        path = nextOf(text);
      }
      return seen;
    };
    const expected = (fits: (nth: number) => boolean) =>
      Array.from({ length: 120 }, (_, at) => 119 - at).filter((nth) => fits(nth));
    assert.equal(
      await all('who=ann'),
      expected((nth) => nth % 2 === 0),
    );
    assert.equal(
      await all('who=ANN&what=Refund'),
      expected((nth) => nth % 6 === 0),
    );
    assert.equal(
      await all('what=t-11'),
      expected((nth) => nth === 11 || Math.floor(nth / 10) === 11),
    );
    const days = 'from=2026-01-11&to=2026-01-12';
    assert.equal(
      await all(days),
      expected((nth) => nth >= 24 && nth < 72),
    );
    assert.equal(await all(`${days}&who=%25`), []);
    assert.equal(
      targets((await operator.get('/operator/audit?before=x&what=t-119')).text),
      [119],
      'no place to go on from',
    );
  }));

test('people and stores are named', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const mary = await dashboard.person('Mary', { role: 'operator', storeId: null });
    const act = { atMs: api.clock.nowMs(), operator: 'root', command: 'names', reason: null };
    const suspendedAtMs = Date.UTC(2026, 0, 10, 20, 30);
    const before = { suspendedAtMs: null, limit: 1_700_000_000_000, role: `owner of ${api.merchantId}` };
    for (const target of ['rf_1', mary.id, 'test:ethereum', '<b>']) {
      const later = { ...act, atMs: api.clock.nowMs() + 1 };
      await api.database().audit.record(later, { target, before, after: { suspendedAtMs } });
    }
    const { text } = await mary.get('/operator/audit?what=names');
    const [newest, ...others] = rowsOf(text, 'Audit log');
    assert.equal(
      [newest, ...others].slice(0, 4).map((row) => row?.On),
      ['&lt;b&gt;', 'test:ethereum', 'Mary', 'rf_1'],
    );
    assert.is(newest?.After, 'suspended at: 2026-01-10 20:30:00', 'in the zone of the page');
    assert.is(newest?.Before, 'suspended at: –, limit: 1700000000000, role: owner of A shop');
  }));

test('a page looks at a bounded number of entries, and goes on from there', () =>
  withDashboard(async ({ api }) => {
    const database = api.database();
    for (let nth = 0; nth < 30; nth++) {
      const act = { atMs: 1_000 + nth, operator: nth === 3 ? 'rare' : 'root', command: 'x', reason: null };
      await database.audit.record(act, { target: `t-${nth}`, before: null, after: null });
    }
    const search = { who: 'rare', what: null, fromMs: 0, toMs: 2_000, limit: 5, entriesMax: 10 };
    const found: string[] = [];
    let [pages, beforeId]: [number, number | null] = [0, null];
    do {
      const page = await database.audit.search({ ...search, beforeId });
      found.push(...page.entries.map(({ target }) => target));
      beforeId = page.goOnId;
      pages++;
    } while (beforeId !== null);
    assert.equal([pages, found], [3, ['t-3']]);
  }));

test.run();
