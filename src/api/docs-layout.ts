/** The frame of the reference pages: contents on the left, folded on a phone, and the content. */
import { type Html, html } from '../lib/html.ts';
import { documentOf } from '../web/document.ts';

/** Returns a page. Without its script, there are no copy buttons, and nothing else is missing. */
export const layout = (title: string, contents: Html, main: Html): string =>
  documentOf(
    { code: 'en', direction: 'ltr' },
    title,
    html`<link rel="stylesheet" href="/docs/style.css">
<script src="/docs/script.js" defer></script>`,
    html`<a class="skip" href="#main">Skip to the content</a>
<nav aria-label="Contents"><details><summary>Contents</summary>${contents}</details></nav>
<main id="main">${main}</main>
<p id="copied" class="unseen" role="status"></p>`,
  );

/** Returns links to the explanations of error codes. */
export const codeLinks = (codes: readonly string[]): Html =>
  html`${codes.map((code) => html`<a href="/docs/errors#${code}"><code>${code}</code></a> `)}`;
