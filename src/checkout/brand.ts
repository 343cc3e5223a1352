/**
 * A store's name, logo and colour on the page. All of it is served from here and none of it can run: a logo is shown as
 * an image, and one that is opened directly may neither load nor run anything.
 */

import type { Router } from 'express';
import type { Database } from '../database/database.ts';
import { accentStyle, readAccent } from '../lib/accent.ts';
import { type Html, html } from '../lib/html.ts';
import { keepForever } from './assets.ts';
import type { PageModel } from './model.ts';
import { findSession } from './request.ts';

const ACCENT_AGE_S = 3600;
const LOGO_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'";

/** Renders the link to the style sheet of the store's colour, to follow the page's own. */
export const brandStyle = ({ settings: { accent } }: PageModel): Html | null =>
  accent === null ? null : html`<link rel="stylesheet" href="assets/accent/${accent.slice(1)}.css">`;

/** Renders the store's name for the page header. The logo has no alternative text because it repeats the name. */
export const brandName = ({ session, shop, settings: { logo } }: PageModel): Html =>
  html`<p class="shop">${logo && html`<img class="logo" src="${session.id}/logo/${logo}" alt="" height="40">`}<span>${shop}</span></p>`;

export function serveBrand(router: Router, database: Database): void {
  router.get('/pay/assets/accent/:name', (request, response) => {
    const accent = readAccent(`#${/^([0-9a-f]{6})\.css$/.exec(request.params.name)?.[1]}`);
    if (accent === null) response.status(404).end();
    // Not cached forever: a new version may compute other colours.
    else response.set('Cache-Control', `public, max-age=${ACCENT_AGE_S}`).type('css').send(accentStyle(accent));
  });
  router.get('/pay/:id/logo/:hash', async (request, response) => {
    const session = await findSession(database.sessions, request);
    const logo = session && (await database.stores.findLogo(session.storeId, request.params.hash));
    if (!logo) {
      response.status(404).end();
      return;
    }
    response.set('Content-Security-Policy', LOGO_POLICY);
    keepForever(response).set('Content-Type', 'image/png').send(Buffer.from(logo));
  });
}
