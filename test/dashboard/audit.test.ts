/** The audit log on the dashboard: read page by page to its first entry. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withDashboard } from '../support/dashboard.ts';

const ENTRIES = 250;

test('every entry is on one page, the newest first', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const operator = await dashboard.person('Mary', { role: 'operator', storeId: null });
    for (let nth = 0; nth < ENTRIES; nth++) {
      const act = { atMs: api.clock.nowMs() + 1 + Math.floor(nth / 3), operator: 'root', command: 'pay', reason: null };
      await api.database().recordAct(act, { target: `t-${nth}`, before: null, after: null });
    }
    const seen: string[] = [];
    for (let path: string | undefined = '/operator/audit'; path; ) {
      const { text }: { text: string } = await operator.get(path);
      seen.push(...[...text.matchAll(/<code>(t-\d+)<\/code>/g)].map(([, target = '']) => target));
      assert.is(text.includes('>Newest</a>'), path.includes('before='));
      path = /href="([^"]*before=\d+)" rel="next"/.exec(text)?.[1];
    }
    assert.equal(
      seen,
      Array.from({ length: ENTRIES }, (_, nth) => `t-${ENTRIES - 1 - nth}`),
    );
    for (const wrong of ['-1', 'x', '9'.repeat(30)]) {
      assert.match((await operator.get(`/operator/audit?before=${wrong}`)).text, `<code>t-${ENTRIES - 1}</code>`);
    }
  }));

test.run();
