/**
 * JSON-RPC 2.0: one message or a batch in, text out. Framing and its refusals are the same for every family.
 */

/** An error answer. Codes from https://www.jsonrpc.org/specification#error_object; −32000 is go-ethereum's default. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
    this.data = data;
  }
}

export const invalidParams = (message: string) => new RpcError(-32602, message);
export const serverError = (message: string) => new RpcError(-32000, message);
export const methodNotFound = (method: string) =>
  new RpcError(-32601, `the method ${method} does not exist/is not available`);

/** Answers one call, or throws `RpcError`. */
export type Call = (method: string, params: unknown) => unknown;

const failure = (id: unknown, { code, message, data }: RpcError) => ({
  jsonrpc: '2.0',
  id,
  error: { code, message, data },
});

/** Marks an integer that is written as text first, because `JSON.stringify` takes no bigint. */
const INTEGER = /"int64 (-?\d+)"/g;

/** Returns a value as JSON; a bigint is written with all its digits. */
export const toJson = (value: unknown): string =>
  JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `int64 ${part}` : part)).replace(INTEGER, '$1');

/**
 * Answers a message. Each call has an id: none of our clients sends notifications.
 * @param text a request body or WebSocket message
 */
export function answerMessage(text: string, call: Call): string {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return toJson(failure(null, new RpcError(-32700, 'parse error')));
  }
  return toJson(Array.isArray(message) ? message.map((item) => answerItem(item, call)) : answerItem(message, call));
}

function answerItem(item: unknown, call: Call): object {
  const { id = null, method, params } = (item ?? {}) as Record<string, unknown>;
  try {
    if (typeof method !== 'string') throw new RpcError(-32600, 'invalid request');
    return { jsonrpc: '2.0', id, result: call(method, params) };
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    return failure(id, error);
  }
}
