/**
 * The HTTP application: middleware, health, reference, signed endpoints. Its only state is the rate limits.
 */
import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import { writeExactly } from '../core/exact-json.ts';
import { isLoopback } from '../lib/address-range.ts';
import { createAddressLimiter, createLimiter, type Limiter } from '../lib/rate-limit.ts';
import { contentPolicy, protect } from '../web/policy.ts';
import { staticDocument } from '../web/static-document.ts';
import { accountEndpoint } from './account.ts';
import { runCall } from './call.ts';
import type { Answer, ApiDeps, Endpoint } from './endpoint.ts';
import { Refusal } from './errors.ts';
import { eventEndpoints } from './events.ts';
import { readiness } from './health.ts';
import {
  answerErrors,
  echoVersion,
  limitAddresses,
  note,
  openTrace,
  refuseMalformed,
  refuseMethod,
  refuseRoute,
  takeBody,
} from './middleware.ts';
import { openApiDocument } from './openapi.ts';
import { quoteEndpoint } from './quotes.ts';
import { referencePages } from './reference-page.ts';
import { refundEndpoints } from './refunds.ts';
import { sessionEndpoints } from './sessions.ts';
import { simulationEndpoint } from './simulate.ts';
import { quickStartEndpoints } from './variants.ts';
import { webhookEndpointEndpoints } from './webhook-endpoints.ts';

/** How many callers' rates are kept at once. */
const LIMITED_NAMES_MAX = 10_000;
const REFERENCE_AGE_S = 300;
/** The largest body of a request; larger ones are answered with 413. */
const BODY_BYTES_MAX = 262_144;
/** How often one address may ask for health. */
const HEALTH_PER_SECOND = 50;
/** How many seconds' worth of pages one address may ask for at once. */
const PAGES_BURST_S = 3;

/** Returns every signed endpoint. A literal path comes before one with a parameter in the same place. */
export const apiEndpoints = (deps: ApiDeps): readonly Endpoint[] => [
  accountEndpoint(deps),
  ...sessionEndpoints(deps),
  quoteEndpoint(deps),
  ...quickStartEndpoints(deps),
  ...refundEndpoints(deps),
  ...eventEndpoints(deps),
  ...webhookEndpointEndpoints(deps),
  ...(deps.simulate ? [simulationEndpoint(deps, deps.simulate)] : []),
];

/** Creates the API as an express application. It opens no port and starts no timer. */
export function createApp(deps: ApiDeps): Express {
  const { config, clock } = deps;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.set('query parser', false);
  app.set('trust proxy', config.trustedProxies);

  const limiter = (perSecond: number, burst = perSecond) =>
    createAddressLimiter({ perSecond, burst, namesMax: LIMITED_NAMES_MAX, clock });
  const perSecond = config.limits.requestsPerSecondPerKey;
  const keyLimiter = createLimiter({ perSecond, namesMax: LIMITED_NAMES_MAX, clock });
  const endpoints = apiEndpoints(deps);

  const isHttps = config.baseUrl.startsWith('https:');
  // Nothing may be loaded from elsewhere, and https is enforced if the public URL has it.
  const policy = contentPolicy({ mayRun: false, mayPost: false, isUpgraded: isHttps });
  const headers = { 'Content-Security-Policy': policy };
  app.use(openTrace(deps), ...protect({ isHttps, referrer: 'no-referrer', headers }), echoVersion, refuseMalformed);
  serveHealth(app, deps, limitAddresses(limiter(HEALTH_PER_SECOND)));
  app.use(limitAddresses(limiter(config.limits.requestsPerSecondPerAddress)));
  if (deps.doors) app.use(deps.doors);
  if (deps.pages) app.use(limitPages(config.limits, limiter), deps.pages);
  // Written at the first request: a start would wait for it a tenth of a second.
  servePages(
    app,
    referencePages(() => openApiDocument(endpoints, config.baseUrl)),
  );
  serveEndpoints(app, endpoints, deps, keyLimiter);
  app.use(refuseRoute);
  app.use(answerErrors(deps));
  return app;
}

