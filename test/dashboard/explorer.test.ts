/** Transactions and addresses: whole, to be copied, and with a link to a block explorer where the settings name one. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { explorerOf } from '../../src/dashboard/show.ts';
import { languages } from '../../src/dashboard/texts.ts';
import { usualNetworks } from '../support/api-server.ts';
import { withDashboard } from '../support/dashboard.ts';
import { PAYEE } from '../support/dashboard-pages.ts';
import { confirmTip, openSale } from '../support/payment-scenes.ts';

const explorer = 'https://scan.example/tx/{tx}?cluster=devnet';
const addressExplorer = 'https://scan.example/address/{address}';
const known = usualNetworks.map((one) => (one.key === 'test:ethereum' ? { ...one, explorer, addressExplorer } : one));

test('an explorer’s page has the text in its place, whatever the text is, and only where there is one', () => {
  const shown = (kind: 'tx' | 'address', text: string, network: 'test:ethereum' | 'test:bsc') =>
    explorerOf({ config: { networks: known }, words: languages.choose('en', undefined) }, { network, kind, text })
      ?.html;
  assert.match(shown('tx', '0xab', 'test:ethereum') ?? '', 'href="https://scan.example/tx/0xab?cluster=devnet"');
  assert.match(
    shown('address', 'a/../?b#$&', 'test:ethereum') ?? '',
    'href="https://scan.example/address/a%2F..%2F%3Fb%23%24%26"',
  );
  assert.is(shown('tx', '0xab', 'test:bsc'), undefined);
});

test('a payment and its refund link to the explorer', () =>
  withDashboard(
    async (dashboard) => {
      const { api } = dashboard;
      const sale = await openSale(api);
      await sale.send('10.50');
      await confirmTip(api);
      const metadata = { refund_address: PAYEE };
      const asked = { order_id: sale.id, refund_id: 'r-1', amount: '1.00', currency: 'USDT', metadata };
      assert.is((await api.send('POST', '/api/v1/refunds/create', asked)).status, 201);
      const [refund] = await api.database().refunds.list({ sessionId: sale.id, limit: 1 });
      const [payment] = (await api.database().sessions.find(sale.id))?.payments ?? [];
      const owner = await dashboard.person('Ada', { role: 'owner', storeId: api.merchantId });
      const linksOf = async (path: string) => {
        const { text } = await owner.get(`/s/${api.merchantId}/test/${path}`);
        return [...text.matchAll(/<a class="explorer" href="([^"]+)" target="_blank" rel="noopener noreferrer"/g)].map(
          ([, href]) => href,
        );
      };
      assert.ok(
        (await linksOf(`payments/${sale.id}`)).includes(`https://scan.example/tx/${payment?.tx}?cluster=devnet`),
      );
      for (const path of ['refunds', `refunds/${refund?.id}`]) {
        assert.equal(await linksOf(path), [`https://scan.example/address/${PAYEE}`], path);
      }
    },
    { pages: true, networks: known },
  ));

test.run();
