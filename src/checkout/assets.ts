/**
 * The static files of the page.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { RequestHandler, Response } from 'express';
import { baseStyle } from '../web/document.ts';
import { staticDocument } from '../web/static-document.ts';

/** URLs of the style sheet and the script, relative to the page. */
export type Assets = Readonly<{ style: string; script: string }>;

/** For files whose URL changes with their content. */
const AGE_S = 365 * 24 * 3600;
const files = new URL('./browser/', import.meta.url);
/** Runs in merchants' pages, not in this one, and has a URL of its own. */
export const EMBED = 'embed.js';
const STYLE = 'page.css';

export const hash = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 16);

const FOREVER = `public, max-age=${AGE_S}, immutable`;

export const keepForever = (response: Response): Response => response.set('Cache-Control', FOREVER);

export const readAsset = (name: string): string => readFileSync(new URL(name, files), 'utf8');

/** Loads all files of `browser/`. They share one folder, named by a hash of all, so that relative imports work. */
export function loadAssets(): Readonly<{
  assets: Assets;
  handlers: readonly { path: string; handler: RequestHandler }[];
}> {
  const loaded = readdirSync(files, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(css|js)$/.test(name) && name !== EMBED)
    .sort()
    .map((name) => ({ name, text: name === STYLE ? baseStyle + readAsset(name) : readAsset(name) }));
  const folder = `assets/${hash(JSON.stringify(loaded))}`;
  const handlers = loaded.map(({ name, text }) => {
    const handler: RequestHandler = staticDocument(() => text, name.endsWith('.css') ? 'css' : 'js', FOREVER);
    return { path: `${folder}/${name}`, handler };
  });
  return { assets: { style: `${folder}/${STYLE}`, script: `${folder}/live.js` }, handlers };
}
