/** Which passwords are refused. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { whyWeak } from '../../src/dashboard/passwords.ts';
import { languages } from '../../src/dashboard/texts.ts';
import { createRandom } from '../../src/sandbox/random.ts';

const english = languages.choose('en', undefined);

for (const [password, why] of [
  ['1q2w3e4r5t6y', 'is common'],
  ['Q1W2E3R4T5Y6', 'is common in lower case'],
  ['justinbieber', 'is common'],
  ['sunshine2024!', 'a year and a sign after a common one'],
  ['!!2024dragon', 'the same before it'],
  ['iloveyou1234', 'digits after a common one'],
  ['sunshinesunshine', 'one twice'],
  ['purplemonkey', 'two of them'],
  ['purplemonkey99', 'two of them with digits'],
] as const) {
  test(`refused: ${password}: ${why}`, () => {
    assert.match(whyWeak(english, password, 'Ada') ?? '', 'Too many people have this password');
  });
}

for (const password of ['correct horse battery staple', 'zugvogel am kanal', '7k!wPz0q_3Lm', 'dragon kettle velvet']) {
  test(`taken: ${password}`, () => {
    assert.is(whyWeak(english, password, 'Ada'), null);
  });
}

test('what was chosen at random is not taken for a common one', () => {
  const random = createRandom(41);
  const letters = 'abcdefghijkmnpqrstuvwxyz23456789';
  for (let one = 0; one < 3_000; one++) {
    const password = Array.from({ length: 14 }, () => letters[random.int(letters.length)]).join('');
    assert.is(whyWeak(english, password, 'Ada'), null, password);
  }
});

test.run();
