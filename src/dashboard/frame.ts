/**
 * The frame of the dashboard's pages: the document, who is signed in, and where one can go.
 * @module
 */
import { isAllowed, type Membership, type StorePermission } from '../core/access.ts';
import type { Mode } from '../core/transfer.ts';
import { type Html, html } from '../lib/html.ts';
import { timeIn } from '../lib/zone.ts';
import { SCRIPT_PATH, STYLE_PATH } from './assets.ts';

/** Renders a whole document. */
export const documentOf = (title: string, body: Html): string =>
  `<!doctype html>\n${
    html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="color-scheme" content="light dark">
<title>${title} · Quayside</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${STYLE_PATH}">
<script type="module" src="${SCRIPT_PATH}"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
${body}
</body>
</html>
`.html
  }`;

/** A store in the menu, with the modes whose payments the person may see. */
export type MenuStore = Readonly<{ id: string; name: string; modes: readonly Mode[] }>;

export type FrameOf = Readonly<{
  name: string;
  memberships: readonly Membership[];
  stores: readonly MenuStore[];
  /** The path of the page, which the menu marks. */
  path: string;
  /** The store and mode that the page is about. */
  at: Readonly<{ storeId: string; mode: Mode }> | null;
  /** In which times are shown. */
  zone: string;
  formToken: string;
  /** What a form that was taken says on the page after it. */
  notice: string | null;
}>;

/** Proves that a form was written for this session. */
export const formTokenField = (formToken: string): Html =>
  html`<input type="hidden" name="form_token" value="${formToken}">`;

/** The pages of a store and mode, beside its payments. */
const storePages: readonly (readonly [string, string, StorePermission])[] = [
  ['overview', 'Overview', 'payments:read'],
  ['refunds', 'Refunds', 'payments:read'],
  ['held', 'Held money', 'payments:read'],
  ['webhooks', 'Webhooks', 'webhooks:read'],
  ['developers', 'Developers', 'keys:manage'],
  ['store', 'Store', 'store:manage'],
  ['team', 'Team', 'store:manage'],
];

const operatorPages = [
  ['/operator', 'Overview'],
  ['/operator/stores', 'Stores'],
  ['/operator/networks', 'Networks'],
  ['/operator/wallets', 'Wallets'],
  ['/operator/payouts', 'Payouts'],
  ['/operator/operations', 'Operations'],
  ['/operator/sources', 'Pools, rates, proofs'],
  ['/operator/alarms', 'Alarms'],
  ['/operator/notices', 'Notices'],
  ['/operator/audit', 'Audit log'],
  ['/operator/settings', 'Settings'],
  ['/operator/people', 'People'],
] as const;

const link = (href: string, text: string, path: string): Html =>
  href === path
    ? html`<li><a href="${href}" aria-current="page">${text}</a></li>`
    : html`<li><a href="${href}">${text}</a></li>`;

/** The menu of the store and mode that the page is about. */
const pagesOf = (at: NonNullable<FrameOf['at']>, memberships: readonly Membership[], path: string): readonly Html[] =>
  storePages
    .filter(([, , permission]) => isAllowed(memberships, { permission, ...at }))
    .map(([page, text]) => link(`/s/${at.storeId}/${at.mode}/${page}`, text, path));

/** Renders a page of somebody who is signed in. */
export function framed(frame: FrameOf, title: string, content: Html): string {
  const { name, memberships, stores, path, at, zone, formToken, notice } = frame;
  const isOperator = memberships.some(({ role }) => role === 'operator');
  const menu = html`<nav aria-label="Pages">
${stores.map(
  (store) => html`<h2>${store.name}</h2>
<ul>${store.modes.map((mode) =>
    link(`/s/${store.id}/${mode}/payments`, mode === 'test' ? 'Test payments' : 'Payments', path),
  )}${at?.storeId === store.id ? pagesOf(at, memberships, path) : null}</ul>`,
)}
${isOperator ? html`<h2>Operator</h2><ul>${operatorPages.map(([href, text]) => link(href, text, path))}</ul>` : null}
<h2>${name}</h2>
<ul>${link('/account', 'My account', path)}${link('/stores/new', 'New store', path)}</ul>
<p class="hint">Times in ${zone}</p>
<form method="post" action="/sign-out">${formTokenField(formToken)}<button class="plain">Sign out</button></form>
</nav>`;
  const mode =
    at?.mode === 'test'
      ? html`<aside class="test-mode" aria-label="Mode">Test mode: no real money is shown on this page.</aside>`
      : null;
  const said = notice === null ? null : html`<p class="message good" role="status">${notice}</p>`;
  const page = documentOf(
    title,
    html`${mode}<div class="frame">${menu}<main id="main" tabindex="-1"><h1>${title}</h1>${said}${content}</main></div>`,
  );
  return inZone(page, zone);
}

/** Rewrites every time of a document, which `time` wrote in UTC, as the zone's clocks show it. */
const inZone = (page: string, zone: string): string =>
  page.replace(/<time datetime="([^"]+)">[^<]*/g, (_, iso: string) => {
    return `<time datetime="${iso}">${timeIn(zone, Date.parse(iso))}`;
  });
