/**
 * The frame of every HTML page for payers.
 */
import { type Html, html } from '../lib/html.ts';
import type { Words } from './texts.ts';

/** How often a page without scripts reloads while something may still happen. */
export const RELOAD_S = 15;

/** Renders a whole document in one language. */
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
