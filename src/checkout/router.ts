/**
 * The routes of the payment page: `/pay/:id`, its live updates, what a wallet is to send, and its files. The server
 * mounts them behind the same middleware as the API. The page only shows a session and never changes it.
 */
import express, { type ErrorRequestHandler, type Request, type Response, type Router } from 'express';
import type { Config } from '../config/config.ts';
import { Fault, invariant } from '../core/fault.ts';
import { policyFor } from '../core/store-credit.ts';
import { isFollowed } from '../database/networks.ts';
import type { Session } from '../database/session.ts';
import { toSeconds } from '../lib/clock.ts';
import { queryOf } from '../lib/form.ts';
import { parseSessionId } from '../lib/id.ts';
import type { Log } from '../lib/log.ts';
import { subscriberOf } from '../lib/rate-limit.ts';
import { type Simulate, simulations } from '../payments/simulation.ts';
import type { AddressDeps } from './address-form.ts';
import { type Assets, hash, loadAssets } from './assets.ts';
import { serveBrand } from './brand.ts';
import { acceptParent, serveEmbed } from './embed.ts';
import { type Choice, networkViews, type PageModel, selectedOption } from './model.ts';
import { messagePage, paymentPage } from './page.ts';
import { allow, protect } from './policy.ts';
import { serveRefundAddress } from './refund-address.ts';
import { isOnItsWay, refundsOf } from './refund-page.ts';
import { serveRefunds } from './refund-routes.ts';
import { asked, findSession, formReader, type Refuse } from './request.ts';
import { returnsTo } from './return.ts';
import { findOption, pageState } from './state.ts';
import { createStreams, pageVersion } from './streams.ts';
import type { Words } from './texts.ts';
import { answerTransfer } from './transfer.ts';

type CheckoutDeps = Omit<AddressDeps, 'config'> &
  Readonly<{
    config: Pick<Config, 'networks' | 'checkoutUrl'>;
    log: Log;
    /** Present only if there are simulated networks. */
    simulate?: Simulate;
    /** Ends all live updates when the program stops. */
    signal: AbortSignal;
  }>;

/** The panel's form has one short field. */
const SIMULATION_FORM_BYTES_MAX = 1024;

const HANDHELD = /Android|iPhone|iPad|iPod/;

/** Creates the express router of the page. It passes on all other paths. */
export function createCheckout(deps: CheckoutDeps): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  const { assets, handlers } = loadAssets();
  const streams = createStreams(deps);
  const { database } = deps;

  serveEmbed(router, deps.config);
  router.use('/pay', protect);
  serveBrand(router, database);
  const send = messagesIn(assets);
  const refuse = refuseWith(send);
  const styleOf = (request: Request) => assetsFrom(request, assets).style;
  serveRefundAddress(router, deps, styleOf, refuse);
  serveRefunds(router, deps, styleOf, refuse);
  for (const { path, handler } of handlers) router.get(`/pay/${path}`, handler);
  router.get('/pay/:id', async (request, response) => {
    const { choice, words } = asked(request);
    const session = await findSession(database.sessions, request);
    if (!session) return send(request, response.status(404), 'not_found');
    const model = await modelOf(deps, session, choice, words, HANDHELD.test(request.get('User-Agent') ?? ''));
    // Language and choice change the content too.
    const { version, isHandheld, shop, settings } = model;
    const shownFor = [
      version,
      words.code,
      model.choice,
      isHandheld,
      shop,
      settings,
      model.refundAddresses,
      returnsTo(model),
    ];
    const etag = `W/"${hash(JSON.stringify(shownFor))}"`;
    // The page's timer follows this clock, also when the answer is 304.
    const date = new Date(deps.clock.nowMs()).toUTCString();
    response.set({ ETag: etag, Date: date, Vary: 'Accept-Language, User-Agent' });
    allow(response, { connect: walletOrigins(model), ancestors: settings.embedOrigins });
    if (request.get('If-None-Match') === etag) response.status(304).end();
    else response.type('html').send(paymentPage(model, assets));
  });
  router.get('/pay/:id/events', async (request, response) => {
    const session = await findSession(database.sessions, request);
    if (!session) {
      response.status(404).end();
      return;
    }
    const known = request.get('Last-Event-ID') ?? queryOf(request).get('after') ?? '';
    streams.open({ sessionId: session.id, address: subscriberOf(request.ip ?? ''), known, response });
  });
  router.get('/pay/:id/transfer', async (request, response) => {
    const query = queryOf(request);
    const session = await findSession(database.sessions, request);
    const option = session && findOption(session, query.get('pay'));
    const network = deps.config.networks.find(({ key }) => key === option?.networkKey);
    if (!session || !option || !network || network.sandbox) {
      response.status(404).json({ problem: 'changed' });
      return;
    }
    const nowMs = deps.clock.nowMs();
    const report = await deps.database.networks.find(network.key);
    const newest = report?.tipHash && isFollowed(report, nowMs) ? { hash: report.tipHash } : null;
    const asked = { due: query.get('due') ?? '', from: query.get('from') ?? '' };
    const state = pageState(session, toSeconds(nowMs));
    const answer = await answerTransfer(network, session, state, option, newest, asked);
    response.status('transfer' in answer ? 200 : 409).json(answer);
  });
  const { simulate } = deps;
  if (simulate) {
    router.post('/pay/:id/simulate', formReader(SIMULATION_FORM_BYTES_MAX), async (request, response) => {
      const { choice, words } = asked(request);
      const session = await findSession(database.sessions, request);
      const action = simulations.find((one) => one === Object(request.body).action);
      const option = session && (findOption(session, choice.pay) ?? session.options[0]);
      if (session?.mode !== 'test' || !option || !action) return send(request, response.status(404), 'not_found');
      try {
        await simulate(session, option, action);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        return send(request, response.status(400), { title: words.say('sandbox_refused'), text: error.message });
      }
      // Redirects to the page, one folder up, with the same choice.
      response.redirect(303, `../${session.id}?${queryOf(request)}`);
    });
  }
  router.all('/pay/:id', (request, response) => {
    send(request, response.status(405).set('Allow', 'GET'), 'not_found');
  });
  router.get('/pay/:id/', (request, response, next) => {
    const id = parseSessionId(request.params.id);
    if (id === null) next();
    else response.redirect(`../${id}${request.url.slice(request.path.length)}`);
  });
  router.use(['/pay', '/refund'], (request, response) => refuse(request, response, null));
  router.use(['/pay', '/refund'], answerFaults(send));
  return router;
}

