/** The operator's page of alarms: all that there were, and who is informed. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { SUDO_MS } from '../../src/dashboard/web-session.ts';
import { confirm, withDashboard } from '../support/dashboard.ts';
import { mailSettings, textOf as mailText, startMailServer } from '../support/mail-server.ts';
import { startMerchantServer } from '../support/merchant-server.ts';
import { alertOf, asksFactor, factsOf, fieldsOf, rowsOf } from '../support/read-page.ts';

const PATH = '/operator/alarms';
const NOTICES = '/operator/notices';

test('alarms are listed, the newest first, with how they are', () =>
  withDashboard(async ({ api, person }) => {
    const { alarms } = api.database();
    const mary = await person('Mary', { role: 'operator', storeId: null });
    const about = { message: 'look', network: null, sessionId: null, atMs: api.clock.nowMs() };
    for (const code of ['c0', 'c1']) await alarms.keep({ ...about, key: 'coin:x', code });
    await alarms.raise({ ...about, code: 'payment_reversed' });
    const shown = rowsOf((await mary.get(PATH)).text, 'Alarms').map(({ Alarm = '', State = '' }) =>
      [Alarm.split(' ')[1], State.split(' ')[0]].join(' '),
    );
    assert.equal(shown, ['payment_reversed event', 'c1 open', 'c0 over']);
  }));

test('an alarm is acknowledged with a note, one about money after the second factor; an event is over then', () =>
  withDashboard(async (dashboard) => {
    const { api, person } = dashboard;
    const database = api.database();
    const mary = await person('Mary', { role: 'operator', storeId: null });
    const about = { message: 'look', network: null, sessionId: null, atMs: api.clock.nowMs() };
    await database.alarms.keep({ ...about, key: 'frozen:test:bsc', code: 'payouts_frozen' });
    await database.alarms.raise({ ...about, code: 'payment_reversed' });
    await database.alarms.keep({ ...about, key: 'network:test:bsc', code: 'network_behind' });
    const alarmOf = async (sought: string) => {
      const alarm = (await database.alarms.list(50)).find((one) => one.code === sought);
      return { ...alarm, text: String(alarm?.id), isSilent: (alarm?.acknowledgedAtMs ?? null) !== null };
    };
    const acknowledge = async (code: string, more: Record<string, string>) =>
      mary.submit(PATH, `${PATH}/acknowledge`, { alarm: (await alarmOf(code)).text, ...more });

    assert.is(
      (await acknowledge('network_behind', { because: 'x'.repeat(201) })).status,
      400,
      'a note that is too long',
    );
    api.clock.advance(SUDO_MS);
    for (const code of ['payouts_frozen', 'payment_reversed']) {
      for (const confirmed of ['', 'yes']) {
        const { text } = await acknowledge(code, { confirmed });
        assert.ok(asksFactor(text), 'the second factor is asked for');
      }
      assert.is((await alarmOf(code)).isSilent, false, code);
    }
    assert.is((await acknowledge('network_behind', { because: ' The provider <b>knows</b> ' })).status, 303);
    const [entry] = await database.audit.list(1);
    assert.equal([entry?.command, entry?.reason], ['alarm acknowledge', 'The provider <b>knows</b>']);
    await database.alarms.end('network:test:bsc', api.clock.nowMs());
    const over = rowsOf((await mary.get(PATH)).text, 'Alarms').find(({ Alarm }) => Alarm?.includes('network_behind'));
    assert.match(over?.State ?? '', /^over until .* The provider &lt;b&gt;knows&lt;\/b&gt; Mary \(dashboard\)$/);

    const proof = { confirmed: 'yes', code: dashboard.code(mary.token) };
    assert.is((await acknowledge('payment_reversed', proof)).status, 303);
    assert.is((await acknowledge('payouts_frozen', { confirmed: 'yes' })).status, 303, 'it was proved just now');
    const [event, lasting] = [await alarmOf('payment_reversed'), await alarmOf('payouts_frozen')];
    assert.equal([event.endedAtMs, event.acknowledgedBy], [api.clock.nowMs(), 'Mary (dashboard)']);
    assert.equal({ endedAtMs: lasting.endedAtMs, isSilent: lasting.isSilent }, { endedAtMs: null, isSilent: true });
    assert.is((await mary.post(`${PATH}/acknowledge`, { alarm: '3' })).status, 403, 'without the form');
  }));

test('who is informed is added with the second factor, proved by the code that arrives, and removed', async () => {
  const mails = await startMailServer();
  let isKnown = true;
  const server = await startMerchantServer((response) =>
    isKnown ? response.end('ok') : response.writeHead(404).end('no such team'),
  );
  const url = `${server.origin}/services/T01/hidden-4711`;
  await withDashboard(
    async (dashboard) => {
      const { api } = dashboard;
      const { alarms: notices, audit } = api.database();
      const mary = await dashboard.person('Mary', { role: 'operator', storeId: null });
      const ask = (fields: Record<string, string>) => mary.submit(PATH, NOTICES, { name: 'on call', ...fields });
      const add = async (fields: Record<string, string>) => confirm(mary, NOTICES, await ask(fields));
      const states = async () =>
        rowsOf((await mary.get(PATH)).text, 'Who is informed about alarms').map((one) => one.State);
      const codeIn = (text: string): string => /Your code is (\d{6})/.exec(text)?.[1] ?? '';

      for (const [fields, said] of [
        [{ kind: 'slack' }, '“URL” is missing'],
        [{ kind: 'slack', url: 'nonsense' }, '“URL” cannot be used'],
        [{ kind: 'slack', url, name: ' ' }, '“What you call it” is missing'],
        [{ kind: 'telegram', token: '1:abc' }, '“To” is missing'],
      ] as const) {
        const { status, text } = await ask(fields);
        assert.equal([status, alertOf(text).startsWith(said), text.includes('hidden-4711')], [400, true, false], said);
      }
      isKnown = false;
      const refused = await add({ kind: 'slack', url, name: 'night watch' });
      assert.match(alertOf(refused.text), 'did not take it: 404 no such team');
      assert.is(fieldsOf(refused.text, NOTICES).name, 'night watch', 'the form comes back filled');
      assert.not.match(refused.text, 'hidden-4711');
      isKnown = true;
      assert.equal(await notices.listTargets(), []);

      api.clock.advance(SUDO_MS);
      const review = await ask({ kind: 'slack', url, severity: 'know' });
      const { Severities: told, 'Goes to': host } = factsOf(review.text);
      assert.equal({ told, host }, { told: 'page, act, know', host: new URL(url).host });
      const sent = server.received.length;
      assert.is((await confirm(mary, NOTICES, review)).status, 403);
      assert.equal([server.received.length, await notices.listTargets()], [sent, []], 'nothing is sent or saved yet');
      assert.is((await confirm(mary, NOTICES, review, { code: dashboard.code(mary.token) })).status, 303);
      const code = codeIn(JSON.parse(server.received.at(-1)?.body ?? '{}').text);
      const [added] = await notices.listTargets();
      assert.equal(await states(), ['waits for its code']);
      const prove = (id: string | undefined, proof: string) => mary.submit(PATH, `${NOTICES}/${id}/prove`, { proof });
      assert.is((await prove(added?.id, '000000')).status, 400);
      assert.is((await prove(added?.id, ` ${code} `)).status, 303);
      assert.equal(await states(), ['proved']);

      await add({ kind: 'email', to: 'night@shop.example' });
      const [mail] = mails.received;
      assert.equal(mail?.to, ['night@shop.example']);
      const byMail = (await notices.listTargets()).find(({ kind }) => kind === 'email');
      assert.is(byMail?.severity, 'act', 'what can wait is only for who asks');
      assert.is((await prove(byMail?.id, codeIn(mail ? mailText(mail) : ''))).status, 303);
      const shown = await add({ kind: 'webhook', url });
      assert.match(factsOf(shown.text).Secret ?? '', /^whsec_[\w+/=]+$/);
      assert.ok(server.received.at(-1)?.headers['x-service-signature']);
      assert.not.match((await mary.get(PATH)).text, /whsec_|hidden-4711/);
      await add({ kind: 'dead-man', url });
      assert.is(server.received.at(-1)?.method, 'GET');

      const removed = await mary.submit(PATH, `${NOTICES}/${added?.id}/remove`);
      assert.is((await confirm(mary, `${NOTICES}/${added?.id}/remove`, removed)).status, 303);
      assert.not.ok((await notices.listTargets()).some(({ id }) => id === added?.id));
      const entries = await audit.list(50);
      const own = entries.filter(({ target }) => target === added?.id).map(({ command }) => command);
      assert.equal(own, ['notify remove', 'notify prove', 'notify add']);
      assert.not.match(JSON.stringify(entries), 'hidden-4711');
      const [folder, name] = [dirname(api.file), basename(api.file)];
      const files = readdirSync(folder).filter((one) => one.startsWith(name));
      const bytes = files.map((one) => readFileSync(join(folder, one), 'latin1'));
      assert.not.match(bytes.join(''), 'hidden-4711', 'it is sealed in the file');
    },
    { mail: mailSettings(mails) },
  ).finally(() => Promise.all([server.close(), mails.close()]));
});

test.run();
