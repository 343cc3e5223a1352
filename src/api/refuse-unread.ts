/**
 * Answers to what never became a request: bytes that are not HTTP, headers that are too large, a client that is too
 * slow. They have the documented error body too.
 */
import { STATUS_CODES } from 'node:http';
import { toSeconds } from '../lib/clock.ts';
import type { ApiDeps } from './endpoint.ts';
import { type ErrorCode, errorBody, refuse } from './errors.ts';
import { newRequestId } from './middleware.ts';

/** Node's error codes that mean something other than bytes that are not HTTP. */
const codes: Readonly<Record<string, ErrorCode>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'body_too_large',
};

/** Returns a function that writes the raw HTTP response to an error of Node's HTTP parser. */
export function refuseUnread({
  config,
  clock,
  log,
}: Pick<ApiDeps, 'config' | 'clock' | 'log'>): (error: NodeJS.ErrnoException) => string {
  return ({ code = '' }) => {
    const nowMs = clock.nowMs();
    const requestId = newRequestId(nowMs);
    const refusal = refuse(codes[code] ?? 'malformed_request');
    const { status } = refusal;
    const body = JSON.stringify(errorBody(refusal, { requestId, baseUrl: config.baseUrl, nowS: toSeconds(nowMs) }));
    log.info({ requestId, status, why: code }, 'request refused unread');
    return [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'Connection: close',
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `Request-Id: ${requestId}`,
      'Cache-Control: no-store',
      '',
      body,
    ].join('\r\n');
  };
}
