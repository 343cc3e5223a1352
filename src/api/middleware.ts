/**
 * The door every request passes: an id, security headers, one log line, the limit per address, the raw body; and the way out for
 * everything that was thrown.
 * @module
 */
import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import helmet from 'helmet';
import { toSeconds } from '../lib/clock.ts';
import { sortableId } from '../lib/id.ts';
import { type Limiter, subscriberOf } from '../lib/rate-limit.ts';
import { discardBody, isUnread, readBody } from '../lib/request-body.ts';
import type { ApiDeps } from './endpoint.ts';
import { errorBody, refuse, toRefusal } from './errors.ts';

/** What one request is known by, from the door to the log line. `route` is the template, never the path with its ids. */
type Trace = { readonly requestId: string; keyId: string | null; route: string | null };

const traceOf = (response: Response): Trace => response.locals.trace as Trace;

/** Notes which key or route a request turned out to be, for the log line. */
export function note(response: Response, known: Partial<Omit<Trace, 'requestId'>>): void {
  Object.assign(traceOf(response), known);
}

export const newRequestId = (nowMs: number): string => `req_${sortableId(nowMs)}`;

/** Gives the request its id and the answer its `Request-Id`; logs one line when it is over. Never headers, never bodies. */
export function openTrace({ clock, log, onAnswered }: Pick<ApiDeps, 'clock' | 'log' | 'onAnswered'>): RequestHandler {
  return (request, response, next) => {
    const startedAtMs = clock.nowMs();
    const trace: Trace = { requestId: newRequestId(startedAtMs), keyId: null, route: null };
    response.locals.trace = trace;
    response.set('Request-Id', trace.requestId);
    response.set('Cache-Control', 'no-store');
    response.once('close', () => {
      const answered = { method: request.method, status: response.statusCode, ms: clock.nowMs() - startedAtMs };
      // Pages note nothing; express itself knows their template.
      const route = trace.route ?? request.route?.path ?? null;
      onAnswered?.({ route, ...answered });
      log.info(
        {
          ...trace,
          route,
          ...answered,
          ...(!response.writableFinished && { aborted: true }),
        },
        'request',
      );
    });
    next();
  };
}

/** Nothing is loaded from outside. `https` upgrades are asked for only where the public address is https. */
export function securityHeaders(baseUrl: string): RequestHandler {
  const isHttps = baseUrl.startsWith('https:');
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        styleSrc: ["'self'"],
        imgSrc: ["'self'", 'data:'],
        baseUri: ["'none'"],
        formAction: ["'none'"],
        frameAncestors: ["'none'"],
        ...(isHttps && { upgradeInsecureRequests: [] }),
      },
    },
    strictTransportSecurity: isHttps,
  });
}

const VERSION = /^[ -~]{1,64}$/;

/** A client's `Service-Version` comes back unchanged and decides nothing. */
export const echoVersion: RequestHandler = (request, response, next) => {
  const version = request.get('Service-Version');
  if (version !== undefined && VERSION.test(version)) response.set('Service-Version', version);
  next();
};

/** Refuses what an HTTP/1.1 server must refuse and Node lets through, or refuses without a word. */
export const refuseMalformed: RequestHandler = (request, _response, next) => {
  const hosts = request.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length;
  if (hosts > 1 || (hosts === 0 && request.httpVersion === '1.1')) {
    throw refuse('malformed_request', { headers: { Connection: 'close' } });
  }
  const expected = request.get('Expect');
  if (expected !== undefined && expected.toLowerCase() !== '100-continue') throw refuse('expectation_failed');
  next();
};

/** Keeps one address from using up the server before anybody is authenticated. */
export function limitAddresses(limiter: Limiter): RequestHandler {
  return (request, _response, next) => {
    const waitS = limiter.take(subscriberOf(request.ip ?? ''));
    if (waitS > 0) throw refuse('rate_limited', { headers: { 'Retry-After': String(waitS) } });
    next();
  };
}

/** Reads the body as the bytes that were sent, whatever they claim to be; the signature covers exactly these. */
export const takeBody =
  (bytesMax: number): RequestHandler =>
  async (request, _response, next) => {
    request.body = await readBody(request, bytesMax);
    next();
  };

/** Answers every method that a path does not have. */
export function refuseMethod(allowed: readonly string[]): RequestHandler {
  const headers = { Allow: allowed.map((method) => method.toUpperCase()).join(', ') };
  return () => {
    throw refuse('method_not_allowed', { headers });
  };
}

export const refuseRoute: RequestHandler = () => {
  throw refuse('route_not_found');
};

/** Callers decide how many requests fail, so alarms about them are raised at most once in this time. */
const ALARM_PAUSE_MS = 60_000;
const ALARM_CHARACTERS_MAX = 300;

/**
 * Turns whatever was thrown into the documented error body. The client gets a `request_id`, the log the failure, and the operator an
 * alarm when it is one that nobody expected. Only a broken invariant ends the process.
 */
export function answerErrors({
  config,
  clock,
  log,
  database,
}: Pick<ApiDeps, 'config' | 'clock' | 'log' | 'database'>): ErrorRequestHandler {
  let alarmAtMs = Number.NEGATIVE_INFINITY;

  async function raiseAlarm(thrown: unknown, where: string, requestId: string): Promise<void> {
    const atMs = clock.nowMs();
    if (atMs - alarmAtMs < ALARM_PAUSE_MS) return;
    alarmAtMs = atMs;
    const why = (thrown instanceof Error ? thrown.message : String(thrown)).slice(0, ALARM_CHARACTERS_MAX);
    const message = `${where} failed: ${why}. It was answered with 500. Find ${requestId} in the log of the server and report what it says there.`;
    try {
      await database.raiseAlarm({ atMs, code: 'request_failed', message, network: null, sessionId: null });
    } catch (error) {
      log.error({ requestId, err: error }, 'the alarm about a failed request could not be stored');
    }
  }

  return (thrown, request, response, next) => {
    const { refusal, unexpected } = toRefusal(thrown);
    const { requestId, route } = traceOf(response);
    if (unexpected) log.error({ requestId, err: thrown }, 'request failed');
    if (refusal.code === 'internal_error') {
      raiseAlarm(thrown, `${request.method} ${route ?? request.route?.path ?? 'on an unknown path'}`, requestId);
    }
    if (response.headersSent) return next(thrown);
    response.status(refusal.status).set(refusal.headers);
    const body = errorBody(refusal, { requestId, baseUrl: config.baseUrl, nowS: toSeconds(clock.nowMs()) });
    if (isUnread(request)) answerAndClose(request, response, JSON.stringify(body));
    else response.json(body);
    // A broken invariant ends the process once the client has its answer: the supervisor starts it from the last commit.
    if (thrown instanceof Error && thrown.name === 'InvariantBroken') {
      response.once('close', () => {
        throw thrown;
      });
    }
  };
}

/** Answers a client that has more to send, and closes the connection once it has had the time to read that. */
function answerAndClose(request: Request, response: Response, text: string): void {
  response.type('json').set({ Connection: 'close', 'Content-Length': String(Buffer.byteLength(text)) });
  response.write(text);
  discardBody(request, () => response.end());
}
