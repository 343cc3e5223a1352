/**
 * The button that asks the browser for a passkey, and sends its form with the answer. It is hidden until the script
 * finds that the browser can.
 * @module
 */
import { type Html, html } from '../lib/html.ts';

const FAILED = 'No passkey was used. Try again, or go on without one.';

/**
 * @param field the name of the form's field that gets the answer
 * @param asked what the browser is asked for, as `passkeys.ts` writes it
 */
export const passkeyButton = (field: string, text: string, asked: string): Html =>
  html`<div data-passkey="${asked}" data-failed="${FAILED}" hidden><input type="hidden" name="${field}" value="">
<button type="button" class="plain">${text}</button><p class="hint" role="status"></p></div>`;
