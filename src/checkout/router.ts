/**
 * The payment page's addresses: `/pay/:id`, its live updates, what a wallet is to send, and its files. Mounted by the server program behind
 * the same door as the API. Nothing here changes a session: the page only shows it.
 * @module
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import express, {
  type ErrorRequestHandler,
  type Request,
  type RequestHandler,
  type Response,
  type Router,
} from 'express';
import { type Clock, toSeconds } from '../clock.ts';
import type { Config } from '../config.ts';
import { Fault, invariant } from '../core/fault.ts';
import type { Log } from '../log.ts';
import { isFollowed } from '../network-health.ts';
import { walletNodeOrigins } from '../option-address.ts';
import { parseSessionId } from '../session-id.ts';
import { type Simulate, simulations } from '../simulation.ts';
import type { Session, Store } from '../store/store.ts';
import { type Choice, isSimulated, networkViews, type PageModel, selectedOption } from './model.ts';
import { type Assets, messagePage, paymentPage } from './page.ts';
import { findOption, pageState } from './state.ts';
import { createStreams } from './streams.ts';
import { chooseWords, type Words } from './texts.ts';
import { answerTransfer } from './transfer.ts';
import { pageVersion } from './version.ts';

export type CheckoutDeps = Readonly<{
  store: Pick<Store, 'findSession' | 'findStore' | 'listNetworks'>;
  config: Pick<Config, 'networks' | 'checkoutUrl'>;
  clock: Clock;
  log: Log;
  /** Present where there are simulated networks. */
  simulate?: Simulate;
  /** Ends every live update when the program stops. */
  signal: AbortSignal;
}>;

/** The panel's form has one short field. */
const readForm = express.urlencoded({ extended: false, limit: 1024 });

const ASSET_AGE_S = 365 * 24 * 3600;
const files = new URL('./browser/', import.meta.url);
const HANDHELD = /Android|iPhone|iPad|iPod/;

/** The page as an express router. It passes on every path that is not its own. */
export function createCheckout(deps: CheckoutDeps): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  const { assets, handlers } = loadAssets();
  const streams = createStreams(deps);

  router.use('/pay', protect);
  for (const { path, handler } of handlers) router.get(`/pay/${path}`, handler);
  router.get('/pay/:id', async (request, response) => {
    const { choice, words } = asked(request);
    const session = await findSession(deps, String(request.params.id));
    if (!session) {
      sendMessage(response.status(404), words, 'not_found', assets);
      return;
    }
    const model = await modelOf(deps, session, choice, words, HANDHELD.test(request.get('User-Agent') ?? ''));
    // The same session reads differently in another language or with another choice.
    const shownFor = [model.version, words.code, choice, model.isHandheld];
    const etag = `W/"${hash(JSON.stringify(shownFor))}"`;
    // The page's timer goes by this clock, also when there is nothing new to send.
    const date = new Date(deps.clock.nowMs()).toUTCString();
    response.set({ ETag: etag, Date: date, Vary: 'Accept-Language, User-Agent' });
    response.set('Content-Security-Policy', contentPolicy(walletOrigins(model)));
    if (request.get('If-None-Match') === etag) response.status(304).end();
    else response.type('html').send(paymentPage(model, assets));
  });
  router.get('/pay/:id/events', async (request, response) => {
    const session = await findSession(deps, String(request.params.id));
    if (!session) {
      response.status(404).end();
      return;
    }
    const { searchParams } = new URL(request.url, 'http://page');
    const known = request.get('Last-Event-ID') ?? searchParams.get('after') ?? '';
    streams.open({ sessionId: session.id, address: request.ip ?? '', known, response });
  });
  router.get('/pay/:id/transfer', async (request, response) => {
    const { searchParams } = new URL(request.url, 'http://page');
    const session = await findSession(deps, String(request.params.id));
    const option = session && findOption(session, searchParams.get('pay'));
    const network = deps.config.networks.find(({ key }) => key === option?.networkKey);
    if (!session || !option || !network || network.sandbox) {
      response.status(404).json({ problem: 'changed' });
      return;
    }
    const nowMs = deps.clock.nowMs();
    const report = (await deps.store.listNetworks()).find((one) => one.network === network.key);
    const newest = report && isFollowed(report, nowMs) ? report.cursor : null;
    const asked = { due: searchParams.get('due') ?? '', from: searchParams.get('from') ?? '' };
    const answer = answerTransfer(session, pageState(session, toSeconds(nowMs)), option, newest, asked);
    response.status('transfer' in answer ? 200 : 409).json(answer);
  });
  const { simulate } = deps;
  if (simulate) {
    router.post('/pay/:id/simulate', readForm, async (request, response) => {
      const { choice, words } = asked(request);
      const session = await findSession(deps, String(request.params.id));
      const action = simulations.find((one) => one === Object(request.body).action);
      const option = session && (findOption(session, choice.pay) ?? session.options[0]);
      if (session?.mode !== 'test' || !option || !action) {
        sendMessage(response.status(404), words, 'not_found', assets);
        return;
      }
      try {
        await simulate(session, option, action);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        const { title, text } = { title: words.say('sandbox_refused'), text: error.message };
        response
          .status(400)
          .type('html')
          .send(messagePage(words, { title, text, retry: false }, assets));
        return;
      }
      // Back to the page, one folder up, as it was.
      response.redirect(303, `../${session.id}${new URL(request.url, 'http://page').search}`);
    });
  }
  router.use('/pay', answerFaults(assets));
  return router;
}

