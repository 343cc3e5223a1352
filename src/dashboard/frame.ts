/**
 * The frame of the dashboard's pages: the document, who is signed in, and where one can go.
 */
import type { Response } from 'express';
import { isAllowed, type Membership, type StorePermission } from '../core/access.ts';
import type { Mode } from '../core/transfer.ts';
import { type Html, html } from '../lib/html.ts';
import { timeIn } from '../lib/zone.ts';
import { documentOf as pageOf } from '../web/document.ts';
import { type Icon, icon } from '../web/icon.ts';
import { SCRIPT_PATH, STYLE_PATH } from './assets.ts';
import { SEARCHED_CHARS_MAX } from './search.ts';
import type { Languages, TextKey, Words } from './texts.ts';

/** Renders a whole document of the dashboard. */
export const documentOf = (words: Words, title: string, body: Html): string =>
  pageOf(
    words,
    `${title} · Quayside`,
    html`<link rel="stylesheet" href="${STYLE_PATH}">
<script type="module" src="${SCRIPT_PATH}"></script>`,
    html`<a class="skip" href="#main">${words.say('frame.skip')}</a>
${body}`,
  );

/** A store in the menu. */
export type MenuStore = Readonly<{ id: string; name: string }>;

const modes: readonly Mode[] = ['live', 'test'];

export type FrameOf = Readonly<{
  words: Words;
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
  /** How long the session lasts without use, and at most, from now on. */
  endsIn: Readonly<{ idleMs: number; leftMs: number }>;
  /** What a form that was taken says on the page after it. */
  notice: string | null;
}>;

/** Proves that a form was written for this session. */
export const formTokenField = (formToken: string): Html =>
  html`<input type="hidden" name="form_token" value="${formToken}">`;

/** The pages of a store and mode. */
const storePages = [
  ['overview', 'payments:read', 'home'],
  ['payments', 'payments:read', 'coins'],
  ['refunds', 'payments:read', 'back'],
  ['webhooks', 'webhooks:read', 'hook'],
  ['developers', 'keys:manage', 'key'],
  ['settings', 'store:manage', 'gear'],
] as const satisfies readonly (readonly [string, StorePermission, Icon])[];

/** The pages about the installation, which are in English. */
const operatorPages = [
  ['/operator', 'Installation', 'home'],
  ['/operator/alarms', 'Alarms', 'alarm'],
  ['/operator/money', 'Money out', 'wallet'],
  ['/operator/stores', 'Stores and people', 'store'],
  ['/operator/audit', 'Audit log', 'list'],
  ['/operator/system', 'System', 'gear'],
] as const satisfies readonly (readonly [string, string, Icon])[];

const link = (href: string, text: string, path: string, name: Icon): Html =>
  html`<li><a href="${href}"${href === path ? html` aria-current="page"` : null}>${icon(name)} ${text}</a></li>`;

/** The menu of the store and mode that the page is about. */
const pagesOf = ({ words, memberships, path }: FrameOf, at: NonNullable<FrameOf['at']>): readonly Html[] =>
  storePages
    .filter(([, permission]) => isAllowed(memberships, { permission, ...at }))
    .map(([page, , name]) => link(`/s/${at.storeId}/${at.mode}/${page}`, words.say(`frame.${page}`), path, name));

/** Links to the modes of a store: to the same page, or to the list that it is of, where the page is about one thing. */
function modesOf({ words, path, at }: FrameOf, store: MenuStore): Html {
  const isHere = at?.storeId === store.id;
  const page = isHere ? (path.split('/')[4] ?? '') : '';
  const target = storePages.find(([name]) => name === page)?.[0] ?? 'overview';
  return html`<ul class="modes" aria-label="${words.say('frame.mode')}">${modes.map((mode) => {
    const isCurrent = isHere && at.mode === mode;
    return html`<li><a href="/s/${store.id}/${mode}/${target}"${isCurrent ? html` aria-current="true"` : null}>${words.say(`frame.mode_${mode}`)}</a></li>`;
  })}</ul>`;
}

