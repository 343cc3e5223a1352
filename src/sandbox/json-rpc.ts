/**
 * JSON-RPC 2.0 with go-ethereum's texts (`rpc/handler.go`, `rpc/errors.go`): one message or a batch in, text out.
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
  bodyBytesMax: number;
  /** Texts of the HTTP statuses 405, 415 and 413; the last one for a length as the request's header has it. */
  refusals: Readonly<{ method: string; contentType: string; tooLarge(length: string): string }>;
  /** Answers to GET, by path. */
  pages: Readonly<Record<string, string>>;
}>;

/** The default of go-ethereum (`--rpc.batch-request-limit`). */
const BATCH_CALLS_MAX = 1000;

type Id = string | number;

const failure = (id: Id | null, { code, message, data }: RpcError) => ({
  jsonrpc: '2.0',
  id,
  error: { code, message, data },
});

/**
 * Answers a message as go-ethereum does.
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
  if (!Array.isArray(message)) return JSON.stringify(answerItem(message, call)) ?? '';
  if (message.length === 0) return JSON.stringify(failure(null, new RpcError(-32600, 'empty batch')));
  const answers =
    message.length > BATCH_CALLS_MAX ? refuseBatch(message) : message.map((item) => answerItem(item, call));
  const given = answers.filter((answer) => answer !== undefined);
  return given.length === 0 ? '' : JSON.stringify(given);
}

/** Answers a batch that has too many calls: with one error, for the first of them. */
const refuseBatch = (items: readonly unknown[]): unknown[] =>
  items
    .flatMap((item) => idOf(item) ?? [])
    .slice(0, 1)
    .map((id) => failure(id, new RpcError(-32600, 'batch too large')));

/** The id of a call; null for a notification. */
function idOf(item: unknown): Id | null {
  const { id } = (item ?? {}) as Record<string, unknown>;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

function answerItem(item: unknown, call: Call): unknown {
  const { jsonrpc, id: given, method, params } = (item ?? {}) as Record<string, unknown>;
  const id = idOf(item);
  if (jsonrpc !== '2.0' || typeof method !== 'string' || (given !== undefined && id === null)) {
    return failure(id, new RpcError(-32600, 'invalid request'));
  }
  try {
    const result = call(method, params);
    return id === null ? undefined : { jsonrpc: '2.0', id, result };
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    return id === null ? undefined : failure(id, error);
  }
}

const BODY_BYTES_MAX = 5 * 1024 * 1024;

/** Statuses and texts of go-ethereum's `rpc/http.go`. */
export const gethDialect: JsonRpcDialect = {
  answerMessage,
  bodyBytesMax: BODY_BYTES_MAX,
  refusals: {
    method: 'method not allowed',
    contentType: 'invalid content type, only application/json is supported',
    tooLarge: (length) => `content length too large (${length}>${BODY_BYTES_MAX})`,
  },
  pages: {},
};
