/** The audit log on the dashboard: read page by page to its first entry. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import { type Dashboard, PASSWORD, textOf, type Visitor, withDashboard } from '../support/dashboard.ts';
import { createObjects } from '../support/store-objects.ts';

const ENTRIES = 250;

test('every entry is on one page, the newest first', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const operator = await dashboard.person('Mary', { role: 'operator', storeId: null });
    for (let nth = 0; nth < ENTRIES; nth++) {
      const act = { atMs: api.clock.nowMs() + 1 + Math.floor(nth / 3), operator: 'root', command: 'pay', reason: null };
      await api.database().audit.record(act, { target: `t-${nth}`, before: null, after: null });
    }
    const seen: string[] = [];
    for (let path: string | undefined = '/operator/audit'; path; ) {
      const { text }: { text: string } = await operator.get(path);
      seen.push(...[...text.matchAll(/<code class="long">(t-\d+)<\/code>/g)].map(([, target = '']) => target));
      assert.is(text.includes('>Newest</a>'), path.includes('before='));
      path = /href="([^"]*before=\d+)" rel="next"/.exec(text)?.[1];
    }
    assert.equal(
      seen,
      Array.from({ length: ENTRIES }, (_, nth) => `t-${ENTRIES - 1 - nth}`),
    );
    for (const wrong of ['-1', 'x', '9'.repeat(30)]) {
      assert.match(
        (await operator.get(`/operator/audit?before=${wrong}`)).text,
        `<code class="long">t-${ENTRIES - 1}</code>`,
      );
    }
  }));

test('what was changed is said in words, with amounts and times as people write them', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const mary = await dashboard.person('Mary', { role: 'operator', storeId: null });
    const act = { atMs: api.clock.nowMs(), operator: 'root', command: 'store set', reason: null };
    const before = { toleranceMinor: 0, topUpGraceS: 1800, latePolicy: 'hold' };
    const after = { toleranceMinor: 1_250, topUpGraceS: 5_400, latePolicy: 'accept' };
    await api.database().audit.record(act, { target: 't', before, after });
    const shown = textOf((await mary.get('/operator/audit')).text);
    assert.match(shown, 'tolerance: 0.00 , top up grace: 30 minutes , late policy: hold');
    assert.match(shown, 'tolerance: 12.50 , top up grace: 1 hour, 30 minutes , late policy: accept');
    assert.match((await mary.get('/operator/audit.csv')).text, 'toleranceMinor: 1250', 'a file has what is stored');
    const key = 'c0ffee'.padEnd(40, '1');
    const named = { target: 'cs_1', before: null, after: { 'test:ethereum': key } };
    await api.database().audit.record({ ...act, command: 'leave refund address' }, named);
    assert.match(textOf((await mary.get('/operator/audit')).text), chains.evm.address.format(key));
  }));

const linesOf = (csv: string) => csv.trimEnd().split('\r\n').slice(1);

test('the log is limited to a person, an act and days, in the address, page by page, and as CSV', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const operator = await dashboard.person('Mary', { role: 'operator', storeId: null });
    const startMs = Date.UTC(2026, 0, 10);
    for (let nth = 0; nth < 300; nth++) {
      const atMs = startMs + nth * 3_600_000;
      const who = nth % 2 === 0 ? 'Ann (dashboard)' : 'root';
      const act = { atMs, operator: who, command: nth % 3 === 0 ? 'approve refund' : 'pay', reason: null };
      await api.database().audit.record(act, { target: `t-${nth}`, before: null, after: { nth } });
    }
    const targets = (text: string) =>
      [...text.matchAll(/<code class="long">t-(\d+)<\/code>/g)].map(([, nth]) => Number(nth));
    const all = async (query: string) => {
      const seen: number[] = [];
      for (let path: string | undefined = `/operator/audit?${query}`; path; ) {
        const { text }: { text: string } = await operator.get(path);
        seen.push(...targets(text));
        path = /href="([^"]*before=\d+)" rel="next"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
      }
      return seen;
    };
    const expected = (fits: (nth: number) => boolean) =>
      Array.from({ length: 300 }, (_, at) => 299 - at).filter((nth) => fits(nth));
    assert.equal(
      await all('who=ann'),
      expected((nth) => nth % 2 === 0),
    );
    assert.equal(
      await all('who=ANN&what=Refund'),
      expected((nth) => nth % 6 === 0),
    );
    assert.equal(
      await all('what=t-29'),
      expected((nth) => nth === 29 || Math.floor(nth / 10) === 29),
    );
    const days = 'from=2026-01-11&to=2026-01-12';
    assert.equal(
      await all(days),
      expected((nth) => nth >= 24 && nth < 72),
    );
    assert.equal(await all(`${days}&who=%25`), []);
    assert.match((await operator.get('/operator/audit?who=nobody')).text, 'No entry matches.');
    assert.match((await operator.get(`/operator/audit?${days}`)).text, 'audit.csv?from=2026-01-11&amp;to=2026-01-12');

    const csv = await operator.get(`/operator/audit.csv?${days}&who=root`);
    assert.is(csv.headers.get('content-type'), 'text/csv; charset=utf-8');
    assert.match(csv.headers.get('content-disposition') ?? '', /filename="audit-2026-01-11-to-2026-01-12-utc\.csv"/);
    assert.equal(
      linesOf(csv.text).map((line) => line.split(',')[3]),
      expected((nth) => nth >= 24 && nth < 72 && nth % 2 === 1).map((nth) => `t-${nth}`),
    );
    assert.is(linesOf((await operator.get('/operator/audit.csv?what=t-')).text).length, 300, 'in slices, each once');
    const [entry] = await api.database().audit.list(1);
    assert.equal([entry?.command, entry?.after], ['export audit log', { what: 't-' }]);
    assert.is(entry?.operator, 'Mary (dashboard)');
  }));

/** Signs in an operator who owns a store, too. */
async function operatorOf(dashboard: Dashboard, name: string, storeId: string): Promise<Visitor> {
  const { id, token } = await dashboard.invite(name, { role: 'owner', storeId });
  const act = { atMs: dashboard.api.clock.nowMs(), operator: 'root', command: 'user role', reason: null };
  await dashboard.api.database().people.setMembership(id, { role: 'operator', storeId: null }, act);
  const visitor = dashboard.visitor();
  await visitor.post(`/link/${token}`, { password: PASSWORD, code: dashboard.code(token) });
  return visitor;
}

