/**
 * JSON-RPC 2.0 as Agave speaks it: the id comes last, integers have 64 bits, and refusals have texts of their own.
 * Compared with recorded answers in `test/sandbox/solana-shapes.test.ts`.
 */
import { type Call, type JsonRpcDialect, RpcError } from './json-rpc.ts';

type Id = string | number | null;

export const notFound = (): RpcError => new RpcError(-32601, 'Method not found');

/** Marks an integer that is written as text first, because `JSON.stringify` takes no bigint. */
const INTEGER = '\u0000u64 ';
const WRITTEN_INTEGER = /"\\u0000u64 (\d+)"/g;

/** Returns a value as JSON; a bigint is written with all its digits. */
function toJson(value: unknown): string {
  const text = JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? `${INTEGER}${inner}` : inner));
  return text.replace(WRITTEN_INTEGER, '$1');
}

function failure(id: Id, { code, message, data }: RpcError) {
  return { jsonrpc: '2.0', error: { code, message, ...(data !== undefined && { data }) }, id };
}

const invalidRequest = (): RpcError => new RpcError(-32600, 'Invalid request');

/** Returns the answer to one call; undefined if it wants none. */
function answerItem(item: unknown, call: Call): object | undefined {
  const { jsonrpc, id, method, params } = (item ?? {}) as Record<string, unknown>;
  const isId = typeof id === 'string' || typeof id === 'number';
  if (typeof method !== 'string') return failure(null, invalidRequest());
  if (jsonrpc === undefined) {
    return { error: { code: -32600, message: 'Unsupported JSON-RPC protocol version' }, id: isId ? id : null };
  }
  if (jsonrpc !== '2.0') return failure(isId ? id : null, invalidRequest());
  try {
    const result = call(method, params);
    return isId ? { jsonrpc: '2.0', result, id } : undefined;
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    return isId ? failure(id, error) : undefined;
  }
}

function answerMessage(text: string, call: Call): string {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return toJson(failure(null, new RpcError(-32700, 'Parse error')));
  }
  if (!Array.isArray(message)) {
    const answer = answerItem(message, call);
    return answer ? toJson(answer) : '';
  }
  const answers = message.map((item) => answerItem(item, call)).filter((answer) => answer !== undefined);
  return answers.length === 0 ? '' : toJson(answers);
}

export const agaveDialect: JsonRpcDialect = {
  answerMessage,
  bodyBytesMax: 50 * 1024,
  refusals: {
    method: 'Used HTTP Method is not allowed. POST or OPTIONS is required',
    contentType: 'Supplied content type is not allowed. Content-Type: application/json is required',
    tooLarge: () => 'request body size exceeds allowed maximum',
  },
  pages: { '/health': 'ok' },
};
