/**
 * Checks the answer to a refused request.
 */
import * as assert from 'uvu/assert';
import type { HttpAnswer } from '../support/signed-client.ts';

export type ErrorJson = Readonly<{
  error: Readonly<{
    type: string;
    code: string;
    message: string;
    param?: string;
    doc_url: string;
    server_time?: number;
  }>;
  request_id: string;
  timestamp: number;
}>;

/** Checks the whole documented body, the status and the headers that go with it. @returns the body */
export function expectError(
  answer: HttpAnswer,
  expected: Readonly<{ status: number; code: string; type?: string; param?: string | null }>,
  what = '',
): ErrorJson {
  const body = answer.json as ErrorJson;
  const shown = `${what} ${answer.status} ${answer.text}`;
  assert.is(answer.status, expected.status, shown);
  assert.is(body.error.code, expected.code, shown);
  assert.is(body.error.type, expected.type ?? typeOfStatus(expected.status), shown);
  if (expected.param !== undefined) assert.is(body.error.param ?? null, expected.param, shown);
  assert.ok(body.error.message.length > 10, shown);
  assert.ok(body.error.doc_url.endsWith(`/docs/errors#${expected.code}`), shown);
  assert.is(body.request_id, answer.headers['request-id'], shown);
  assert.ok(Number.isSafeInteger(body.timestamp), shown);
  const known = ['code', 'doc_url', 'message', 'param', 'server_time', 'type'];
  assert.equal(
    Object.keys(body.error).filter((key) => !known.includes(key)),
    [],
    shown,
  );
  assert.equal(Object.keys(body).sort(), ['error', 'request_id', 'timestamp'], shown);
  if (expected.status === 401) assert.is(answer.headers['www-authenticate'], 'Bearer', shown);
  return body;
}

function typeOfStatus(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'api_error' : 'invalid_request_error';
}
