/**
 * The dashboard as an express application of its own, with its own listener: no route of the API or of the payment page
 * is reachable through it, and no API key opens it.
 */
import express, { type ErrorRequestHandler, type Express, type Request, type Response } from 'express';
import { Fault } from '../core/fault.ts';
import { queryOf, readForm } from '../lib/form.ts';
import { html } from '../lib/html.ts';
import { writeParts } from '../lib/parts.ts';
import { createAddressLimiter } from '../lib/rate-limit.ts';
import { BodyError } from '../lib/request-body.ts';
import { UTC } from '../lib/zone.ts';
import { createNotices } from '../web/notice.ts';
import { contentPolicy, protect } from '../web/policy.ts';
import { staticDocument } from '../web/static-document.ts';
import { SCRIPT_PATH, STYLE_PATH, script, styleSheet } from './assets.ts';
import type { DashboardDeps, SignInDeps } from './deps.ts';
import { framed, type MenuStore, refuse } from './frame.ts';
import { type FileReply, isOperatorPage, isStorePage, may, type Page, type Reply, type StoreAt } from './page.ts';
import { dashboardPages } from './pages.ts';
import { onlyOwnForms, onlyOwnName } from './policy.ts';
import { FORM_OUT_OF_DATE, serveSignIn } from './sign-in.ts';
import { OPERATOR_LANGUAGE, type Words, wordsFor } from './texts.ts';
import { createWebSessions, isFormToken, sessionLimits, type Visitor } from './web-session.ts';

const FORM_BYTES_MAX = 16_384;
const SUBSCRIBERS_MAX = 10_000;
const PAGES_BURST_S = 3;
const STALLED_MS_MAX = 60_000;

const ownHeaders = {
  'Content-Security-Policy': contentPolicy({}),
  'X-Robots-Tag': 'noindex, nofollow',
  'Cache-Control': 'no-store',
};

/** Creates the application. It opens no port and starts no timer. */
export function createDashboard(deps: DashboardDeps): Express {
  const isHttps = deps.url.startsWith('https:');
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.set('query parser', false);
  app.set('trust proxy', deps.config.trustedProxies);
  // With the payment page's `no-referrer`, Chrome posts forms with `Origin: null`.
  app.use(...protect({ isHttps, referrer: 'same-origin', headers: ownHeaders }), onlyOwnName(deps.url));
  const forever = 'public, max-age=31536000, immutable';
  app.get(
    STYLE_PATH,
    staticDocument(() => styleSheet, 'css', forever),
  );
  app.get(
    SCRIPT_PATH,
    staticDocument(() => script, 'js', forever),
  );
  limitAddresses(app, deps);
  app.use(onlyOwnForms(deps.url, deps.languages));

  const sessions = createWebSessions(deps, isHttps);
  const signedIn: SignInDeps = { ...deps, sessions, notices: createNotices(deps.clock) };
  serveSignIn(app, signedIn);
  for (const page of dashboardPages(deps)) {
    app[page.method](page.path, (request, response) => answerPage(signedIn, page, request, response));
  }
  app.use(async (request, response) => {
    const visitor = await sessions.visitorOf(request);
    const words = wordsFor(deps.languages, response);
    if (!visitor) refuse(deps.languages, response, 404, UNSEEN);
    else await send(signedIn, { visitor, at: null, zone: UTC, words, reply: null }, request, response);
  });
  app.use(answerErrors(deps));
  return app;
}

/** A page that a person may not see is answered like one that does not exist. */
const UNSEEN = 'There is nothing here that you may see. The address may be mistyped, or of another store or mode.';

function limitAddresses(app: Express, { config, clock, languages }: DashboardDeps): void {
  const perSecond = config.limits.pagesPerSecondPerAddress;
  const limiter = createAddressLimiter({
    perSecond,
    burst: perSecond * PAGES_BURST_S,
    namesMax: SUBSCRIBERS_MAX,
    clock,
  });
  app.use((request, response, next) => {
    const waitS = limiter.take(request.ip ?? '');
    if (waitS === 0) return next();
    response.set('Retry-After', String(waitS));
    refuse(languages, response, 429, 'Try again in {seconds} s.', { seconds: waitS });
  });
}

