/**
 * What every page for payers begins and ends with.
 * @module
 */
import { type Html, html } from '../lib/html.ts';
import type { Words } from './texts.ts';

/** How often a page without scripts loads itself again while something may happen. */
export const RELOAD_S = 15;

/** A whole document in one language. */
export const documentOf = (words: Words, title: string, head: Html, body: Html): string =>
  `<!doctype html>\n${
    html`<html lang="${words.code}" dir="${words.direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="data:,">
${head}
</head>
<body>
${body}
</body>
</html>
`.html
  }`;
