/** Notes about a payment, over real HTTP: for the store's people alone, in the audit log without their text. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { NOTE_CHARS_MAX, PAYMENT_NOTES_MAX } from '../../src/database/payment-notes.ts';
import { type Dashboard, withDashboard } from '../support/dashboard.ts';
import { openSale } from '../support/payment-scenes.ts';

const SECRET = 'Wants it gift-wrapped <b>& quiet';

const withSale = (
  work: (dashboard: Dashboard, sale: Awaited<ReturnType<typeof openSale>>, path: string) => Promise<void>,
) =>
  withDashboard(
    async (dashboard) => {
      const sale = await openSale(dashboard.api);
      await work(dashboard, sale, `/s/${dashboard.api.merchantId}/test/payments/${sale.id}`);
    },
    { pages: true },
  );

const member = ({ api, person }: Dashboard, name: string, role: 'owner' | 'staff' | 'accountant') =>
  person(name, { role, storeId: api.merchantId });

test('a note is written, seen by the team, and removed; the audit log has no text of it', () =>
  withSale(async (dashboard, sale, path) => {
    const { api } = dashboard;
    const sue = await member(dashboard, 'Sue', 'staff');
    const added = await sue.submit(path, `${path}/notes`, { note: `  ${SECRET} ` });
    assert.is(added.status, 303);
    const [note] = await api.database().sessions.listNotes(sale.id);
    assert.equal([note?.text, note?.author, note?.atMs], [SECRET, 'Sue (dashboard)', api.clock.nowMs()]);

    const amy = await member(dashboard, 'Amy', 'accountant');
    const shown = (await amy.get(path)).text;
    assert.match(shown, 'Wants it gift-wrapped &lt;b&gt;&amp; quiet');
    assert.match(shown, 'Sue (dashboard)');
    assert.not.match(shown, `${path}/notes`, 'an accountant writes and removes none');

    const removed = await sue.submit(path, `${path}/notes/${note?.id}/remove`);
    assert.is(removed.status, 303);
    assert.equal(await api.database().sessions.listNotes(sale.id), []);
    const acts = (await api.database().audit.list(9)).filter(({ target }) => target === sale.id);
    assert.equal(
      acts.map(({ operator, command, before, after }) => [operator, command, before?.note, after?.note]),
      [
        ['Sue (dashboard)', 'remove note', note?.id, undefined],
        ['Sue (dashboard)', 'add note', undefined, note?.id],
      ],
    );
    assert.not.match(JSON.stringify(acts), 'gift-wrapped');
  }));

test('neither the payer, the API nor another store sees a note, or removes it', () =>
  withSale(async (dashboard, sale, path) => {
    const { api } = dashboard;
    const ada = await member(dashboard, 'Ada', 'owner');
    await ada.submit(path, `${path}/notes`, { note: SECRET });
    const answers = [
      (await api.send('GET', `/api/v1/checkout/sessions/${sale.id}`)).text,
      (await api.send('GET', '/api/v1/events')).text,
      await (await fetch(`${api.baseUrl}${sale.path}`)).text(),
      await (await fetch(`${api.baseUrl}${sale.payerPath}`)).text(),
      (await ada.get(`/s/${api.merchantId}/test/payments.csv`)).text,
      (await ada.get(`/s/${api.merchantId}/test/payments`)).text,
    ];
    for (const text of answers) assert.ok(text !== '' && !text.includes('gift-wrapped'), text.slice(0, 200));

    const [note] = await api.database().sessions.listNotes(sale.id);
    const other = await openSale(api);
    const page = await ada.get(path);
    const fields = [...page.text.matchAll(/<input type="hidden" name="(form_token|once)" value="([^"]*)"/g)];
    const own = Object.fromEntries(fields.map(([, name, value]) => [name, value]));
    const elsewhere = `/s/${api.merchantId}/test/payments/${other.id}/notes/${note?.id}/remove`;
    assert.is((await ada.post(elsewhere, own)).status, 404, 'a note of another payment');
    const eve = await dashboard.person('Eve', { role: 'owner', storeId: await api.addMerchant() });
    assert.is((await eve.post(`${path}/notes`, { note: 'x' })).status, 404);
    assert.is((await api.database().sessions.listNotes(sale.id)).length, 1);
  }));

test('what is no note is refused and stays in the form, and their number is bounded', () =>
  withSale(async (dashboard, sale, path) => {
    const ada = await member(dashboard, 'Ada', 'owner');
    assert.is((await ada.submit(path, `${path}/notes`, { note: ' ' })).status, 400);
    const long = 'x'.repeat(NOTE_CHARS_MAX + 1);
    const refused = await ada.submit(path, `${path}/notes`, { note: long });
    assert.equal([refused.status, refused.text.includes(`>${long}</textarea>`)], [400, true]);
    for (let at = 0; at < PAYMENT_NOTES_MAX; at++)
      assert.is((await ada.submit(path, `${path}/notes`, { note: `${at} ${'y'.repeat(490)}` })).status, 303);
    const full = await ada.submit(path, `${path}/notes`, { note: 'one more' });
    assert.match(full.text, `at most ${PAYMENT_NOTES_MAX} notes`);
    assert.is((await dashboard.api.database().sessions.listNotes(sale.id)).length, PAYMENT_NOTES_MAX);
    assert.ok((await ada.get(path)).text.length < 60_000, 'the page keeps its size');
  }));

test.run();