async function answerPage(deps: SignInDeps, page: Page, request: Request, response: Response): Promise<void> {
  const visitor = await deps.sessions.visitorOf(request);
  if (!visitor) {
    askToSignIn(deps, request, response);
    return;
  }
  const { languages } = deps;
  const words = isOperatorPage(page) ? languages.choose(OPERATOR_LANGUAGE) : wordsFor(languages, response);
  const params = request.params as Record<string, string>;
  const { store, mode } = params;
  const at: StoreAt | null =
    isStorePage(page) && (mode === 'live' || mode === 'test') ? { storeId: store ?? '', mode } : null;
  if (!may({ at, visitor }, page.needs) || (at === null && isStorePage(page))) {
    const closed = { visitor, at: null, zone: UTC, words, reply: null };
    await send(deps, closed, request, response);
    return;
  }
  const form = page.method === 'post' ? await readForm(request, FORM_BYTES_MAX) : {};
  if (page.method === 'post' && !isFormToken(visitor, form.form_token)) {
    refuse(deps.languages, response, 403, FORM_OUT_OF_DATE);
    return;
  }
  const zone = (at && (await deps.database.stores.find(at.storeId))?.zone) ?? UTC;
  const renew = (token: string) => deps.sessions.give(response, token);
  const visit = {
    visitor,
    params,
    path: request.path,
    query: queryOf(request),
    form,
    nowMs: deps.clock.nowMs(),
    zone,
    words,
    renew,
  };
  const reply = isStorePage(page)
    ? at && (await page.answer({ ...visit, at }))
    : await page.answer({ ...visit, at: null });
  await send(deps, { visitor, at, zone, words, reply }, request, response);
}

/** Leads to the sign-in, and from there to the page that was asked for. */
function askToSignIn({ sessions }: SignInDeps, request: Request, response: Response): void {
  const query = new URLSearchParams({
    ...(request.method === 'GET' && request.originalUrl !== '/' && { to: request.originalUrl }),
    ...(sessions.hasCookie(request) && { ended: 'yes' }),
  }).toString();
  response.redirect(303, query === '' ? '/sign-in' : `/sign-in?${query}`);
}

type Answered = Readonly<{ visitor: Visitor; at: StoreAt | null; zone: string; words: Words; reply: Reply }>;

async function send(
  deps: SignInDeps,
  { visitor, at, zone, words, reply }: Answered,
  request: Request,
  response: Response,
): Promise<void> {
  if (reply === null) {
    // With its menu: whoever is signed in goes on from there.
    const content = html`<p class="card">${words.say(UNSEEN)}</p><p><a href="/">${words.say('Back to the dashboard')}</a></p>`;
    const missing = { title: words.say('refusal.title_404'), content, status: 404 };
    await send(deps, { visitor, at, zone, words, reply: missing }, request, response);
  } else if ('to' in reply) {
    const { to, said } = reply;
    response.redirect(303, said === undefined ? to : deps.notices.add(to, said, visitor.formToken));
  } else if ('file' in reply) {
    await sendFile(deps, reply, response);
  } else {
    const { person, session, formToken } = visitor;
    const nowMs = deps.clock.nowMs();
    const leftMs = session.startedAtMs + sessionLimits.lifeMs - nowMs;
    const endsIn = { idleMs: sessionLimits.idleMs, leftMs };
    const { name, memberships } = person;
    const stores: MenuStore[] = [];
    for (const { storeId } of memberships) {
      const store = storeId === null ? null : await deps.database.stores.find(storeId);
      if (store) stores.push({ id: store.id, name: store.name });
    }
    const notice = deps.notices.take(queryOf(request), formToken);
    const place = { path: request.path, at, zone, nowMs };
    const shown = { words, name, memberships, stores, ...place, formToken, endsIn, notice };
    response
      .status(reply.status ?? 200)
      .type('html')
      .send(framed(shown, reply.title, reply.content));
  }
}

/** Writes a file no faster than it is read. A reader that leaves ends it, and one that stalls is disconnected. */
async function sendFile({ log }: DashboardDeps, { file, type, parts }: FileReply, response: Response): Promise<void> {
  response.set({ 'Content-Type': type, 'Content-Disposition': `attachment; filename="${file}"` });
  try {
    await writeParts(response, parts, STALLED_MS_MAX);
  } catch (error) {
    // Sent bytes cannot be withdrawn: the connection is cut, so that the file is not taken for a whole one.
    log.error({ err: error, file }, 'a file of the dashboard broke off');
  }
}

function answerErrors({ log, languages }: DashboardDeps): ErrorRequestHandler {
  return (thrown: unknown, request, response, next) => {
    if (response.headersSent) return next(thrown);
    if (thrown instanceof BodyError || (thrown instanceof URIError && !(thrown instanceof Fault))) {
      refuse(languages, response, 400, 'Go back and try again.');
    } else if (thrown instanceof Fault && thrown.kind === 'transient') {
      refuse(languages, response, 503, '{reason}. Try again in a few seconds.', { reason: thrown.message });
    } else {
      log.error({ err: thrown, path: request.route?.path }, 'a page of the dashboard failed');
      const said = 'It is in the log of the server. `quayside status` shows how the installation does.';
      refuse(languages, response, 500, said);
      // As in the API: a broken invariant ends the process once the client has its answer.
      if (thrown instanceof Error && thrown.name === 'InvariantBroken') {
        response.once('close', () => {
          throw thrown;
        });
      }
    }
  };
}
