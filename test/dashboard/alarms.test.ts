/** The operator's page of alarms: what needs somebody, then what was, page by page. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { SUDO_MS } from '../../src/dashboard/web-session.ts';
import { textOf, withDashboard } from '../support/dashboard.ts';

const PATH = '/operator/alarms';

test('open alarms come first, then all earlier ones, each once', () =>
  withDashboard(async ({ api, person }) => {
    const database = api.database();
    const mary = await person('Mary', { role: 'operator', storeId: null });
    for (const { key } of await database.alarms.listOpen()) await database.alarms.end(key ?? '', api.clock.nowMs());
    const nowMs = api.clock.nowMs();
    const about = { message: 'look', network: null, sessionId: null };
    const flapping = { ...about, key: 'network:test:bsc', code: 'network_behind' };
    await database.alarms.keep({ ...flapping, atMs: nowMs });
    for (let nth = 0; nth < 60; nth++) {
      await database.alarms.keep({ ...about, key: 'coin:x', code: `c${nth}`, atMs: nowMs + nth });
    }
    await database.alarms.end('coin:x', nowMs + 60);
    await database.alarms.raise({ ...about, code: 'payment_reversed', atMs: nowMs + 70 });

    const { text } = await mary.get(PATH);
    const [open = '', past = ''] = text.split('id="past"');
    const rows = (part: string) => [...part.matchAll(/>(A-\d+) <code>(\w+)<\/code>/g)].map(([, id = '']) => id);
    const all = await database.alarms.list(1000);
    const idOf = (code: string) => `A-${all.find((one) => one.code === code)?.id}`;
    assert.equal(rows(open), [idOf('network_behind'), idOf('payment_reversed')]);
    assert.match(textOf(past), /over until \d{4}-\d\d-\d\d/);

    const seen = rows(past);
    for (let path = /href="([^"]*before=\d+)" rel="next"/.exec(text)?.[1]; path; ) {
      const page: string = (await mary.get(path)).text;
      seen.push(...rows(page));
      path = /href="([^"]*before=\d+)" rel="next"/.exec(page)?.[1];
    }
    const expected = all.map(({ id }) => `A-${id}`);
    // One that is open is among the earlier ones too, if it is that old.
    assert.equal(
      seen,
      expected.filter((id) => id !== idOf('payment_reversed')),
    );
  }));

test('an alarm about money goes silent only after the second factor, another one at once', () =>
  withDashboard(async ({ api, person }) => {
    const database = api.database();
    const mary = await person('Mary', { role: 'operator', storeId: null });
    const about = { message: 'look', network: null, sessionId: null, atMs: api.clock.nowMs() };
    await database.alarms.keep({ ...about, key: 'frozen:test:bsc', code: 'payouts_frozen' });
    await database.alarms.raise({ ...about, code: 'payment_reversed' });
    await database.alarms.keep({ ...about, key: 'network:test:bsc', code: 'network_behind' });
    const alarmOf = async (sought: string) => {
      const alarm = (await database.alarms.list(50)).find((one) => one.code === sought);
      return { id: String(alarm?.id), isSilent: (alarm?.acknowledgedAtMs ?? alarm?.endedAtMs ?? null) !== null };
    };
    api.clock.advance(SUDO_MS);
    for (const sought of ['payouts_frozen', 'payment_reversed']) {
      const alarm = (await alarmOf(sought)).id;
      for (const confirmed of ['', 'yes']) {
        const { text } = await mary.submit(PATH, `${PATH}/acknowledge`, { alarm, confirmed });
        assert.match(text, 'name="code"', 'it is asked for');
      }
      assert.is((await alarmOf(sought)).isSilent, false, sought);
    }
    const { id: alarm } = await alarmOf('network_behind');
    assert.is((await mary.submit(PATH, `${PATH}/acknowledge`, { alarm })).status, 303);
    assert.is((await alarmOf('network_behind')).isSilent, true);

    const again = await person('Ida', { role: 'operator', storeId: null });
    const frozen = { alarm: (await alarmOf('payouts_frozen')).id, confirmed: 'yes' };
    assert.is((await again.submit(PATH, `${PATH}/acknowledge`, frozen)).status, 303, 'it was proved at the sign-in');
    assert.is((await alarmOf('payouts_frozen')).isSilent, true);
  }));

test.run();
