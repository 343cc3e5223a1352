/** What people read by mail about their accounts: whole in every language of the dashboard. */
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { AccountEvent } from '../../src/core/person-mail.ts';
import { languages } from '../../src/dashboard/texts.ts';
import { accountMail } from '../../src/notifications/account-mail.ts';

const folder = new URL('../../src/notifications/texts/', import.meta.url);
const read = (code: string) =>
  JSON.parse(readFileSync(new URL(`${code}.json`, folder), 'utf8')) as Record<string, string>;
const codes = languages.all.map(({ code }) => code);
const places = (text = '') => [...new Set(text.match(/\{\w+\}/g))].sort();

const address = '203.0.113.7';
const events: readonly AccountEvent[] = [
  { kind: 'new_device', address },
  { kind: 'recovery_code_used', address },
  { kind: 'link_made' },
  { kind: 'secrets_set' },
  { kind: 'password_changed' },
  { kind: 'app_replaced' },
  { kind: 'recovery_codes_made' },
  { kind: 'passkey_added' },
  { kind: 'passkey_removed' },
  { kind: 'passkey_copied' },
  { kind: 'mail_changed' },
  { kind: 'mail_removed' },
  { kind: 'code', code: '12345678' },
  { kind: 'store_approved', store: 'Tea\r\n& Co' },
  { kind: 'store_refused', store: 'Tea\r\n& Co', reason: 'no shop' },
  { kind: 'member_added', store: 'Tea\r\n& Co', person: 'Ana', role: 'support', by: 'Mary (dashboard)' },
  { kind: 'operator_added', person: 'Ana', by: 'Mary (dashboard)' },
  { kind: 'key_made', store: 'Tea\r\n& Co', hint: 'sk_live_…aB3x', by: 'Mary (dashboard)' },
  { kind: 'key_revoked', store: 'Tea\r\n& Co', hint: 'sk_live_…aB3x', by: 'Mary (dashboard)' },
];
const news = { name: 'Ann', zone: null, atMs: Date.UTC(2027, 0, 1, 12) } as const;

test('the mails have the languages of the dashboard, each with every text and its placeholders', () => {
  assert.equal(readdirSync(folder).sort(), codes.map((code) => `${code}.json`).sort());
  const english = read('en');
  for (const code of codes) {
    const own = read(code);
    assert.equal(Object.keys(own), Object.keys(english), code);
    for (const [key, text] of Object.entries(own)) assert.equal(places(text), places(english[key]), `${code} ${key}`);
    // The pages are called as the menu calls them.
    assert.match(own.code_text ?? '', languages.choose(code, undefined).say('frame.account'), code);
    assert.match(own.store_approved_text ?? '', languages.choose(code, undefined).say('frame.developers'), code);
  }
});

for (const event of events) {
  test(`${event.kind} is told in each language, and nothing in it is a link`, () => {
    const written = codes.map((language) => accountMail({ ...news, language, event }));
    assert.is(new Set(written.map(({ text }) => text)).size, codes.length);
    for (const { subject, text } of written) {
      assert.match(subject, 'Ann');
      assert.match(text, /^2027-01-01 12:00:00 UTC\n\n/);
      assert.not.match(subject + text, /[{}]|https?:/);
      if ('address' in event) assert.match(text, address);
      if ('code' in event) assert.match(text, event.code);
      if ('store' in event) for (const part of [subject, text]) assert.match(part, 'Tea & Co');
      if ('by' in event) assert.match(text, event.by);
      if ('person' in event) assert.match(text, event.person);
      if ('hint' in event) assert.match(text, event.hint);
      if ('reason' in event) assert.match(text, event.reason);
    }
  });
}

test('who has chosen neither language nor zone reads English and UTC; a chosen zone is named', () => {
  const event = { kind: 'mail_removed' } as const;
  assert.is(accountMail({ ...news, language: null, event }).subject, 'Ann: your mail address was removed');
  assert.match(accountMail({ ...news, language: null, zone: 'Asia/Tokyo', event }).text, '21:00:00 Asia/Tokyo');
});

test.run();
