/** A store's logo, uploaded in the dashboard as browsers without scripts do it: checked, shown, removed. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { LOGO_BYTES_MAX } from '../../src/dashboard/pages/store-logo.ts';
import { withDashboard } from '../support/dashboard.ts';

const png = (width: number, height: number): Buffer => {
  const head = Buffer.from('89504e470d0a1a0a0000000d494844520000000000000000080600000000000000', 'hex');
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(height, 20);
  return head;
};

test('a logo is uploaded by a form of the page, shown without running anything, and removed; only a small PNG is taken', () =>
  withDashboard(async ({ api, url, person }) => {
    const ada = await person('Ada', { role: 'owner', storeId: api.merchantId });
    const path = `/s/${api.merchantId}/test/settings`;
    const { text } = await ada.get(path);
    const form = text.slice(text.indexOf(`action="${path}/logo" enctype`));
    const hidden = [...form.matchAll(/<input type="hidden" name="([^"]*)"[^>]* value="([^"]*)"/g)].slice(0, 2);
    const upload = (bytes: Uint8Array, fields = hidden) => {
      const body = new FormData();
      for (const [, name = '', value = ''] of fields) body.append(name, name === 'once' ? `${Math.random()}` : value);
      body.append('logo', new Blob([Buffer.from(bytes)]), 'logo.png');
      const headers = { cookie: `quayside=${ada.cookie().replace(/^quayside=/, '')}`, 'sec-fetch-site': 'same-origin' };
      return fetch(`${url}${path}/logo`, { method: 'POST', body, headers, redirect: 'manual' });
    };
    const kept = async () => (await api.database().stores.findPageSettings(api.merchantId)).logo;
    for (const [bytes, why] of [
      [Buffer.concat([png(10, 10), Buffer.alloc(LOGO_BYTES_MAX)]), /at most 32 KiB/],
      [Buffer.alloc(3 * LOGO_BYTES_MAX, 'x'), /./],
      [Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), /has to be a PNG/],
      [png(4000, 10), /at most 2048 pixels/],
      [png(0, 10), /has to be a PNG/],
      [png(10, 10).subarray(0, 20), /has to be a PNG/],
      [Buffer.alloc(0), /Choose a file/],
    ] as const) {
      const answer = await upload(bytes);
      assert.is(answer.status, 400, String(why));
      assert.match((await answer.text()).replaceAll(/<\/?bdi>/g, ''), why);
    }
    assert.is((await upload(png(320, 80), [])).status, 403, 'a form without its token');
    assert.is(await kept(), null);

    assert.is((await upload(png(320, 80))).status, 303);
    const hash = await kept();
    assert.match((await ada.get(path)).text, `src="${path}/logo/${hash}"`);
    const { status, headers } = await ada.get(`${path}/logo/${hash}`);
    assert.equal([status, headers.get('content-type')], [200, 'image/png']);
    assert.match(headers.get('content-security-policy') ?? '', /default-src 'none';.*sandbox$/);
    assert.is((await ada.get(`${path}/logo/${'0'.repeat(64)}`)).status, 404);
    assert.is((await ada.submit(path, `${path}/logo/remove`)).status, 303);
    assert.is(await kept(), null);
    const acts = (await api.database().audit.list(9)).map(({ operator, command }) => [operator, command]);
    assert.equal(acts.slice(0, 2), [
      ['Ada (dashboard)', 'store remove logo'],
      ['Ada (dashboard)', 'store set logo'],
    ]);
  }));

test.run();