test('times are the log’s, and what has a page or a name is shown so; what is stored and the CSV stay as they are', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const objects = await createObjects(dashboard);
    const { id, refund, held, endpoint, key } = objects.test;
    const mary = await dashboard.person('Mary', { role: 'operator', storeId: null });
    const shopAct = { atMs: api.clock.nowMs(), operator: 'root', command: 'user role', reason: null };
    await api.database().people.setZone(mary.id, 'Asia/Tokyo', shopAct);
    const suspendedAtMs = Date.UTC(2026, 0, 10, 20, 30);
    const [before, after] = [
      {
        suspendedAtMs: null,
        limit: 1_700_000_000_000,
        session: id,
        gone: 'cs_01kgone',
        role: `owner of ${api.merchantId}`,
      },
      {
        suspendedAtMs,
        link_expires_at_ms: suspendedAtMs,
        storeId: api.merchantId,
      },
    ];
    const targets = [id, refund, held, endpoint, key, mary.id, 'test:ethereum', 'A-7', 'nt_1', 'op_none', '<b>'];
    for (const target of targets) {
      const act = { ...shopAct, atMs: api.clock.nowMs() + 1, command: 'names' };
      await api.database().audit.record(act, { target, before, after });
    }
    const path = '/operator/audit?what=names';
    const shown = async (visitor: Visitor) => {
      const { text } = await visitor.get(path);
      const rows = text.split('<tr>').filter((row) => row.includes('<td'));
      return new Map(rows.map((row, at) => [targets.at(-1 - at) ?? '', row]));
    };
    const hrefOf = (row = '') => /<td[^>]*data-label="[^"]*"><a class="long" href="([^"]*)"/.exec(row)?.[1];
    const eve = await operatorOf(dashboard, 'Eve', await api.addMerchant());
    const elsewhere = [...(await shown(eve)).values()].join('');
    assert.not.match(elsewhere, `/s/${api.merchantId}/`, 'nothing of a store that one is no member of');
    const asOperator = await shown(mary);
    const [row = ''] = asOperator.values();
    assert.equal([...row.matchAll(/2026-01-11 05:30:00/g)].length, 2, 'in the zone of the page');
    assert.match(textOf(row), 'limit: 1700000000000', 'a number that is no time');
    assert.match(textOf(row), 'suspended at: –');
    assert.match(row, `<a class="long" href="/operator/stores"><span title="${api.merchantId}">`);
    assert.not.match(row, `/payments/${id}`, 'an operator sees no payments');
    assert.match(textOf(row), /role: owner of A shop\b/);
    assert.match(row, '&lt;b&gt;');
    assert.equal(
      ['test:ethereum', 'A-7', 'nt_1', 'op_none', mary.id].map((target) => hrefOf(asOperator.get(target))),
      [
        '/operator/networks/test:ethereum',
        '/operator/alarms?before=8',
        '/operator/notices',
        undefined,
        '/operator/people',
      ],
    );
    assert.match(asOperator.get(mary.id) ?? '', '<bdi>Mary</bdi>');

    const grace = await operatorOf(dashboard, 'Grace', api.merchantId);
    const asOwner = await shown(grace);
    const store = `/s/${api.merchantId}/test`;
    assert.equal(
      [id, refund, held, endpoint, key].map((target) => hrefOf(asOwner.get(target))),
      [`payments/${id}`, `refunds/${refund}`, `held/${held}`, `webhooks/${endpoint}`, 'developers'].map(
        (page) => `${store}/${page}`,
      ),
    );
    assert.match(asOwner.get('<b>') ?? '', `<a class="long" href="${store}/payments/${id}">`);
    assert.match(textOf(asOwner.get('<b>') ?? ''), 'gone: cs_01kgone');
    assert.match((await mary.get('/operator/audit.csv?what=names')).text, `suspendedAtMs: ${suspendedAtMs}`);
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

test('in CSV nothing that somebody wrote is a formula', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const operator = await dashboard.person('Mary', { role: 'operator', storeId: null });
    const act = { atMs: api.clock.nowMs(), operator: '=cmd()', command: '+x', reason: '@SUM(1)' };
    await api.database().audit.record(act, { target: '-2+3', before: { '=a': 'b' }, after: null });
    const { text } = await operator.get('/operator/audit.csv?who=cmd');
    assert.match(text, `,'=cmd(),'+x,'-2+3,'=a: b,,'@SUM(1)\r\n`);
  }));

test.run();
