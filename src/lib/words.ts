/**
 * Texts in several languages: JSON files that are named after the languages, chosen by a person or their browser.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { invariant } from '../core/fault.ts';
import { filledProse, type Html, html } from './html.ts';

/** A text; or its forms by grammatical number (CLDR), of which the value `count` chooses one. */
export type Text = string | Readonly<Partial<Record<Intl.LDMLPluralRule, string>>>;

/** One language. */
export type Words<Key extends string> = Readonly<{
  code: string;
  direction: 'ltr' | 'rtl';
  /** Whether there is a text with this key. */
  knows(key: string): key is Key;
  /** Returns a text with its `{name}` placeholders filled in. It is escaped where it is shown. */
  say(key: Key, values?: Readonly<Record<string, string | number>>): string;
  /**
   * Returns a text as HTML: `backticks` are code, values that are not HTML are escaped and isolated from the direction
   * of the text around them.
   */
  html(key: Key, values?: Readonly<Record<string, Html | string | number>>): Html;
}>;

/** A request of express, which reads the `Accept-Language` header. */
type Browser = Readonly<{ acceptsLanguages(...codes: string[]): string | false }>;

export type Languages<Key extends string> = Readonly<{
  /** All languages, for a switch. */
  all: readonly Words<Key>[];
  /**
   * Returns the language that was asked for, else the browser's first available one, else English.
   * @param asked a language code, chosen by the person
   */
  choose(asked: string | null, browser?: Browser): Words<Key>;
}>;

const FALLBACK = 'en';
const rightToLeft: readonly string[] = ['ar', 'fa', 'he', 'ur'];

/**
 * Reads every language of a folder, each in a file `<code>.json`.
 * @throws when a file is no JSON
 */
export const readLanguages = <Key extends string>(folder: URL): Languages<Key> =>
  languagesOf(
    readdirSync(folder)
      .sort()
      .map((file) =>
        createWords<Key>(basename(file, '.json'), JSON.parse(readFileSync(new URL(file, folder), 'utf8'))),
      ),
  );

export function languagesOf<Key extends string>(all: readonly Words<Key>[]): Languages<Key> {
  const known = new Map(all.map((words) => [words.code, words]));
  return {
    all,
    choose(asked, browser) {
      const own = known.get(asked?.toLowerCase().split('-')[0] ?? '');
      const words = own ?? known.get(browser?.acceptsLanguages(FALLBACK, ...known.keys()) || FALLBACK);
      invariant(words, `the fallback language ${FALLBACK} exists`);
      return words;
    },
  };
}

/** Creates one language from its texts. A key that English lacks is its own text. */
export function createWords<Key extends string>(code: string, texts: Readonly<Record<string, Text>>): Words<Key> {
  const direction = rightToLeft.includes(code) ? 'rtl' : 'ltr';
  const plural = new Intl.PluralRules(code);
  const textOf = (key: Key, values: Readonly<Record<string, unknown>>): string => {
    const text = texts[key] ?? (code === FALLBACK ? key : undefined);
    const form = typeof text === 'object' ? (text[plural.select(Number(values.count))] ?? text.other) : text;
    invariant(form !== undefined, `${code} has the text ${key}`);
    return form;
  };
  const givenFor = <T>(key: Key, values: Readonly<Record<string, T>>, name: string): T => {
    invariant(Object.hasOwn(values, name), `text ${key} of ${code} is given {${name}}`);
    return values[name] as T;
  };
  // First-strong isolate and its end (Unicode UAX #9): a number or a name keeps its own direction.
  const isolated = (value: string | number) => (direction === 'rtl' ? `\u2068${value}\u2069` : String(value));
  return {
    code,
    direction,
    knows: (key): key is Key => Object.hasOwn(texts, key),
    say: (key, values = {}) =>
      textOf(key, values).replace(/\{(\w+)\}/g, (_, name: string) => isolated(givenFor(key, values, name))),
    html: (key, values = {}) =>
      filledProse(textOf(key, values), (name) => {
        const value = givenFor(key, values, name);
        return typeof value === 'object' ? value : html`<bdi>${value}</bdi>`;
      }),
  };
}
