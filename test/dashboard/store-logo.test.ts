/** A store's logo, uploaded in the dashboard as browsers without scripts do it: checked, shown, removed. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { LOGO_BYTES_MAX } from '../../src/dashboard/logo.ts';
import { type Dashboard, type Visitor, withDashboard } from '../support/dashboard.ts';

const svg =
  '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="40"><circle cx="20" cy="20" r="20" fill="#0b6e5f"/></svg>';

type Shop = Dashboard &
  Readonly<{ path: string; ada: Visitor; upload(bytes: Uint8Array, name?: string): Promise<Response> }>;

const withShop = (work: (shop: Shop) => Promise<void>) =>
  withDashboard(async (dashboard) => {
    const { api, url } = dashboard;
    const ada = await dashboard.person('Ada', { role: 'owner', storeId: api.merchantId });
    const path = `/s/${api.merchantId}/test/settings`;
    const upload = async (bytes: Uint8Array, name = 'logo.svg') => {
      const { text } = await ada.get(path);
      const own = text.slice(text.indexOf(`action="${path}/logo" enctype`));
      const body = new FormData();
      for (const [, field = '', value = ''] of own.matchAll(
        /<input type="hidden" name="([^"]*)"[^>]* value="([^"]*)"/g,
      )) {
        if (!body.has(field)) body.append(field, value);
      }
      body.append('logo', new Blob([bytes]), name);
      const headers = { cookie: `quayside=${ada.cookie().replace(/^quayside=/, '')}`, 'sec-fetch-site': 'same-origin' };
      return fetch(`${url}${path}/logo`, { method: 'POST', body, headers, redirect: 'manual' });
    };
    await work({ ...dashboard, path, ada, upload });
  });

test('a logo is uploaded, shown by itself without running anything, and removed', () =>
  withShop(async ({ api, ada, path, upload }) => {
    const saved = await upload(Buffer.from(svg));
    assert.is(saved.status, 303, await saved.text());
    const { logo } = await api.database().stores.findPageSettings(api.merchantId);
    assert.is(logo?.type, 'svg');
    assert.match((await ada.get(path)).text, `src="${path}/logo/${logo?.hash}"`);
    const shown = await ada.get(`${path}/logo/${logo?.hash}`);
    assert.equal([shown.status, shown.text], [200, svg]);
    assert.equal(shown.headers.get('content-type'), 'image/svg+xml');
    assert.match(shown.headers.get('content-security-policy') ?? '', /default-src 'none';.*sandbox$/);
    assert.is((await ada.get(`${path}/logo/${'0'.repeat(64)}`)).status, 404);
    assert.is((await ada.submit(path, `${path}/logo/remove`)).status, 303);
    assert.is((await api.database().stores.findPageSettings(api.merchantId)).logo, null);
    const acts = (await api.database().audit.list(9)).map(({ operator, command }) => [operator, command]);
    assert.equal(acts.slice(0, 2), [
      ['Ada (dashboard)', 'remove logo'],
      ['Ada (dashboard)', 'set logo'],
    ]);
  }));

test('what is too large, no picture, or could run something is refused with the reason', () =>
  withShop(async ({ api, upload }) => {
    const refused: readonly (readonly [Uint8Array, RegExp])[] = [
      [Buffer.alloc(LOGO_BYTES_MAX + 1, 'x'), /bytes, more than the 32768 allowed/],
      [Buffer.from('GIF89a'), /neither a PNG nor an SVG/],
      [Buffer.from(svg.replace('<circle', '<script>1</script><circle')), /contains a script/],
      [Buffer.alloc(0), /Choose a file/],
    ];
    for (const [bytes, why] of refused) {
      const answer = await upload(bytes);
      assert.is(answer.status, 400);
      assert.match(await answer.text(), why);
    }
    assert.is((await upload(Buffer.alloc(3 * LOGO_BYTES_MAX, 'x'))).status, 400, 'larger than any form');
    assert.is((await api.database().stores.findPageSettings(api.merchantId)).logo, null);
  }));

test('a form without its token sets no logo', () =>
  withShop(async ({ url, ada, path }) => {
    const body = new FormData();
    body.append('logo', new Blob([svg]), 'logo.svg');
    const headers = { cookie: `quayside=${ada.cookie().replace(/^quayside=/, '')}`, 'sec-fetch-site': 'same-origin' };
    const answer = await fetch(`${url}${path}/logo`, { method: 'POST', body, headers, redirect: 'manual' });
    assert.is(answer.status, 403);
  }));

test.run();
