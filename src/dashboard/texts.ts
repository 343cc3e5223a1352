/**
 * The texts of the dashboard: one JSON file for each language. Pages of the operator have no texts, and are in English.
 */
import type { Response } from 'express';
import { queryOf } from '../lib/form.ts';
import { type Languages as LanguagesOf, readLanguages, type Words as WordsOf } from '../lib/words.ts';
import type spanish from './texts/es.json';

/** An English text; `<page>.<name>` where a part of the key says a value, or where English has several forms. */
export type TextKey = keyof typeof spanish;

/** One language. */
export type Words = WordsOf<TextKey>;

export type Languages = LanguagesOf<TextKey>;

/** The language of the operator's pages. */
export const OPERATOR_LANGUAGE = 'en';

export const languages: Languages = readLanguages(new URL('./texts/', import.meta.url));

/** Remembers for the answer to this request which language its person has chosen. */
export const setLanguage = (response: Response, code: string | null): void => {
  response.locals.language = code;
};

/** Returns the language of an answer: the person's own, else the one that the address names, else the browser's. */
export function wordsFor(all: Languages, response: Response): Words {
  const { req: request, locals } = response;
  const own = typeof locals.language === 'string' ? locals.language : null;
  return all.choose(own ?? queryOf(request).get('lang'), request.get('Accept-Language'));
}

/** Returns the language that the address names; null if it names none, or one that there is not. */
export function chosenLanguage(all: Languages, { req: request }: Response): string | null {
  const code = queryOf(request).get('lang');
  return all.all.some((words) => words.code === code) ? code : null;
}
