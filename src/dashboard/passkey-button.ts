/**
 * The button that asks the browser for a passkey, and sends its form with the answer. It is hidden until the script
 * finds that the browser can.
 */
import { type Html, html } from '../lib/html.ts';
import type { Words } from './texts.ts';

/** `field`: of the form, which gets the answer. `asked`: what the browser is asked for, as `passkeys.ts` writes it. */
type Button = Readonly<{ field: string; text: string; asked: string }>;

export const passkeyButton = (words: Words, { field, text, asked }: Button): Html =>
  html`<div data-passkey="${asked}" data-failed="${words.say('passkeys.failed')}" hidden><input type="hidden" name="${field}" value="">
<button type="button" class="plain">${text}</button><p class="hint" role="status"></p></div>`;