const protect: RequestHandler = (_request, response, next) => {
  response.set({
    'Content-Security-Policy': contentPolicy([]),
    'Referrer-Policy': 'no-referrer',
    'X-Frame-Options': 'DENY',
    'X-Robots-Tag': 'noindex, nofollow',
  });
  next();
};

/**
 * What the page may do: load its own files and nothing else, be framed by nobody.
 * @param connect other origins that may be called from inside the page
 */
const contentPolicy = (connect: readonly string[]): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src ${["'self'", ...connect].join(' ')}`,
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');

/** A wallet that lives in the page calls its node from there. The page itself never does. */
function walletOrigins(model: PageModel): readonly string[] {
  const option = model.state.isPayable ? selectedOption(model) : null;
  return option && !isSimulated(model, option) ? walletNodeOrigins(option) : [];
}

/** All files of `browser/` under one address that changes with any of them, so that scripts find each other by their names. */
function loadAssets(): Readonly<{ assets: Assets; handlers: readonly { path: string; handler: RequestHandler }[] }> {
  const loaded = readdirSync(files, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(css|js)$/.test(name))
    .sort()
    .map((name) => ({ name, text: readFileSync(new URL(name, files), 'utf8') }));
  const folder = `assets/${hash(JSON.stringify(loaded))}`;
  const handlers = loaded.map(({ name, text }) => {
    const handler: RequestHandler = (_request, response) => {
      response.set('Cache-Control', `public, max-age=${ASSET_AGE_S}, immutable`).type(extname(name)).send(text);
    };
    return { path: `${folder}/${name}`, handler };
  });
  return { assets: { style: `${folder}/page.css`, script: `${folder}/live.js` }, handlers };
}

const hash = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 16);

function asked(request: Request): { choice: Choice; words: Words } {
  const { searchParams } = new URL(request.url, 'http://page');
  const language = searchParams.get('lang');
  const words = chooseWords(language, request.get('Accept-Language'));
  const choice: Choice = {
    pay: searchParams.get('pay'),
    token: searchParams.get('token'),
    walletQr: searchParams.get('qr') === 'wallet',
    // Only a language that there is, so that links stay short and clean.
    language: language === words.code ? language : null,
  };
  return { choice, words };
}

async function findSession({ store }: Pick<CheckoutDeps, 'store'>, text: string): Promise<Session | null> {
  const id = parseSessionId(text);
  return id === null ? null : store.findSession(id);
}

async function modelOf(
  deps: CheckoutDeps,
  session: Session,
  choice: Choice,
  words: Words,
  isHandheld: boolean,
): Promise<PageModel> {
  const { store, config, clock } = deps;
  const nowMs = clock.nowMs();
  const [merchant, reports] = await Promise.all([store.findStore(session.storeId), store.listNetworks()]);
  invariant(merchant, `session ${session.id} belongs to a store`);
  return {
    session,
    shop: merchant.name,
    state: pageState(session, toSeconds(nowMs)),
    networks: networkViews(config.networks, reports, session.terms.duePar, nowMs),
    choice,
    words,
    nowS: toSeconds(nowMs),
    version: pageVersion(session, reports, nowMs),
    isHandheld,
    canSimulate: deps.simulate !== undefined && session.mode === 'test',
    pageUrl: `${config.checkoutUrl}/pay/${session.id}`,
  };
}

function sendMessage(response: Response, words: Words, kind: 'not_found' | 'unavailable', assets: Assets): void {
  const text = { title: words.say(`${kind}_title`), text: words.say(`${kind}_text`), retry: kind === 'unavailable' };
  response.type('html').send(messagePage(words, text, assets));
}

/** A store that is out of reach is told in words; everything else is a bug and leaves by the door. */
const answerFaults =
  (assets: Assets): ErrorRequestHandler =>
  (thrown, request, response, next) => {
    if (!(thrown instanceof Fault) || response.headersSent) return next(thrown);
    const { words } = asked(request);
    sendMessage(response.status(503).set('Retry-After', '5'), words, 'unavailable', assets);
  };
