/**
 * The texts of the page: one JSON file for each language, chosen by the payer or the browser.
 * @module
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { invariant } from '../core/fault.ts';
import type english from './texts/en.json';

export type TextKey = keyof typeof english;

/** One language. `say` fills in `{name}` placeholders; the page escapes the values. */
export type Words = Readonly<{
  code: string;
  direction: 'ltr' | 'rtl';
  say(key: TextKey, values?: Readonly<Record<string, string | number>>): string;
}>;

const FALLBACK = 'en';
const rightToLeft: readonly string[] = ['ar', 'fa', 'he', 'ur'];
const folder = new URL('./texts/', import.meta.url);

const languages: ReadonlyMap<string, Words> = new Map(
  readdirSync(folder)
    .map((file) => basename(file, '.json'))
    .sort()
    .map((code) => [code, readWords(code)]),
);

function readWords(code: string): Words {
  const texts = JSON.parse(readFileSync(new URL(`${code}.json`, folder), 'utf8')) as Record<TextKey, string>;
  return {
    code,
    direction: rightToLeft.includes(code) ? 'rtl' : 'ltr',
    say: (key, values = {}) =>
      texts[key].replace(/\{(\w+)\}/g, (_, name: string) => {
        invariant(Object.hasOwn(values, name), `text ${key} of ${code} is given {${name}}`);
        return String(values[name]);
      }),
  };
}

/** All languages, for the switch. */
export const allWords: readonly Words[] = [...languages.values()];

/**
 * Returns the language that was asked for, else the browser's first available one, else English.
 * @param asked a language code from the query
 * @param accepted the `Accept-Language` header (RFC 9110, 12.5.4)
 */
export function chooseWords(asked: string | null, accepted: string | undefined): Words {
  const codes = [asked ?? '', ...preferences(accepted ?? '')].map((code) => code.toLowerCase().split('-')[0] ?? '');
  const words = languages.get(codes.find((code) => languages.has(code)) ?? FALLBACK);
  invariant(words, `the fallback language ${FALLBACK} exists`);
  return words;
}

const PREFERENCES_MAX = 20;

/** Returns the language tags of the header, in order of preference. */
function preferences(header: string): string[] {
  return header
    .slice(0, 500)
    .split(',', PREFERENCES_MAX)
    .map((part) => {
      const [tag = '', ...parameters] = part.split(';').map((text) => text.trim());
      const quality = parameters.find((text) => text.startsWith('q='))?.slice(2);
      return { tag, weight: quality === undefined ? 1 : Number(quality) || 0 };
    })
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .map(({ tag }) => tag);
}
