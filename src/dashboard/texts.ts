/**
 * The texts of the dashboard: one JSON file for each language. Pages of the operator have no texts, and are in English.
 * Sentences of acts are shown in the browser's language if they are translated, else in English.
 */

import type { Response } from 'express';
import { englishOf, type Sentence, textOf, type Value } from '../acts/act.ts';
import { filledProse, type Html, html } from '../lib/html.ts';
import { type Languages as LanguagesOf, readLanguages, type Words as WordsOf } from '../lib/words.ts';
import { copyCode, data, grouped, time } from '../web/show.ts';
import type spanish from './texts/es.json';

/** An English text; `<page>.<name>` where a part of the key says a value, or where English has several forms. */
export type TextKey = keyof typeof spanish;

/** One language. */
export type Words = WordsOf<TextKey>;

export type Languages = LanguagesOf<TextKey>;

/** The language of the operator's pages. */
export const OPERATOR_LANGUAGE = 'en';

export const languages: Languages = readLanguages(new URL('./texts/', import.meta.url));

/** Returns the language of an answer: that of the browser. */
export const wordsFor = (all: Languages, { req: request }: Response): Words => all.choose(null, request);

/** A sentence that is not translated, such as an operator's, is shown in English. */
const keyOf = (words: Words, english: string): TextKey | null => (words.knows(english) ? english : null);

/** Shows a sentence. */
export function sentence(words: Words, { english, values }: Sentence): Html {
  // A number stays one: it may choose the form of the text.
  const shown = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typeof value === 'number' ? value : shownValue(words, value)]),
  );
  const key = keyOf(words, english);
  if (key !== null) return words.html(key, shown);
  const text = filledProse(english, (name) => shown[name] ?? name);
  return words.code === 'en' ? text : html`<bdi lang="en">${text}</bdi>`;
}

/** Returns a sentence for places that take no HTML, such as a title. */
export function sentenceText(words: Words, { english, values }: Sentence): string {
  const key = keyOf(words, english);
  if (key === null) return englishOf({ english, values });
  return words.say(
    key,
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        typeof value === 'number'
          ? value
          : typeof value === 'object' && 'english' in value
            ? sentenceText(words, value)
            : textOf(value),
      ]),
    ),
  );
}

/** Shows a value of a fact. */
export function shownValue(words: Words, value: Value): Html {
  if (typeof value === 'number') return html`${value}`;
  if (typeof value === 'string') return data(value);
  if ('address' in value) return grouped(value.address);
  if ('code' in value) return copyCode(value.code);
  return 'english' in value ? sentence(words, value) : time(value.atMs);
}
