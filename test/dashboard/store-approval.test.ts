/**
 * A store that waits for approval, over real HTTP and a real mail server: the operator is informed about it, and
 * its owner about the decision.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createUrlGuard } from '../../src/lib/guard.ts';
import { openLog } from '../../src/lib/log.ts';
import { createCourier } from '../../src/notifications/courier.ts';
import { sendDueMails } from '../../src/notifications/mails.ts';
import { createSend } from '../../src/notifications/post.ts';
import { confirm, type Dashboard, withDashboard } from '../support/dashboard.ts';
import { mailSettings, startMailServer, subjectOf, textOf } from '../support/mail-server.ts';

const by = (command: string) => ({ atMs: 0, operator: 'root', command, reason: null });
const PATH = '/operator/stores';

/** Who is informed about alarms by mail. */
async function addOperatorTarget({ api }: Dashboard, { server, from }: ReturnType<typeof mailSettings>): Promise<void> {
  await api.database().addNoticeTarget(
    {
      ...{
        id: 'nt_1',
        kind: 'email',
        name: 'on call',
        severities: ['page', 'act'],
        storeId: null,
        showsDetails: true,
        payments: false,
      },
      ...{ quiet: null, afterMinutes: 0, digestMinute: null, zone: 'UTC', code: '123456', createdAtMs: 0 },
      address: JSON.stringify({ ...server, from, to: 'operator@installation.example' }),
    },
    by('notify add'),
  );
  assert.is(await api.database().proveNoticeTarget('nt_1', '123456', by('notify prove')), 'proved');
}

async function proveAddress({ api }: Dashboard, personId: string, address: string): Promise<void> {
  const asked = { personId, address, code: '12345678', language: 'en' };
  const nowMs = api.clock.nowMs();
  await api.database().askPersonMail(asked, { ...by('change mail address'), atMs: nowMs });
  assert.is(await api.database().provePersonMail(personId, asked.code, by('prove mail address')), 'proved');
  for (const { id } of await api.database().dueMails(nowMs, 9)) {
    await api.database().settleMail(id, { kind: 'sent' }, nowMs);
  }
}

test('a mail tells the operator of a store that waits, and another its owner what was decided', async () => {
  const server = await startMailServer();
  const mail = mailSettings(server);
  const told = withDashboard(
    async (dashboard) => {
      const { api } = dashboard;
      const own = { clock: api.clock, log: openLog('mail', 'silent'), sender: 'pay.example' };
      const signal = new AbortController().signal;
      const send = createSend(createUrlGuard(['127.0.0.0/8']));
      const arrived = async () => {
        const before = server.received.length;
        const parts = { database: api.database(), ...own, signal };
        await createCourier({ ...parts, send }).look();
        await sendDueMails({ ...parts, mail });
        return server.received.slice(before).map((one) => ({ to: one.to, subject: subjectOf(one), text: textOf(one) }));
      };
      await addOperatorTarget(dashboard, mail);
      const mary = await dashboard.person('Mary', { role: 'operator', storeId: null });
      const ada = await dashboard.person('Ada', { role: 'support', storeId: api.merchantId });
      await proveAddress(dashboard, ada.id, 'ada@people.example');
      await api.database().setLanguage(ada.id, 'es', by('change language'));
      await api.database().setZone(ada.id, 'Asia/Tokyo', by('change zone'));

      const wish = { name: 'Tea & Co', channel: 'API', settlement: 'USDC' };
      const made = await confirm(ada, '/stores/new', await ada.submit('/stores/new', '/stores/new', wish));
      const storeId = (made.headers.get('location') ?? '').split('/')[2] ?? '';
      const asked = await arrived();
      assert.equal(
        asked.map(({ to, subject }) => [to, subject]),
        [[['operator@installation.example'], 'pay.example: store waiting (A-1)']],
      );
      assert.match(asked[0]?.text ?? '', `quayside store approve ${storeId}`);
      assert.not.match(asked[0]?.text ?? '', 'Tea');

      const refuse = `${PATH}/${storeId}/refuse`;
      await confirm(mary, refuse, await mary.submit(PATH, refuse, { because: 'sells nothing' }));
      const [refused] = await arrived();
      const approve = `${PATH}/${storeId}/approve`;
      await confirm(mary, approve, await mary.submit(PATH, approve));
      const [approved, ...more] = await arrived();
      assert.equal(more, []);
      assert.equal(
        [refused, approved].map((one) => [one?.to, one?.subject]),
        [
          [['ada@people.example'], 'pay.example: Ada: se rechazó la tienda Tea & Co'],
          [['ada@people.example'], 'pay.example: Ada: se aprobó la tienda Tea & Co'],
        ],
      );
      assert.match(refused?.text ?? '', /Asia\/Tokyo[\s\S]*El motivo: sells nothing/);
      assert.not.match(`${refused?.text}${approved?.text}`, /https?:|mer_|whsec_|sk_/);
      api.clock.advance(3 * 60_000);
      assert.equal(
        (await arrived()).map(({ subject }) => subject),
        ['pay.example: Over: store waiting (A-1)'],
      );
    },
    { mail },
  );
  await told.finally(server.close);
});

test.run();
