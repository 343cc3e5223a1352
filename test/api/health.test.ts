import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startApi } from '../support/api-server.ts';
import { exchange } from '../support/signed-client.ts';

const api = await startApi();
const ask = async (path: string) => {
  const { status, json } = await exchange('GET', api.baseUrl + path);
  return { status, json };
};

test('/livez is ok, whatever is missing', async () => {
  assert.equal(await ask('/livez'), { status: 200, json: { status: 'ok' } });
});

test('/readyz needs a followed network in every mode, and no stop under way', async () => {
  const missing = (...reasons: string[]) => ({ status: 503, json: { status: 'unavailable', reasons } });
  assert.equal(await ask('/readyz'), missing('no_network_followed:test', 'no_network_followed:live'));
  await api.chain('ethereum').report('following');
  await api.chain('bsc').report('fault');
  assert.equal(await ask('/readyz'), missing('no_network_followed:live'));
  await api.chain('ethereum', 'live').report('following');
  assert.equal(await ask('/readyz'), { status: 200, json: { status: 'ok' } });

  await api.chain('ethereum').report('fault');
  assert.equal(await ask('/readyz'), missing('no_network_followed:test'));
  await api.chain('bsc').report('following');
  assert.equal(await ask('/readyz'), { status: 200, json: { status: 'ok' } });

  // The last report of a follower that died still says that it follows.
  api.clock.advance(30_001);
  await api.chain('ethereum', 'live').report('following');
  assert.equal(await ask('/readyz'), missing('no_network_followed:test'));
  await api.chain('bsc').report('following');
  api.drain();
  assert.equal(await ask('/readyz'), missing('draining'));
  assert.is((await ask('/livez')).status, 200);
});

test.after(() => api.close());
test.run();
