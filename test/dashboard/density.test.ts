/** How close together the rows of lists are: each person’s own choice. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withDashboard } from '../support/dashboard.ts';

const DENSE = '<main id="main" tabindex="-1" class="dense">';

test('lists are dense for whoever chose that, and for nobody else, until they choose otherwise', () =>
  withDashboard(async (dashboard) => {
    const { api } = dashboard;
    const [ada, ben] = [
      await dashboard.person('Ada', { role: 'owner', storeId: api.merchantId }),
      await dashboard.person('Ben', { role: 'owner', storeId: api.merchantId }),
    ];
    const list = `/s/${api.merchantId}/test/payments`;
    assert.not.match((await ada.get(list)).text, DENSE);
    assert.is((await ada.submit('/account', '/account/lists', { lists: 'dense' })).status, 303);
    assert.match((await ada.get(list)).text, DENSE);
    assert.match((await ada.get('/account')).text, 'value="dense" checked');
    assert.not.match((await ben.get(list)).text, DENSE);
    const [entry] = await api.database().listAudit(1);
    assert.equal(
      [entry?.command, entry?.operator, entry?.before, entry?.after],
      ['set density of lists', 'Ada (dashboard)', { denseLists: false }, { denseLists: true }],
    );
    await ada.submit('/account', '/account/lists', { lists: 'wide' });
    assert.not.match((await ada.get(list)).text, DENSE);
  }));

test.run();
