/** Adding somebody who is informed about alarms, over real HTTP: the code arrives and is typed, secrets are sealed. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { confirm, type Dashboard, type Visitor, withDashboard } from '../support/dashboard.ts';
import { mailSettings, startMailServer, textOf } from '../support/mail-server.ts';
import { type Answer as Answering, type MerchantServer, startMerchantServer } from '../support/merchant-server.ts';

const LIST = '/operator/alarms';
const PATH = '/operator/notices';
const HIDDEN = 'services/T01/hidden-4711';

type World = { dashboard: Dashboard; mary: Visitor & { token: string }; server: MerchantServer; url: string };

/** An operator, and a service that answers. */
const withService = (
  work: (world: World) => Promise<void>,
  answer: Answering = (response) => response.end('ok'),
  options: Parameters<typeof withDashboard>[1] = {},
) =>
  withDashboard(async (dashboard) => {
    const server = await startMerchantServer(answer);
    const mary = await dashboard.person('Mary', { role: 'operator', storeId: null });
    await work({ dashboard, mary, server, url: `${server.origin}/${HIDDEN}` });
    await server.close();
  }, options);

const ask = (mary: Visitor, kind: string, fields: Record<string, string>) =>
  mary.submit(LIST, `${PATH}/${kind}`, { name: 'on call', ...fields });

const codeIn = (text: string): string => /Your code is (\d{6})/.exec(text)?.[1] ?? '';
const targets = ({ api }: Dashboard) => api.database().notices.listTargets();

test('a code arrives after a confirmation with the second factor, and what was typed proves the target', () =>
  withService(async ({ dashboard, mary, server, url }) => {
    assert.match((await mary.get(LIST)).text, 'name="url" type="password"');
    dashboard.api.clock.advance(11 * 60_000);
    const review = await ask(mary, 'slack', { url, severity: 'know' });
    assert.match(review.text.replaceAll(/<[^>]+>/g, ''), 'page, act, know');
    assert.match(review.text, 'Send a code to on call?');
    assert.match(review.text, new URL(url).host);
    assert.is((await confirm(mary, `${PATH}/slack`, review)).status, 403);
    assert.equal([server.received.length, await targets(dashboard)], [0, []], 'nothing is sent or saved yet');

    const done = await confirm(mary, `${PATH}/slack`, review, { code: dashboard.code(mary.token) });
    assert.is(done.headers.get('location')?.split('?')[0], LIST, done.text);
    const [request] = server.received;
    assert.is(request?.path, `/${HIDDEN}`);
    const code = codeIn(JSON.parse(request?.body ?? '{}').text);
    const [added] = await targets(dashboard);
    assert.equal([added?.severity, added?.provedAtMs], ['know', null]);
    const list = await mary.get(LIST);
    assert.match(list.text, 'waits for its code');
    assert.not.match(list.text, 'hidden-4711');
    const prove = (proof: string) => mary.submit(LIST, `${PATH}/${added?.id}/prove`, { proof });
    assert.equal([(await prove('000000')).status, (await targets(dashboard))[0]?.provedAtMs], [400, null]);
    assert.is((await prove(` ${code} `)).status, 303);
    assert.is((await targets(dashboard))[0]?.provedAtMs, dashboard.api.clock.nowMs());

    const entries = await dashboard.api.database().audit.list(50);
    assert.equal(
      entries.filter(({ target }) => target === added?.id).map(({ operator, command }) => [operator, command]),
      [
        ['Mary (dashboard)', 'notify prove'],
        ['Mary (dashboard)', 'notify add'],
      ],
    );
    assert.not.match(JSON.stringify(entries), 'hidden-4711');
    const { file } = dashboard.api;
    const bytes = readdirSync(dirname(file))
      .filter((name) => name.startsWith(basename(file)))
      .map((name) => readFileSync(join(dirname(file), name), 'latin1'));
    assert.not.match(bytes.join(''), 'hidden-4711', 'it is sealed in the file');
  }));

