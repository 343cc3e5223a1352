/** Texts in several languages: which one somebody gets, and what is filled into them. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { html } from '../../src/lib/html.ts';
import { createWords, languagesOf } from '../../src/lib/words.ts';

test('values of HTML texts are escaped and isolated, and code is code', () => {
  const words = createWords<'a'>('en', { a: 'Run `quayside pay {id}` <now>, {name}' });
  assert.is(
    words.html('a', { id: '<1>', name: html`<b>x</b>` }).html,
    'Run <code>quayside pay <bdi>&lt;1&gt;</bdi></code> &lt;now&gt;, <b>x</b>',
  );
  assert.is(words.html('a', { id: '`a`{name}', name: '' }).html.match(/<code>/g)?.length, 1, 'a value is no text');
  assert.throws(() => words.html('a', { id: 1 }), /is given \{name\}/);
});

test('plain values are isolated where the text runs from right to left', () => {
  const texts = { a: 'x {amount}' };
  assert.is(createWords<'a'>('en', texts).say('a', { amount: '4.50 USDT' }), 'x 4.50 USDT');
  assert.is(createWords<'a'>('ar', texts).say('a', { amount: '4.50 USDT' }), 'x \u20684.50 USDT\u2069');
});

test('a count chooses its form by the rules of the language', () => {
  const forms = { one: '{count} платёж', few: '{count} платежа', many: '{count} платежей', other: '{count} платежа' };
  const words = createWords<'a'>('ru', { a: forms });
  const said = [1, 2, 5, 11, 21].map((count) => words.say('a', { count }));
  assert.equal(said, ['1 платёж', '2 платежа', '5 платежей', '11 платежей', '21 платёж']);
});

test('the language that was asked for comes before the browser’s, and English is the last', () => {
  const all = languagesOf(['en', 'ru'].map((code) => createWords<never>(code, {})));
  const browser = { acceptsLanguages: (...codes: string[]) => codes.at(-1) ?? false };
  assert.is(all.choose('RU-ru').code, 'ru');
  assert.is(all.choose('en', browser).code, 'en');
  assert.is(all.choose('xx', browser).code, 'ru');
  assert.is(all.choose(null, { acceptsLanguages: () => false }).code, 'en');
  assert.is(all.choose(null).code, 'en');
});

test.run();
