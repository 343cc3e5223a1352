/** The page stays readable with any accent. */
import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { accentColours, accentStyle, contrast, readAccent, type Scheme } from '../../src/lib/accent.ts';

const AA = 4.5;
const surfaces: Readonly<Record<Scheme, readonly string[]>> = {
  light: ['#ffffff', '#f6f8fa', '#f3f5f8', '#e9edf2'],
  dark: ['#171e27', '#10161e', '#0e131a', '#232d39'],
};
/** The page's text colour, which is used on marked parts. */
const words: Readonly<Record<Scheme, string>> = { light: '#17202c', dark: '#e6ebf2' };

function isReadable(hex: string): void {
  for (const scheme of ['light', 'dark'] as const) {
    const { accent, text, soft, mark } = accentColours(hex, scheme);
    assert.ok(contrast(mark, words[scheme]) >= AA, `${hex} marks an address with ${mark} in ${scheme}`);
    for (const surface of [...surfaces[scheme], soft, text]) {
      assert.ok(contrast(accent, surface) >= AA, `${hex} becomes ${accent}, on ${surface} in ${scheme}`);
    }
  }
}

test('the contrast of known pairs', () => {
  assert.is(contrast('#000000', '#ffffff'), 21);
  assert.is(contrast('#777777', '#ffffff').toFixed(2), '4.48');
  assert.is(contrast('#123456', '#123456'), 1);
});

test('ugly colours are made readable', () => {
  for (const hex of ['#ffff00', '#ffffff', '#000000', '#ff0000', '#00ff00', '#0000ff', '#777777']) isReadable(hex);
});

test('any colour is made readable', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 0xffffff }), (value) => {
      isReadable(`#${value.toString(16).padStart(6, '0')}`);
    }),
  );
});

test('a readable colour is not changed', () => {
  assert.is(accentColours('#0b5cad', 'light').accent, '#0b5cad');
  assert.is(accentColours('#8cbff7', 'dark').accent, '#8cbff7');
});

test('a colour is six hexadecimal digits and nothing else', () => {
  assert.is(readAccent('#FF8800'), '#ff8800');
  for (const text of ['', 'red', '#fff', '#ff88001', 'ff8800', '#ff880g', '#ff8800;', ' #ff8800']) {
    assert.is(readAccent(text), null, text);
  }
});

test('the style sheet contains only colours', () => {
  assert.match(
    accentStyle('#ffff00'),
    /^:root\{(--[a-z-]+:#[0-9a-f]{6};?)+\}\n@media screen and \(prefers-color-scheme: dark\)\{/,
  );
});

test.run();
