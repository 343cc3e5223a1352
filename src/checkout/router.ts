/**
 * The payment page's addresses: `/pay/:id`, its live updates, and its two files. Mounted by the server program behind the same door as
 * the API. Nothing here changes a session: the page only shows it.
 * @module
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
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
import { parseSessionId } from '../session-id.ts';
import { type Simulate, simulations } from '../simulation.ts';
import type { Session, Store } from '../store/store.ts';
import { type Choice, networkViews, type PageModel } from './model.ts';
import { type Assets, messagePage, paymentPage } from './page.ts';
import { findOption, pageState } from './state.ts';
import { createStreams } from './streams.ts';
import { chooseWords, type Words } from './texts.ts';
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
const files = {
  style: { name: 'page.css', type: 'css' },
  script: { name: 'live.js', type: 'js' },
} as const;

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
    const model = await modelOf(deps, session, choice, words);
    // The same session reads differently in another language or with another choice.
    const etag = `W/"${hash(`${model.version} ${words.code} ${JSON.stringify(choice)}`)}"`;
    // The page's timer goes by this clock, also when there is nothing new to send.
    response.set({ ETag: etag, Date: new Date(deps.clock.nowMs()).toUTCString(), Vary: 'Accept-Language' });
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

/** What the page may do: load its own two files and nothing else, be framed by nobody, be found by no search engine. */
const protect: RequestHandler = (_request, response, next) => {
  response.set({
    'Content-Security-Policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    'Referrer-Policy': 'no-referrer',
    'X-Frame-Options': 'DENY',
    'X-Robots-Tag': 'noindex, nofollow',
  });
  next();
};

function loadAssets() {
  const loaded = Object.entries(files).map(([kind, { name, type }]) => {
    const text = readFileSync(new URL(`./browser/${name}`, import.meta.url), 'utf8');
    const path = `assets/${hash(text)}/${name}`;
    const handler: RequestHandler = (_request, response) => {
      response.set('Cache-Control', `public, max-age=${ASSET_AGE_S}, immutable`).type(type).send(text);
    };
    return { kind, path, handler };
  });
  const pathOf = (kind: keyof Assets) => {
    const asset = loaded.find((one) => one.kind === kind);
    invariant(asset, `the page has a ${kind}`);
    return asset.path;
  };
  return { assets: { style: pathOf('style'), script: pathOf('script') }, handlers: loaded };
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

async function modelOf(deps: CheckoutDeps, session: Session, choice: Choice, words: Words): Promise<PageModel> {
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