test('what the service refuses is not saved; the form comes back filled, without the secret', () =>
  withService(
    async ({ dashboard, mary, url }) => {
      const review = await ask(mary, 'slack', { url, name: 'night watch' });
      const refused = await confirm(mary, `${PATH}/slack`, review);
      assert.is(refused.status, 400);
      assert.match(refused.text.replaceAll(/<[^>]+>/g, ''), /did not take it: 404 no such team/);
      assert.match(refused.text, 'value="night watch"');
      assert.not.match(refused.text, 'hidden-4711');
      assert.equal(await targets(dashboard), []);
      assert.not.ok((await dashboard.api.database().audit.list(9)).some(({ command }) => command === 'notify add'));
    },
    (response) => response.writeHead(404).end('no such team'),
  ));

test('what is wrong is named in the form, and changes nothing', () =>
  withService(async ({ dashboard, mary, server, url }) => {
    const cases: readonly (readonly [string, Record<string, string>, string | RegExp])[] = [
      ['slack', {}, /“URL of the incoming webhook” is missing/],
      ['slack', { url: 'nonsense' }, /“URL of the incoming webhook” cannot be used/],
      ['slack', { url, name: ' ' }, '“What you call it” is missing'],
      ['telegram', { token: '1:abc' }, /“Id of the chat, .*” is missing/],
      ['telegram', { token: 'no token', to: '1' }, /“Token of the bot, .*” cannot be used/],
      ['ntfy', { url: 'https://ntfy.sh' }, /“URL of the topic, .*” cannot be used/],
      ['email', { to: 'x@y.example' }, /“To which address” cannot be used: the settings have no `mail`/],
    ];
    for (const [kind, fields, said] of cases) {
      const answer = await ask(mary, kind, fields);
      assert.is(answer.status, 400, `${kind} ${JSON.stringify(fields)}`);
      assert.match(answer.text.replaceAll(/<[^>]+>/g, ''), said);
      assert.not.match(answer.text, 'hidden-4711');
    }
    assert.equal([server.received.length, await targets(dashboard)], [0, []]);
  }));

test('a code by e-mail, a webhook’s secret shown once, and a URL that is proved by its answer', async () => {
  const mails = await startMailServer();
  await withService(
    async ({ dashboard, mary, server, url }) => {
      const review = await ask(mary, 'email', { to: 'night@shop.example' });
      assert.match(review.text, 'night@shop.example');
      await confirm(mary, `${PATH}/email`, review);
      const [mail] = mails.received;
      assert.equal(mail?.to, ['night@shop.example']);
      const [byMail] = await targets(dashboard);
      assert.is(byMail?.severity, 'act', 'what can wait is only for who asks');
      const proof = codeIn(mail ? textOf(mail) : '');
      assert.is((await mary.submit(LIST, `${PATH}/${byMail?.id}/prove`, { proof })).status, 303);

      const shown = await confirm(mary, `${PATH}/webhook`, await ask(mary, 'webhook', { url }));
      const [secret = ''] = /whsec_[\w+/=]+/.exec(shown.text) ?? [];
      assert.ok(secret !== '' && shown.headers.get('cache-control') === 'no-store');
      assert.ok(server.received.at(-1)?.headers['x-service-signature']);
      assert.not.match((await mary.get(LIST)).text, 'whsec_');
      await confirm(mary, `${PATH}/dead-man`, await ask(mary, 'dead-man', { url }));
      assert.is(server.received.at(-1)?.method, 'GET');
      const all = await targets(dashboard);
      assert.equal(all.map(({ kind, provedAtMs }) => [kind, provedAtMs !== null]).sort(), [
        ['dead-man', true],
        ['email', true],
        ['webhook', false],
      ]);
    },
    (response) => response.end('ok'),
    { mail: mailSettings(mails) },
  );
  await mails.close();
});

test.run();
