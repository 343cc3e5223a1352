import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startApi, withApi } from '../support/api-server.ts';
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
  /** The answer without the networks. */
  const ready = async () => {
    const { status, json } = await ask('/readyz');
    const { networks_not_followed: _, ...rest } = json as Record<string, unknown>;
    return { status, json: rest };
  };
  const missing = (...reasons: string[]) => ({ status: 503, json: { status: 'unavailable', reasons } });
  assert.equal(await ready(), missing('no_network_followed:test', 'no_network_followed:live'));
  await api.chain('ethereum').report('following');
  await api.chain('bsc').report('fault');
  assert.equal(await ready(), missing('no_network_followed:live'));
  await api.chain('ethereum', 'live').report('following');
  assert.equal(await ready(), { status: 200, json: { status: 'ok' } });

  await api.chain('ethereum').report('fault');
  assert.equal(await ready(), missing('no_network_followed:test'));
  await api.chain('bsc').report('following');
  assert.equal(await ready(), { status: 200, json: { status: 'ok' } });

  // The last report of a follower that died still says that it follows.
  api.clock.advance(30_001);
  await api.chain('ethereum', 'live').report('following');
  assert.equal(await ready(), missing('no_network_followed:test'));
  await api.chain('bsc').report('following');
  api.drain();
  assert.equal(await ready(), missing('draining'));
  assert.is((await ask('/livez')).status, 200);
});

test('/readyz names every network that is not followed, with the reason, also while it is ready', () =>
  withApi({ ready: false }, async (own) => {
    const unfollowed = async () => {
      const { json } = await exchange('GET', `${own.baseUrl}/readyz`);
      return (json as { networks_not_followed?: { network: string; reason: string }[] }).networks_not_followed;
    };
    assert.equal(await unfollowed(), [
      { network: 'test:ethereum', reason: 'not_started' },
      { network: 'test:bsc', reason: 'not_started' },
      { network: 'live:ethereum', reason: 'not_started' },
    ]);
    for (const header of ['X-Forwarded-For', 'Forwarded']) {
      const { json, status } = await exchange('GET', `${own.baseUrl}/readyz`, { [header]: '203.0.113.7' });
      assert.is(status, 503);
      assert.equal(Object.keys(json as object), ['status', 'reasons'], 'a stranger is shown no network');
    }
    await own.follow();
    assert.is(await unfollowed(), undefined);
    await own.chain('bsc').report('fault');
    assert.equal(await unfollowed(), [{ network: 'test:bsc', reason: 'node_silent' }]);
    own.clock.advance(30_001);
    await own.chain('ethereum').report('following');
    assert.equal(await unfollowed(), [
      { network: 'test:bsc', reason: 'indexer_silent' },
      { network: 'live:ethereum', reason: 'indexer_silent' },
    ]);
  }));

test.after(() => api.close());
test.run();
