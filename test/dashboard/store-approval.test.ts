/** A store that waits for approval, over real HTTP and a real mail server: the operator is informed about it. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createUrlGuard } from '../../src/lib/guard.ts';
import { openLog } from '../../src/lib/log.ts';
import { createCourier } from '../../src/notifications/courier.ts';
import { createSend } from '../../src/notifications/post.ts';
import { confirm, type Dashboard, withDashboard } from '../support/dashboard.ts';
import { mailSettings, startMailServer, subjectOf, textOf } from '../support/mail-server.ts';

const by = (command: string) => ({ atMs: 0, operator: 'root', command, reason: null });
const PATH = '/operator/stores';

/** Who is informed about alarms by mail. */
async function addOperatorTarget({ api }: Dashboard): Promise<void> {
  await api.database().notices.addTarget(
    {
      ...{ id: 'nt_1', kind: 'email', name: 'on call', severity: 'act', code: '123456', createdAtMs: 0 },
      address: JSON.stringify({ to: 'operator@installation.example' }),
    },
    by('notify add'),
  );
  assert.is(await api.database().notices.proveTarget('nt_1', '123456', by('notify prove')), 'proved');
}

test('a mail tells the operator of a store that waits, and of the decision', async () => {
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
        await createCourier({ ...parts, ways: { send, mail } }).look();
        return server.received.slice(before).map((one) => ({ to: one.to, subject: subjectOf(one), text: textOf(one) }));
      };
      await addOperatorTarget(dashboard);
      const mary = await dashboard.person('Mary', { role: 'operator', storeId: null });
      const ada = await dashboard.person('Ada', { role: 'staff', storeId: api.merchantId });

      const wish = { name: 'Tea & Co', settlement: 'USDC' };
      const made = await confirm(ada, '/stores/new', await ada.submit('/stores/new', '/stores/new', wish));
      const storeId = (made.headers.get('location') ?? '').split('/')[2] ?? '';
      const asked = await arrived();
      assert.equal(
        asked.map(({ to, subject }) => [to, subject]),
        [[['operator@installation.example'], 'pay.example: store waiting (A-1)']],
      );
      assert.match(asked[0]?.text ?? '', `quayside store decide ${storeId} approve`);
      assert.not.match(asked[0]?.text ?? '', 'Tea');

      const refuse = `${PATH}/${storeId}/refuse`;
      await confirm(mary, refuse, await mary.submit(PATH, refuse, { because: 'sells nothing' }));
      assert.is((await api.database().stores.find(storeId))?.refusal?.because, 'sells nothing');
      const approve = `${PATH}/${storeId}/approve`;
      await confirm(mary, approve, await mary.submit(PATH, approve));
      assert.is((await api.database().stores.find(storeId))?.status, 'approved');
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
