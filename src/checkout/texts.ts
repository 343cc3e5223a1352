/**
 * The texts of the page: one JSON file for each language, chosen by the payer or the browser.
 */
import { readLanguages, type Words as WordsOf } from '../lib/words.ts';
import type english from './texts/en.json';

export type TextKey = keyof typeof english;

/** One language. */
export type Words = WordsOf<TextKey>;

const languages = readLanguages<TextKey>(new URL('./texts/', import.meta.url));

/** All languages, for the switch. */
export const allWords: readonly Words[] = languages.all;

export const chooseWords = languages.choose;
