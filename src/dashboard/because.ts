/**
 * Why an operator does something, as the forms ask for it.
 */
import { REASON_CHARS_MAX } from '../acts/act.ts';
import { type Html, html } from '../lib/html.ts';
import type { Words } from './texts.ts';

/** Renders the field for the reason, which the audit log keeps. */
export const becauseField = (words: Words): Html =>
  html`<label>${words.say('change.because')} <input name="because" maxlength="${String(REASON_CHARS_MAX)}" required></label>`;