/** Returns the nodes that wallets call from inside the page. The page itself never calls one. */
function walletOrigins(model: PageModel): readonly string[] {
  const option = model.state.isPayable ? selectedOption(model) : null;
  const config = option && model.networks.get(option.networkKey)?.config;
  return config && !config.sandbox ? (config.wallets.nodeOrigins ?? []) : [];
}

async function modelOf(
  deps: CheckoutDeps,
  session: Session,
  choice: Choice,
  words: Words,
  isHandheld: boolean,
): Promise<PageModel> {
  const { database, config, clock } = deps;
  const nowMs = clock.nowMs();
  const [merchant, settings, reports, refundAddresses, refunds] = await Promise.all([
    database.stores.find(session.storeId),
    database.stores.values(session.storeId),
    database.networks.list(),
    database.refunds.addresses(session.id),
    refundsOf(database.refunds, session),
  ]);
  invariant(merchant, `session ${session.id} belongs to a store`);
  const isPayer = choice.payerToken !== null && database.sessions.isPayerToken(session.id, choice.payerToken);
  const state = pageState(session, toSeconds(nowMs));
  const { credit } = merchant.settings;
  const isSuspended = merchant.suspension !== undefined;
  const networks = config.networks.map((network) => ({ ...network, confirmations: policyFor(network, credit) }));
  return {
    session,
    shop: merchant.name,
    settings,
    state,
    refundAddresses,
    refunds: isPayer ? refunds : [],
    isLive: !state.hasEnded || (isPayer && refunds.some(isOnItsWay)),
    networks: networkViews(networks, reports, session.terms.duePar, nowMs),
    // A wrong token is dropped, so that no link carries it on.
    choice: {
      ...choice,
      parent: acceptParent(choice.parent, settings.embedOrigins),
      payerToken: isPayer ? choice.payerToken : null,
    },
    isPayer,
    words,
    nowMs,
    version: pageVersion(session, { reports, refunds, isSuspended }, nowMs),
    isSuspended,
    isHandheld,
    canSimulate: deps.simulate !== undefined && session.mode === 'test',
    pageUrl: `${config.checkoutUrl}/pay/${session.id}`,
  };
}

/** Returns the assets' URLs relative to a page at any depth. */
function assetsFrom({ originalUrl }: Request, { style, script }: Assets): Assets {
  const depth = (originalUrl.split('?', 1)[0] ?? '').split('/').length - 2;
  const root = `${'../'.repeat(depth)}pay/`;
  return { style: root + style, script: root + script };
}

type Send = (
  request: Request,
  response: Response,
  message: 'not_found' | 'unavailable' | Readonly<{ title: string; text: string }>,
) => void;

/** Renders a page that is only a message. */
const messagesIn =
  (assets: Assets): Send =>
  (request, response, message) => {
    const { words } = asked(request);
    const { say } = words;
    const text =
      typeof message === 'string' ? { title: say(`${message}_title`), text: say(`${message}_text`) } : message;
    const retry = response.statusCode === 503;
    response.type('html').send(messagePage(words, { ...text, retry }, assetsFrom(request, assets)));
  };

/** Renders a 404 page if `waitS` is null, and otherwise a 429 page with the seconds to wait. */
const refuseWith =
  (send: Send): Refuse =>
  (request, response, waitS) => {
    if (waitS === null) return send(request, response.status(404), 'not_found');
    const { say } = asked(request).words;
    response.status(429).set('Retry-After', String(waitS));
    send(request, response, { title: say('refund_leave_title'), text: say('refund_too_often', { seconds: waitS }) });
  };

/** Renders a 503 page if the database is unavailable. Anything else is a bug and goes to the API's error handler. */
const answerFaults =
  (send: Send): ErrorRequestHandler =>
  (thrown, request, response, next) => {
    if (!(thrown instanceof Fault) || response.headersSent) return next(thrown);
    send(request, response.status(503).set('Retry-After', '5'), 'unavailable');
  };
