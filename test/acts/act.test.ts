/** Properties of every act, and how its input is read and refused. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { defineAct, englishOf, faultOf, isRefusal, readInput, say, textOf } from '../../src/acts/act.ts';

const number = (text: string) => (/^\d+$/.test(text) ? Number(text) : say('"{text}" is no number', { text }));

const act = defineAct({
  name: 'thing count',
  summary: 'Count things.',
  needs: 'installation:manage',
  asks: 'nothing',
  fields: {
    count: { label: say('Count'), help: 'how many', isRequired: true, read: number },
    name: { label: say('Name'), help: 'what they are called' },
  },
  plan: async (_context, { count }) => ({ count }),
  review: () => ({ title: say('Count'), target: 't', button: say('Count') }),
  run: async () => ({ said: say('done'), json: {} }),
});

test('an input is read from texts, without the spaces around them', () => {
  assert.equal(readInput(act, { count: ' 7 ', name: 'x', other: 'ignored' }), { input: { count: 7, name: 'x' } });
});

test('a text that cannot be read is refused with its field, in a sentence with the text', () => {
  const refused = readInput(act, { count: 'many' });
  assert.ok(isRefusal(refused));
  assert.equal([refused.refusal, refused.field, englishOf(refused.because)], ['usage', 'count', '"many" is no number']);
  assert.is(faultOf(refused, (field) => `--${field}`).message, '--count: "many" is no number');
});

test('an input that is missing is refused', () => {
  const refused = readInput(act, {});
  assert.ok(isRefusal(refused));
  assert.is(refused.field, 'count');
});

test('a sentence is filled with data, times and sentences', () => {
  const filled = say('{key} works until {end}; it is {state}.', {
    key: 'sk_1',
    end: { atMs: Date.UTC(2026, 0, 2, 3, 4, 5) },
    state: say('new'),
  });
  assert.is(englishOf(filled), 'sk_1 works until 2026-01-02 03:04:05; it is new.');
  assert.is(textOf(12), '12');
});

test.run();
