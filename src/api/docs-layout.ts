/** The frame of the reference pages: contents on the left, folded on a phone, and the content. */
import { type Html, html } from '../lib/html.ts';

/** Returns a page. Without its script, there are no copy buttons, and nothing else is missing. */
export const layout = (title: string, contents: Html, main: Html): string =>
  `<!doctype html>${
    html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/style.css">
<script src="/docs/script.js" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<nav aria-label="Contents"><details><summary>Contents</summary>${contents}</details></nav>
<main id="main">${main}</main>
<p id="copied" class="unseen" role="status"></p>
</body>
</html>
`.html
  }`;

/** Returns links to the explanations of error codes. */
export const codeLinks = (codes: readonly string[]): Html =>
  html`${codes.map((code) => html`<a href="/docs/errors#${code}"><code>${code}</code></a> `)}`;
