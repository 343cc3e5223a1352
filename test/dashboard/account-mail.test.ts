/** A person's mail address in the dashboard, over real HTTP and a real mail server: asked, proved, and told. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openLog } from '../../src/lib/log.ts';
import { sendDueMails } from '../../src/notifications/mails.ts';
import { confirm, type Dashboard, withDashboard } from '../support/dashboard.ts';
import { mailSettings, startMailServer, subjectOf } from '../support/mail-server.ts';

const PATH = '/account/mail';
const address = 'ann@people.example';

test('an address is proved by the code that arrived; a new browser is told there', async () => {
  const server = await startMailServer();
  const mail = mailSettings(server);
  const deliver = ({ api }: Dashboard) =>
    sendDueMails({
      ...{ database: api.database(), mail, clock: api.clock, log: openLog('mail', 'silent'), sender: 'pay.example' },
      signal: new AbortController().signal,
    });
  const subjects = () => server.received.map(subjectOf);
  await withDashboard(
    async (dashboard) => {
      const { api } = dashboard;
      const ann = await dashboard.person('Ann', { role: 'owner', storeId: api.merchantId });
      assert.is((await ann.submit('/account', PATH, { address: 'Ann <ann@people.example>' })).status, 400);
      const review = await ann.submit('/account', PATH, { address });
      assert.match(review.text, `Send a code to ${address}?`);
      api.clock.advance(11 * 60_000);
      assert.is((await confirm(ann, PATH, review)).status, 403, 'without the second factor');
      assert.is((await confirm(ann, PATH, review, { code: dashboard.code(ann.token) })).status, 303);
      await deliver(dashboard);
      const [, code = ''] = /your code is (\d{8})$/.exec(subjects()[0] ?? '') ?? [];
      const wrong = await ann.submit('/account', `${PATH}/prove`, { proof: '0' });
      assert.equal([wrong.status, /not the code/.test(wrong.text)], [400, true]);
      assert.is(
        (await ann.submit('/account', `${PATH}/prove`, { proof: `${code.slice(0, 4)} ${code.slice(4)}` })).status,
        303,
      );
      assert.match((await ann.get('/account')).text, /ann@people\.example[\s\S]*proved/);

      api.clock.advance(31_000);
      const other = dashboard.visitor();
      const secrets = { name: 'Ann', password: 'correct horse battery staple', code: dashboard.code(ann.token) };
      assert.is((await other.post('/sign-in', secrets)).status, 303);
      await deliver(dashboard);
      assert.equal(subjects().slice(1), ['pay.example: Ann: a new browser signed in']);

      const removal = await ann.submit('/account', `${PATH}/remove`);
      assert.is((await confirm(ann, `${PATH}/remove`, removal)).status, 303);
      await deliver(dashboard);
      assert.equal(subjects().slice(2), ['pay.example: Ann: your mail address was removed']);
      const acts = (await api.database().listAudit(20)).map(({ command }) => command);
      for (const command of ['change mail address', 'prove mail address', 'remove mail address']) {
        assert.ok(acts.includes(command), command);
      }
      // No address is in the audit log, which is kept for ever.
      assert.not.match(JSON.stringify(await api.database().listAudit(50)), 'people.example');
    },
    { mail },
  );
  await server.close();
});

test('an installation without a mail server asks nobody', () =>
  withDashboard(async ({ api, person }) => {
    const ann = await person('Ann', { role: 'owner', storeId: api.merchantId });
    const { text } = await ann.get('/account');
    assert.match(text, 'has set no mail server');
    assert.not.match(text, `action="${PATH}"`);
  }));

test('a store says where answers to receipts go, and nothing else', () =>
  withDashboard(async ({ api, person }) => {
    const ada = await person('Ada', { role: 'owner', storeId: api.merchantId });
    const path = `/s/${api.merchantId}/test/store`;
    const refused = await ada.submit(path, `${path}/look`, { receipts: 'a@b.example, c@d.example' });
    assert.equal([refused.status, /is no mail address/.test(refused.text)], [400, true]);
    const review = await ada.submit(path, `${path}/look`, { receipts: 'help@shop.example' });
    assert.match(review.text, /answers go to <bdi[^>]*>help@shop\.example</);
    assert.is((await confirm(ada, `${path}/look`, review)).status, 303);
    assert.is((await api.database().findPageSettings(api.merchantId)).receiptsReplyTo, 'help@shop.example');
    const off = await ada.submit(path, `${path}/look`, { receipts: '' });
    await confirm(ada, `${path}/look`, off);
    assert.is((await api.database().findPageSettings(api.merchantId)).receiptsReplyTo, null);
  }));

test.run();
