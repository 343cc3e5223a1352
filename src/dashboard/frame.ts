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
import { ago } from '../web/show.ts';
import { SCRIPT_PATH, STYLE_PATH } from './assets.ts';
import { SEARCHED_CHARS_MAX } from './search.ts';
import { type Languages, OPERATOR_LANGUAGE, type TextKey, type Words, wordsFor } from './texts.ts';

/** Renders a whole document of the dashboard. */
export const documentOf = (words: Words, title: string, body: Html): string =>
  pageOf(
    words,
    `${title} · Quayside`,
    html`<link rel="stylesheet" href="${STYLE_PATH}">
<script type="module" src="${SCRIPT_PATH}"></script>`,
    html`<a class="skip" href="#main">${words.say('Skip to the content')}</a>
${body}`,
  );

/** A store in the menu. */
export type MenuStore = Readonly<{ id: string; name: string }>;

const modes: readonly Mode[] = ['live', 'test'];

type FrameOf = Readonly<{
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
  nowMs: number;
  formToken: string;
  /** How long the session lasts without use, and at most, from now on. */
  endsIn: Readonly<{ idleMs: number; leftMs: number }>;
  /** The message after a form that was accepted. */
  notice: string | null;
}>;

/** Proves that a form was written for this session. */
export const formTokenField = (formToken: string): Html =>
  html`<input type="hidden" name="form_token" value="${formToken}">`;

/** The pages of a store and mode. */
const storePages = [
  ['overview', 'Overview', 'payments:read', 'home'],
  ['payments', 'Payments', 'payments:read', 'coins'],
  ['refunds', 'Refunds', 'payments:read', 'back'],
  ['webhooks', 'Webhooks', 'webhooks:read', 'hook'],
  ['developers', 'API keys', 'keys:manage', 'key'],
  ['settings', 'Settings', 'store:manage', 'gear'],
] as const satisfies readonly (readonly [string, TextKey, StorePermission, Icon])[];

/** The pages about the installation, which are in English. */
const operatorPages = [
  ['/operator', 'Installation', 'home'],
  ['/operator/alarms', 'Alarms', 'alarm'],
  ['/operator/money', 'Money out', 'wallet'],
  ['/operator/stores', 'Stores and people', 'store'],
  ['/operator/audit', 'Audit log', 'list'],
] as const satisfies readonly (readonly [string, string, Icon])[];

type Entry = Readonly<{ href: string; text: string; name: Icon }>;

/** Returns the pages of the menu: those of the store and mode, those of the operator, and the person's own. */
function menuOf({ words, memberships, at }: Pick<FrameOf, 'words' | 'memberships' | 'at'>) {
  const ofStore =
    at === null ? [] : storePages.filter(([, , permission]) => isAllowed(memberships, { permission, ...at }));
  const store = ofStore.map(
    ([page, title, , name]): Entry => ({ href: `/s/${at?.storeId}/${at?.mode}/${page}`, text: words.say(title), name }),
  );
  const isOperator = memberships.some(({ role }) => role === 'operator');
  const operator = (isOperator ? operatorPages : []).map(([href, text, name]): Entry => ({ href, text, name }));
  const own: readonly Entry[] = [
    { href: '/account', text: words.say('My account'), name: 'person' },
    { href: '/stores/new', text: words.say('New store'), name: 'plus' },
  ];
  return { store, operator, own };
}

/** Returns the path of the menu's page that a text names, in the language of the page or in English; null for none. */
export function pageNamed(languages: Languages, text: string, from: Parameters<typeof menuOf>[0]): string | null {
  const name = text.trim().toLowerCase();
  const english = { ...from, words: languages.choose(OPERATOR_LANGUAGE) };
  const entries = [from, english].flatMap((one) => Object.values(menuOf(one)).flat());
  return entries.find((entry) => entry.text.toLowerCase() === name)?.href ?? null;
}

const linksTo = (entries: readonly Entry[], path: string): readonly Html[] =>
  entries.map(
    ({ href, text, name }) =>
      html`<li><a href="${href}"${href === path ? html` aria-current="page"` : null}>${icon(name)} ${text}</a></li>`,
  );

/** Renders the search box, which takes the names of the menu's pages too. */
function searchBox({ words, memberships, at }: FrameOf, pages: ReturnType<typeof menuOf>): Html {
  const isSearched = at !== null && isAllowed(memberships, { permission: 'payments:read', ...at });
  const action = isSearched ? `/s/${at.storeId}/${at.mode}/payments` : '/';
  const hint = words.say(isSearched ? 'Order, session, transaction, address, refund or event' : 'Pages');
  return html`<form class="search-bar" role="search" action="${action}"><input type="search" name="q" list="pages" maxlength="${SEARCHED_CHARS_MAX}" autocomplete="off" spellcheck="false" aria-label="${words.say('Find')}" placeholder="${hint}"><button class="plain">${words.say('Find')}</button>
<datalist id="pages">${Object.values(pages).flatMap((entries) => entries.map(({ text }) => html`<option value="${text}">`))}</datalist></form>`;
}