/** Limits pages and their forms, which also limit themselves. Their files, which have an extension, count as calls. */
function limitPages(
  { pagesPerSecondPerAddress: pages }: ApiDeps['config']['limits'],
  limiter: (perSecond: number, burst: number) => Limiter,
): RequestHandler {
  const limit = limitAddresses(limiter(pages, pages * PAGES_BURST_S));
  return (request, response, next) => {
    if (/^\/(pay|refund)\/[^.]*$/.test(request.path)) limit(request, response, next);
    else next();
  };
}

/** Serves health before the general limit, with one of its own: load balancers and monitors share few addresses. */
function serveHealth(app: Express, deps: ApiDeps, limit: RequestHandler): void {
  serveReads(app, '/livez', limit, (_request, response) => {
    response.json({ status: 'ok' });
  });
  serveReads(app, '/readyz', limit, async (request, response) => {
    const { networks_not_followed, ...rest } = await readiness(deps);
    const health = isLocal(request) && networks_not_followed ? { ...rest, networks_not_followed } : rest;
    response.status(health.status === 'ok' ? 200 : 503).json(health);
  });
}

/** Whether a request came from this machine, and not through a proxy on it. */
const isLocal = ({ socket, headers }: Request): boolean =>
  isLoopback(socket.remoteAddress ?? '') && !('x-forwarded-for' in headers) && !('forwarded' in headers);

/** Serves the reference, and redirects to it from where people look first. */
function servePages(app: Express, pages: ReturnType<typeof referencePages>): void {
  for (const { path, type, write } of pages) {
    const send = staticDocument(write, type, `public, max-age=${REFERENCE_AGE_S}`);
    serveReads(app, path, (request, response) => {
      // API tools in a browser fetch the document from another origin. Nothing in it is secret.
      if (type === 'json') {
        response.set({ 'Access-Control-Allow-Origin': '*', 'Cross-Origin-Resource-Policy': 'cross-origin' });
      }
      send(request, response);
    });
  }
  for (const path of ['/', '/docs/']) serveReads(app, path, (_request, response) => response.redirect('/docs'));
}

/** Serves the endpoints. Those of one path share a route, so that a wrong method answers 405 and a wrong path 404. */
function serveEndpoints(app: Express, endpoints: readonly Endpoint[], deps: ApiDeps, keyLimiter: Limiter): void {
  const answer = async (request: Request, response: Response, endpoint: Endpoint): Promise<Answer> => {
    try {
      return await runCall(request, response, endpoint, { ...deps, keyLimiter });
    } catch (thrown) {
      throw thrown instanceof Refusal ? thrown.renamed(endpoint.renames) : thrown;
    }
  };
  for (const path of new Set(endpoints.map((endpoint) => endpoint.path))) {
    const route = routeAt(app, path);
    const own = endpoints.filter((endpoint) => endpoint.path === path);
    for (const endpoint of own) {
      route[endpoint.method](takeBody(BODY_BYTES_MAX), async (request, response) => {
        const { body, replayed } = await answer(request, response, endpoint);
        if (replayed) response.set('Idempotent-Replayed', 'true');
        response
          .status(endpoint.status ?? 200)
          .type('json')
          .send(writeExactly(body));
      });
    }
    route.all(refuseMethod(own.map(({ method }) => method)));
  }
}

/** Serves a path that takes no other method than GET. */
const serveReads = (app: Express, path: string, ...handlers: RequestHandler[]): void => {
  routeAt(app, path)
    .get(...handlers)
    .all(refuseMethod(['get']));
};

/** Returns an express route for an OpenAPI path. The log shows that template for every request to it. */
function routeAt(app: Express, path: string) {
  return app.route(path.replace(/\{(\w+)\}/g, ':$1')).all((_request, response, next) => {
    note(response, { route: path });
    next();
  });
}
