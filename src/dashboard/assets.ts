/**
 * The dashboard's style sheet and its script. Their URLs change with their content.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { baseStyle } from '../web/document.ts';

export const styleSheet = baseStyle + readFileSync(new URL('./browser/dashboard.css', import.meta.url), 'utf8');

/** Passkeys need a script. With one, copying is easier, no session ends unseen, and a key leads to the search box. */
export const script = ['passkeys', 'copy', 'session-end', 'find']
  .map((name) => readFileSync(new URL(`./browser/${name}.js`, import.meta.url), 'utf8'))
  .join('\n');

const hash = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 16);

export const STYLE_PATH = `/assets/${hash(styleSheet)}.css`;
export const SCRIPT_PATH = `/assets/${hash(script)}.js`;
