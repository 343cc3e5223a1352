/** The frame of every HTML page, and the style that all begin with. */
import { readFileSync } from 'node:fs';
import { type Html, html } from '../lib/html.ts';

/** Colours as tokens, for light and dark, and what every page looks like. */
export const baseStyle = readFileSync(new URL('./base.css', import.meta.url), 'utf8');

/** How often a page without scripts reloads while something may still happen. */
export const RELOAD_S = 15;

export type Language = Readonly<{ code: string; direction: 'ltr' | 'rtl' }>;

/** Renders a whole document in one language. @param head what else its head has, such as its style sheet */
export const documentOf = ({ code, direction }: Language, title: string, head: Html, body: Html): string =>
  `<!doctype html>\n${
    html`<html lang="${code}" dir="${direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
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
