/**
 * The signer's listener: HTTP on a unix socket, one request per connection. Access to the socket is the only
 * authentication, so its folder belongs to one user. Limits hold for every caller.
 */
import { chmodSync, rmSync, statSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import * as z from 'zod';
import { Fault, permanent, transient } from '../core/fault.ts';
import { after } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { createServer } from '../lib/node-http.ts';
import { BodyError, readBody } from '../lib/request-body.ts';
import { isJournalError } from './journal.ts';
import { type CallName, type CallParams, calls, type JsonCallName, REQUEST_BYTES_MAX } from './protocol.ts';
import { refused } from './rules.ts';
import type { SigningService } from './signing-service.ts';

type ServerOptions = Readonly<{
  /** Path of the socket. A killed signer's socket there is replaced. */
  socket: string;
  service: SigningService;
  log: Log;
  limits?: Partial<ServerLimits>;
}>;

type ServerLimits = Readonly<{
  /** Further connections are closed at once. */
  connectionsMax: number;
  /**
   * A connection is closed after this time without traffic, or if the caller does not read the answer or its next part.
   */
  idleMs: number;
}>;

const defaultLimits: ServerLimits = { connectionsMax: 64, idleMs: 30_000 };
const HEADER_BYTES_MAX = 8 * 1024;
/** Time for a caller to send a request. */
const REQUEST_MS_MAX = 30_000;
/** The kernel's limit for a path is 108 bytes, including a final zero (unix(7)). */
const PATH_BYTES_MAX = 107;
const MESSAGE_CHARS_MAX = 500;
const CALL_CHARS_MAX = 20;

type Answer = Readonly<{ status: number; body: unknown }>;
/** A backup that has begun, so that it can no longer be refused. */
type BackupAnswer = Readonly<{ first: Uint8Array; rest: AsyncGenerator<Uint8Array, void> }>;

/**
 * Starts to listen. Requests are served one after the other, also during a backup.
 * @throws Fault permanent `socket_unusable`
 */
export async function serveSigningService({
  socket: path,
  service,
  log,
  limits,
}: ServerOptions): Promise<{ close(): Promise<void> }> {
  const { connectionsMax, idleMs } = { ...defaultLimits, ...limits };
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) {
    throw permanent(
      'socket_unusable',
      `the path of the socket is longer than ${PATH_BYTES_MAX} bytes: ${path}. Choose a folder with a shorter path`,
    );
  }
  const bounds = { maxHeaderSize: HEADER_BYTES_MAX, headersTimeout: REQUEST_MS_MAX, requestTimeout: REQUEST_MS_MAX };
  const handled = new Set<Promise<void>>();
  const server = createServer(bounds, (request, response) => {
    const one = handle(request, response).finally(() => handled.delete(one));
    handled.add(one);
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A caller that disconnects loses nothing, because it can repeat the request.
    response.on('error', () => {});
    const answered = await answer(request, { service, log });
    if ('rest' in answered) return sendBackup(response, answered, { idleMs, log });
    const { status, body } = answered;
    response.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`);
  }

  server.maxRequestsPerSocket = 1;
  server.maxConnections = connectionsMax;
  server.timeout = idleMs;
  let isFull = false;
  server.on('connection', () => {
    isFull = false;
  });
  server.on('drop', () => {
    if (!isFull) log.warn({ connectionsMax }, 'all connections are in use; further ones are closed at once');
    isFull = true;
  });
  rmSync(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(permanent('socket_unusable', `the signer cannot listen on ${path}: ${error.message}`, error)),
    );
    server.listen(path, resolve);
  });
  // If the signer has its own user, the group of the payout engine has access to the folder and the socket.
  chmodSync(path, (statSync(dirname(path)).mode & 0o070) === 0 ? 0o600 : 0o660);
  return {
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      // A backup reads the journal until it notices that its caller is gone.
      await Promise.allSettled(handled);
    },
  };
}

/** Serves one request. After the body was read, all is synchronous, so that requests cannot interleave. */
async function answer(
  request: IncomingMessage,
  { service, log }: Pick<ServerOptions, 'service' | 'log'>,
): Promise<Answer | BackupAnswer> {
  try {
    const method = callOf(request);
    const params = parse(await readBody(request, REQUEST_BYTES_MAX));
    if (method === 'backup') return await beginBackup(service, params);
    return { status: 200, body: z.encode(calls[method].result as z.ZodType, serve(service, method, params)) };
  } catch (error) {
    const fault = error instanceof Fault ? error : faultOf(error, request, log);
    const { kind, code, message } = fault;
    return { status: statusOf(fault), body: { kind, code, message } };
  }
}

/**
 * Returns the fault for an unexpected error. A bug fails only the request that met it, so that one request cannot stop
 * the signer for everybody. That is safe, because the seed is all that the process keeps between requests and no bytes
 * leave before the journal has them. If the journal itself is in doubt, the process ends and opens it again.
 * @throws the error, if it came from the journal
 */
function faultOf(error: unknown, { url }: IncomingMessage, log: Log): Fault {
  if (error instanceof BodyError) return refusedBody(error);
  if (isJournalError(error)) throw error;
  log.error({ err: error, call: url?.slice(0, CALL_CHARS_MAX) }, 'a request met an unexpected error');
  return transient(
    'signer_failed',
    'the signer met an unexpected error and refused the request: please report the error in its log',
  );
}

/** @throws Fault */
async function beginBackup(service: SigningService, params: unknown): Promise<BackupAnswer> {
  read('backup', params);
  const rest = service.backup();
  return { first: (await rest.next()).value ?? new Uint8Array(), rest };
}

/** Sends a backup, and always releases it. An error ends only the backup, because it does not concern signing. */
async function sendBackup(
  response: ServerResponse,
  { first, rest }: BackupAnswer,
  { idleMs, log }: Readonly<{ idleMs: number; log: Log }>,
): Promise<void> {
  let bytes = 0;
  const parts = async function* () {
    for (let part: Uint8Array | undefined = first; part; part = (await rest.next()).value ?? undefined) {
      // A caller that reads a few bytes now and then would otherwise keep others from making a backup.
      const taken = after(idleMs, () => response.destroy());
      try {
        yield part;
      } finally {
        taken();
      }
      bytes += part.length;
    }
  };
  try {
    response.writeHead(200, { 'content-type': 'application/octet-stream' });
    await pipeline(parts, response);
    log.info({ bytes }, 'a backup was made');
  } catch (error) {
    log.warn({ bytes }, `a backup was broken off: ${error instanceof Error ? error.message : error}`);
  } finally {
    await rest.return();
  }
}

const statusOf = ({ kind, code }: Fault): number => {
  if (kind === 'transient') return 503;
  return code === 'signer_refused_request' ? 400 : 403;
};

const refusedBody = ({ code }: BodyError): Fault =>
  refused(
    'request',
    code === 'too_large' ? `the request is larger than ${REQUEST_BYTES_MAX} bytes` : `the body is ${code}`,
  );

/** @throws Fault `signer_refused_request` */
function callOf({ method, url = '' }: IncomingMessage): CallName {
  const name = url.slice(1);
  if (method === 'POST' && Object.hasOwn(calls, name)) return name as CallName;
  throw refused('request', `expected POST with one of ${Object.keys(calls).map((call) => `/${call}`)}`);
}

/** @throws Fault `signer_refused_request` */
function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw refused('request', 'the body is not JSON');
  }
}

/** @throws Fault */
function serve(service: SigningService, method: JsonCallName, params: unknown): unknown {
  switch (method) {
    case 'wallets':
      return service.wallets(read(method, params).network);
    case 'addresses': {
      const { network, indices } = read(method, params);
      return service.addresses(network, indices);
    }
    case 'refundLock': {
      const { network, id } = read(method, params);
      return service.refundLock(network, id);
    }
    case 'sign':
      return service.sign(read(method, params));
    case 'journal': {
      const { network, after, limit } = read(method, params);
      return service.journal(network, after, limit);
    }
    case 'fence':
      return service.fence(read(method, params).network);
    case 'freezeState':
      read(method, params);
      return service.freezeState();
    case 'freeze': {
      const { reason, frozenBy } = read(method, params);
      return service.freeze(reason, frozenBy);
    }
    case 'thaw':
      return service.thaw(read(method, params).approval);
  }
}

/** @throws Fault `signer_refused_request` */
function read<N extends CallName>(method: N, params: unknown): CallParams<N> {
  const { data, error } = calls[method].params.safeParse(params);
  if (data) return data as CallParams<N>;
  const problems =
    error?.issues.map(({ path, message }) => `${path.join('.') || 'params'}: ${message}`).join('; ') ?? '';
  throw refused('request', `invalid parameters of "${method}": ${problems.slice(0, MESSAGE_CHARS_MAX)}`);
}