/** Renders a page of somebody who is signed in. */
export function framed(frame: FrameOf, title: string, content: Html): string {
  const { words, name, memberships, stores, path, at, zone, formToken, endsIn, notice } = frame;
  const to = (href: string, key: TextKey, name: Icon): Html => link(href, words.say(key), path, name);
  const isOperator = memberships.some(({ role }) => role === 'operator');
  const own = stores.find(({ id }) => id === at?.storeId);
  // Where there is little room, the button opens the menu, without scripts; elsewhere the menu is always there.
  const bar = html`<header class="bar"><button type="button" class="plain" popovertarget="menu">${words.say('frame.menu')}</button>${own === undefined ? null : html`<bdi>${own.name}</bdi>${modesOf(frame, own)}`}</header>`;
  const menu = html`<nav class="menu" id="menu" popover aria-label="${words.say('frame.menu')}">
<p class="brand">${icon('quay')} <bdi>Quayside</bdi></p>
${stores.map(
  (store) => html`<h2><bdi>${store.name}</bdi></h2>
${modesOf(frame, store)}${at?.storeId === store.id ? html`<ul>${pagesOf(frame, at)}</ul>` : null}`,
)}
${isOperator ? html`<h2>${words.say('frame.operator')}</h2><ul lang="en" dir="ltr">${operatorPages.map(([href, text, name]) => link(href, text, path, name))}</ul>` : null}
<h2><bdi>${name}</bdi></h2>
<ul>${to('/account', 'frame.account', 'person')}${to('/stores/new', 'frame.new_store', 'plus')}</ul>
<p class="hint">${words.html('frame.zone', { zone })}<br>${words.say('frame.session', { minutes: Math.round(endsIn.idleMs / 60_000) })}</p>
<form method="post" action="/sign-out">${formTokenField(formToken)}<button class="plain">${words.say('frame.sign_out')}</button></form>
</nav>`;
  const list = at && `/s/${at.storeId}/${at.mode}/payments`;
  const search =
    at && path !== list && isAllowed(memberships, { permission: 'payments:read', ...at })
      ? html`<form class="search-bar" role="search" action="${list}"><input type="search" name="q" maxlength="${SEARCHED_CHARS_MAX}" autocomplete="off" spellcheck="false" aria-label="${words.say('frame.search')}" placeholder="${words.say('frame.search')}"><button class="plain">${words.say('payments.find')}</button></form>`
      : null;
  const mode =
    at?.mode === 'test'
      ? html`<aside class="test-mode" aria-label="${words.say('frame.mode')}">${words.say('frame.test_mode')}</aside>`
      : null;
  const said = notice === null ? null : html`<p class="message good" role="status">${notice}</p>`;
  const page = documentOf(
    words,
    title,
    html`${mode}${bar}${sessionEnd(words, endsIn)}<div class="frame">${menu}<main id="main" tabindex="-1"><h1>${title}</h1>${said}${content}${copyWords(words)}</main></div>${search}`,
  );
  return inZone(page, zone);
}

/** Rewrites every time of a document, which `time` wrote in UTC, as the zone's clocks show it. */
const inZone = (page: string, zone: string): string =>
  page.replace(/<time datetime="([^"]+)">[^<]*/g, (_, iso: string) => {
    return `<time datetime="${iso}">${timeIn(zone, Date.parse(iso))}`;
  });

/** What the script shows before the session ends. */
const sessionEnd = (words: Words, { idleMs, leftMs }: FrameOf['endsIn']): Html =>
  html`<div class="session-end" id="session-end" role="alert" aria-label="${words.say('frame.session_end')}" data-idle="${idleMs}" data-left="${leftMs}" hidden>
<p data-when="idle">${words.say('frame.end_idle')}</p><p data-when="last">${words.say('frame.end_last')}</p><p data-when="over">${words.say('frame.end_over')}</p>
<button type="button" data-when="idle">${words.say('frame.stay')}</button></div>`;

/** What the script's buttons say, and where they announce it. */
export const copyWords = (words: Words): Html =>
  html`<p class="unseen" id="copied" aria-live="polite" data-copying="${words.say('general.copy')}" data-done="${words.say('general.copied')}" data-failed="${words.say('general.not_copied')}"></p>`;

/** Links to the same page in the other languages, for who is not signed in. @param more what else the address says */
export const languageSwitch = (languages: Languages, own: Words, more: Readonly<Record<string, string>> = {}): Html =>
  html`<nav class="languages" aria-label="${own.say('frame.languages')}">${languages.all.map((words) => {
    const name = words.say('frame.language');
    return words.code === own.code
      ? html`<span lang="${words.code}" aria-current="true">${name}</span>`
      : html`<a href="?${new URLSearchParams({ lang: words.code, ...more }).toString()}" lang="${words.code}" hreflang="${words.code}">${name}</a>`;
  })}</nav>`;

type Refused = 400 | 403 | 404 | 429 | 500 | 503;

/** Answers with a page of one sentence, which says what to do next, and nothing about who is signed in. */
export function refuse(words: Words, response: Response, status: Refused, message: string | Html): void {
  const title = words.say(`refusal.title_${status}`);
  const body = html`<main id="main" class="narrow"><h1>${title}</h1><p>${message}</p><p><a href="/">${words.say('refusal.back')}</a></p></main>`;
  response
    .status(status)
    .type('html')
    .send(documentOf(words, title, body));
}
