/** Which passwords are refused. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Sentence } from '../../src/acts/act.ts';
import { createPasswords, whyWeak } from '../../src/dashboard/passwords.ts';
import { languages, sentenceText } from '../../src/dashboard/texts.ts';
import { createRandom } from '../support/random.ts';

const said = (why: Sentence | null) => why && sentenceText(languages.choose('en'), why);

test('common passwords are refused, in any case of letters and with a few digits or signs around them', () => {
  const common = ['1q2w3e4r5t6y', 'Q1W2E3R4T5Y6', 'justinbieber', 'sunshine2024!', '!!2024dragon', 'iloveyou1234'];
  for (const password of common)
    assert.match(said(whyWeak(password, 'Ada')) ?? '', 'Too many people have this password', password);
});

test('what is short, what repeats, what a keyboard has in a row, and names are refused; phrases are taken', () => {
  const weak = ['short', 'aaaaaaaaaaaaaaaa', '1234567890123', 'qwertyuiopasdf', 'adalovelace12', 'quaysidequayside'];
  for (const password of weak) assert.ok(whyWeak(password, 'Adalovelace'), password);
  for (const good of ['correct horse battery staple', 'zugvogel am kanal', '7k!wPz0q_3Lm', 'dragon kettle velvet'])
    assert.is(whyWeak(good, 'Ada'), null, good);
});

test('what was chosen at random is not taken for a common one', () => {
  const random = createRandom(41);
  const letters = 'abcdefghijkmnpqrstuvwxyz23456789';
  for (let one = 0; one < 3_000; one++) {
    const password = Array.from({ length: 14 }, () => letters[random.int(letters.length)]).join('');
    assert.is(whyWeak(password, 'Ada'), null, password);
  }
});

test('a right password waits its turn among many wrong ones; only a flood is refused', async () => {
  const passwords = createPasswords({ ln: 4, r: 8, p: 1 });
  const stored = await passwords.hash('correct horse battery');
  const wrong = Array.from({ length: 16 }, (_, nth) => passwords.isRight(`wrong ${nth}`, stored));
  const right = passwords.isRight('correct horse battery', stored);
  assert.is(await right, true);
  assert.equal(new Set(await Promise.all(wrong)), new Set([false]));
  const flood = await Promise.all(Array.from({ length: 100 }, () => passwords.isRight('wrong', stored)));
  assert.is(flood.filter((one) => one === null).length, 100 - 2 - 32);
  assert.is(await passwords.isRight('correct horse battery', stored), true, 'places are given back');
});

test.run();
