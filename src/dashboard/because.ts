/**
 * Why an operator does something, as the forms ask for it.
 * @module
 */
import { type Html, html } from '../lib/html.ts';
import type { Words } from './texts.ts';

export const BECAUSE_CHARS_MAX = 200;

/** Renders the field for the reason, which the audit log keeps. */
export const becauseField = (words: Words): Html =>
  html`<label>${words.say('change.because')} <input name="because" maxlength="${String(BECAUSE_CHARS_MAX)}" required></label>`;
