/**
 * Middleware for every request: request id, access log, rate limit of the address, raw body; and the error handler.
 */
import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import { toSeconds } from '../lib/clock.ts';
import { sortableId } from '../lib/id.ts';
import type { Limiter } from '../lib/rate-limit.ts';
import { discardBody, isUnread, readBody } from '../lib/request-body.ts';
import type { ApiDeps } from './endpoint.ts';
import { errorBody, refuse, toRefusal } from './errors.ts';

/** The log's entry about a request. `route` is the path template, never the path with its ids. */
type Trace = {
  readonly requestId: string;
  keyId: string | null;
  route: string | null;
  code?: string;
};

const traceOf = (response: Response): Trace => response.locals.trace as Trace;

/** Records the API key, route or error code of a request for the log. */
export function note(response: Response, known: Partial<Omit<Trace, 'requestId'>>): void {
  Object.assign(traceOf(response), known);
}

const newRequestId = (nowMs: number): string => `req_${sortableId(nowMs)}`;

/** Assigns the request id, sends it as `Request-Id`, and logs one line at the end: never headers, never bodies. */
export function openTrace({ clock, log, onAnswered }: Pick<ApiDeps, 'clock' | 'log' | 'onAnswered'>): RequestHandler {
  return (request, response, next) => {
    const startedAtMs = clock.nowMs();
    const trace: Trace = { requestId: newRequestId(startedAtMs), keyId: null, route: null };
    response.locals.trace = trace;
    response.set('Request-Id', trace.requestId);
    response.set('Cache-Control', 'no-store');
    response.once('close', () => {
      const answered = { method: request.method, status: response.statusCode, ms: clock.nowMs() - startedAtMs };
      // Pages record no route; express knows their template.
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

const VERSION = /^[ -~]{1,64}$/;

/** Returns a client's `Service-Version` unchanged. It has no effect. */
export const echoVersion: RequestHandler = (request, response, next) => {
  const version = request.get('Service-Version');
  if (version !== undefined && VERSION.test(version)) response.set('Service-Version', version);
  next();
};

/** Refuses several Host headers, which RFC 9112 forbids and Node lets through: a proxy may have read another one. */
export const refuseMalformed: RequestHandler = (request, _response, next) => {
  const hosts = request.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length;
  if (hosts > 1) throw refuse('malformed_request', { headers: { Connection: 'close' } });
  next();
};

/** Limits the request rate of each IP address, before authentication. */
export function limitAddresses(limiter: Limiter): RequestHandler {
  return (request, _response, next) => {
    const waitS = limiter.take(request.ip ?? '');
    if (waitS === 0) return next();
    throw refuse('rate_limited', { headers: { 'Retry-After': String(waitS) } });
  };
}

/** Reads the body as raw bytes, whatever its content type, because the signature covers exactly these. */
export const takeBody =
  (bytesMax: number): RequestHandler =>
  async (request, _response, next) => {
    request.body = await readBody(request, bytesMax);
    next();
  };

/** Refuses the methods that a path does not support. */
export function refuseMethod(allowed: readonly string[]): RequestHandler {
  const headers = { Allow: allowed.map((method) => method.toUpperCase()).join(', ') };
  return () => {
    throw refuse('method_not_allowed', { headers });
  };
}

export const refuseRoute: RequestHandler = () => {
  throw refuse('route_not_found');
};

/** Alarms about failed requests are raised at most once in this time, because callers decide how many fail. */
const ALARM_PAUSE_MS = 60_000;
const ALARM_CHARACTERS_MAX = 300;

/**
 * Answers with the documented error body. An unexpected failure is logged under its `request_id` and raises an alarm.
 * Only a broken invariant ends the process.
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
    const message = `${where} failed: ${why}. The client got a 500. Find ${requestId} in the server's log and report that entry as a bug.`;
    try {
      await database.alarms.raise({ atMs, code: 'request_failed', message, network: null, sessionId: null });
    } catch (error) {
      log.error({ requestId, err: error }, 'could not store the alarm about a failed request');
    }
  }

  return (thrown, request, response, next) => {
    const { refusal, unexpected } = toRefusal(thrown);
    const { requestId, route } = traceOf(response);
    note(response, { code: refusal.code });
    if (unexpected) log.error({ requestId, err: thrown }, 'request failed');
    if (refusal.code === 'internal_error') {
      raiseAlarm(thrown, `${request.method} ${route ?? request.route?.path ?? 'on an unknown path'}`, requestId);
    }
    if (response.headersSent) return next(thrown);
    response.status(refusal.status).set(refusal.headers);
    const body = errorBody(refusal, { requestId, baseUrl: config.baseUrl, nowS: toSeconds(clock.nowMs()) });
    if (isUnread(request)) answerAndClose(request, response, JSON.stringify(body));
    else response.json(body);
    // A broken invariant ends the process once the client has its answer; the supervisor restarts it.
    if (thrown instanceof Error && thrown.name === 'InvariantBroken') {
      response.once('close', () => {
        throw thrown;
      });
    }
  };
}

/** Answers a client that is still sending, and closes the connection after it had time to read the answer. */
function answerAndClose(request: Request, response: Response, text: string): void {
  response.type('json').set({ Connection: 'close', 'Content-Length': String(Buffer.byteLength(text)) });
  response.write(text);
  discardBody(request, () => response.end());
}
