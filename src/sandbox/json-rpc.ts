/**
 * JSON-RPC 2.0 with go-ethereum's texts (`rpc/handler.go`, `rpc/errors.go`): one message or a batch in, text out.
 *
 * @module
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

/** How one kind of node speaks JSON-RPC: the answers around calls, and what its HTTP listener refuses. */
export type JsonRpcDialect = Readonly<{
  /** Answers a request body or WebSocket message; the text is empty if there is nothing to answer. */
  answerMessage(text: string, call: Call): string;
  /** What a node says if it fails by itself. */
  internalError: RpcError;
  bodyBytesMax: number;
  /** Texts of the HTTP statuses 405, 415 and 413. */
  refusals: Readonly<{ method: string; contentType: string; tooLarge: string }>;
  /** What GET shows, by path. */
  pages: Readonly<Record<string, string>>;
}>;

const BATCH_ITEMS_MAX = 1000;
const RESPONSE_CHARS_MAX = 25_000_000;

type Id = string | number;

const failure = (id: Id | null, { code, message }: RpcError) => ({ jsonrpc: '2.0', id, error: { code, message } });

/**
 * Answers a message.
 * @param text a request body or WebSocket message
 * @returns the answer's text; empty if there is none (notifications)
 */
export function answerMessage(text: string, call: Call): string {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return JSON.stringify(failure(null, new RpcError(-32700, 'parse error')));
  }
  if (!Array.isArray(message)) return limited(JSON.stringify(answerItem(message, call)) ?? '');
  if (message.length === 0) return JSON.stringify(failure(null, new RpcError(-32600, 'empty batch')));
  if (message.length > BATCH_ITEMS_MAX) {
    return JSON.stringify(failure(null, new RpcError(-32600, 'batch too large')));
  }
  const answers = message.map((item) => answerItem(item, call)).filter((answer) => answer !== undefined);
  return answers.length === 0 ? '' : limited(JSON.stringify(answers));
}

const limited = (answer: string): string =>
  answer.length <= RESPONSE_CHARS_MAX
    ? answer
    : JSON.stringify(failure(null, new RpcError(-32003, 'response too large')));

function answerItem(item: unknown, call: Call): unknown {
  const { jsonrpc, id, method, params } = (item ?? {}) as Record<string, unknown>;
  const isId = typeof id === 'string' || typeof id === 'number';
  if (jsonrpc !== '2.0' || typeof method !== 'string' || (id !== undefined && !isId)) {
    return failure(isId ? id : null, new RpcError(-32600, 'invalid request'));
  }
  try {
    const result = call(method, params);
    return isId ? { jsonrpc: '2.0', id, result } : undefined;
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    return isId ? failure(id, error) : undefined;
  }
}

/** Statuses and texts of go-ethereum's `rpc/http.go`. */
export const gethDialect: JsonRpcDialect = {
  answerMessage,
  internalError: serverError('internal error'),
  bodyBytesMax: 5 * 1024 * 1024,
  refusals: {
    method: 'method not allowed',
    contentType: 'invalid content type, only application/json is supported',
    tooLarge: 'content length too large',
  },
  pages: {},
};
