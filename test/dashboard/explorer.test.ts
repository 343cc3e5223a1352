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

for (const isKnown of [true, false]) {
  test(`a payment and its refund ${isKnown ? 'link to the explorer' : 'have no links without an explorer'}`, () =>
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
        const store = `/s/${api.merchantId}/test`;
        const shown = await owner.get(`${store}/payments/${sale.id}`);
        assert.match(shown.text, `<code title="${payment?.tx}" data-copy>`);
        const linked = [
          [shown.text, `https://scan.example/tx/${payment?.tx}?cluster=devnet`],
          [(await owner.get(`${store}/refunds`)).text, `https://scan.example/address/${PAYEE}`],
          [(await owner.get(`${store}/refunds/${refund?.id}`)).text, `https://scan.example/address/${PAYEE}`],
        ] as const;
        for (const [text, href] of linked) {
          const link = `<a class="explorer" href="${href}" target="_blank" rel="noopener noreferrer" aria-label="In a block explorer`;
          assert.is(text.includes(link), isKnown, href);
          if (!isKnown) assert.not.match(text, 'class="explorer"');
        }
      },
      { pages: true, networks: isKnown ? known : usualNetworks },
    ));
}

test.run();