/** Links to the modes of a store: to the same page, or to the list that it is of, where the page is about one thing. */
function modesOf({ words, path, at }: FrameOf, store: MenuStore): Html {
  const isHere = at?.storeId === store.id;
  const page = isHere ? (path.split('/')[4] ?? '') : '';
  const target = storePages.find(([name]) => name === page)?.[0] ?? 'overview';
  return html`<ul class="modes" aria-label="${words.say('Mode')}">${modes.map((mode) => {
    const isCurrent = isHere && at.mode === mode;
    return html`<li><a href="/s/${store.id}/${mode}/${target}"${isCurrent ? html` aria-current="true"` : null}>${words.say(`frame.mode_${mode}`)}</a></li>`;
  })}</ul>`;
}

/** Renders a page of somebody who is signed in. */
export function framed(frame: FrameOf, title: string, content: Html): string {
  const { words, name, stores, path, at, zone, formToken, endsIn, notice } = frame;
  const pages = menuOf(frame);
  const own = stores.find(({ id }) => id === at?.storeId);
  // Where there is little room, the button opens the menu, without scripts; elsewhere the menu is always there.
  const bar = html`<header class="bar"><button type="button" class="plain" popovertarget="menu">${words.say('Pages')}</button>${own === undefined ? null : html`<bdi>${own.name}</bdi>${modesOf(frame, own)}`}</header>`;
  const menu = html`<nav class="menu" id="menu" popover aria-label="${words.say('Pages')}">
<p class="brand">${icon('quay')} <bdi>Quayside</bdi></p>
${stores.map(
  (store) => html`<h2><bdi>${store.name}</bdi></h2>
${modesOf(frame, store)}${at?.storeId === store.id ? html`<ul>${linksTo(pages.store, path)}</ul>` : null}`,
)}
${pages.operator.length > 0 ? html`<h2>${words.say('Operator')}</h2><ul lang="en" dir="ltr">${linksTo(pages.operator, path)}</ul>` : null}
<h2><bdi>${name}</bdi></h2>
<ul>${linksTo(pages.own, path)}</ul>
<p class="hint">${words.html('Times in {zone}', { zone })}<br>${words.say('Signed out after {minutes} minutes without use', { minutes: Math.round(endsIn.idleMs / 60_000) })}</p>
<form method="post" action="/sign-out">${formTokenField(formToken)}<button class="plain">${words.say('Sign out')}</button></form>
</nav>`;
  const mode =
    at?.mode === 'test'
      ? html`<aside class="test-mode" aria-label="${words.say('Mode')}">${words.say('Test mode: no real money is shown on this page.')}</aside>`
      : null;
  const said = notice === null ? null : html`<p class="message good" role="status">${notice}</p>`;
  const page = documentOf(
    words,
    title,
    html`${mode}${bar}${sessionEnd(words, endsIn)}<div class="frame">${menu}<main id="main" tabindex="-1">${searchBox(frame, pages)}<h1>${title}</h1>${said}${content}${copyWords(words)}</main></div>`,
  );
  return inZone(frame, page);
}

const DAY_MS = 86_400_000;

/**
 * Rewrites every time of a document, which `time` wrote in UTC, as the zone's clocks show it. A cell of a list that
 * begins with a time of the last day says how long ago that was, and has the exact time as its title.
 */
const inZone = ({ words, zone, nowMs }: FrameOf, page: string): string =>
  page.replace(/(<td[^>]*>)?<time datetime="([^"]+)">[^<]*/g, (_, cell: string | undefined, iso: string) => {
    const atMs = Date.parse(iso);
    const exact = timeIn(zone, atMs);
    const isRecent = cell !== undefined && atMs <= nowMs && nowMs - atMs < DAY_MS;
    const shown = isRecent ? ` title="${exact}">${ago(words, atMs, nowMs).html}` : `>${exact}`;
    return `${cell ?? ''}<time datetime="${iso}"${shown}`;
  });

/** The script's warning before the session ends. */
const sessionEnd = (words: Words, { idleMs, leftMs }: FrameOf['endsIn']): Html =>
  html`<div class="session-end" id="session-end" role="alert" aria-label="${words.say('End of the session')}" data-idle="${idleMs}" data-left="${leftMs}" hidden>
<p data-when="idle">${words.say('You will be signed out within three minutes, and what you have typed on this page would be lost.')}</p><p data-when="last">${words.say('You will be signed out within three minutes, because a session lasts one working day. Send what you are typing now, or copy it.')}</p><p data-when="over">${words.say('You are signed out, or will be with the next click. Copy what you have typed on this page before you go on.')}</p>
<button type="button" data-when="idle">${words.say('Stay signed in')}</button></div>`;

/** The words of the script's buttons, and the place where they announce. */
export const copyWords = (words: Words): Html =>
  html`<p class="unseen" id="copied" aria-live="polite" data-copying="${words.say('Copy')}" data-done="${words.say('Copied')}" data-failed="${words.say('Not copied: select it, and copy it yourself')}"></p>`;

type Refused = 400 | 403 | 404 | 429 | 500 | 503;

/** Answers with a page of one sentence, which says what to do next, and nothing about who is signed in. */
export function refuse(
  languages: Languages,
  response: Response,
  status: Refused,
  ...message: Parameters<Words['html']>
): void {
  const words = wordsFor(languages, response);
  const title = words.say(`refusal.title_${status}`);
  const body = html`<main id="main" class="narrow"><h1>${title}</h1><p>${words.html(...message)}</p><p><a href="/">${words.say('Back to the dashboard')}</a></p></main>`;
  response
    .status(status)
    .type('html')
    .send(documentOf(words, title, body));
}
