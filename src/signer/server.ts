/**
 * The signer's door: a unix socket that speaks one JSON object a line. Whoever can open it is asked for nothing else, so the folder it stands in
 * belongs to one user; and whoever that is, everything has a limit.
 * @module
 */
import { chmodSync, rmSync, statSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { z } from 'zod';
import { Fault, permanent } from '../core/fault.ts';
import type { Log } from '../lib/log.ts';
import { type CallName, type CallParams, calls, REQUEST_BYTES_MAX, requestLine } from './protocol.ts';
import { refused } from './rules.ts';
import type { SigningService } from './signing-service.ts';

export type ServerOptions = Readonly<{
  /** Path of the socket; what a signer that was killed has left there is replaced. */
  socket: string;
  service: SigningService;
  log: Log;
  limits?: Partial<ServerLimits>;
}>;

export type ServerLimits = Readonly<{
  /** Further connections are closed at once. */
  connectionsMax: number;
  /** A connection that is silent, or does not take its answers, for so long is closed. */
  idleMs: number;
}>;

const defaultLimits: ServerLimits = { connectionsMax: 32, idleMs: 300_000 };
/** The kernel keeps a path in 108 bytes, the last of them zero. */
const PATH_BYTES_MAX = 107;
const MESSAGE_CHARS_MAX = 500;
const LINE_FEED = 0x0a;

/**
 * Serves until closed. Requests of all connections are served one after the other, each whole; those of one connection in their order.
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
      `the path of the socket is too long for the system: ${path}. Choose a shorter folder`,
    );
  }
  const open = new Set<Socket>();
  let isFull = false;
  const server = createServer((socket) => {
    isFull = false;
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    socket.setTimeout(idleMs, () => socket.destroy());
    // The other side went away: nothing is lost, for an answer can be asked for again.
    socket.on('error', () => socket.destroy());
    serveConnection(socket, service).catch((error) => {
      // Anything else is an error of the program: unhandled, it ends the process.
      if (!isGone(error)) throw error;
    });
  });
  server.maxConnections = connectionsMax;
  server.on('drop', () => {
    if (!isFull) log.warn({ connectionsMax }, 'all connections are taken; further ones are closed at once');
    isFull = true;
  });
  rmSync(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(permanent('socket_unusable', `the signer cannot listen on ${path}: ${error.message}`, error)),
    );
    server.listen(path, resolve);
  });
  // An operator who runs the signer as a user of its own lets the engine's group into the folder; then the socket is the group's too.
  chmodSync(path, (statSync(dirname(path)).mode & 0o070) === 0 ? 0o600 : 0o660);
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

const isGone = (error: unknown): boolean =>
  ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '');

async function serveConnection(socket: Socket, service: SigningService): Promise<void> {
  let partial: Buffer[] = [];
  let partialBytes = 0;
  // Left open when the loop ends early, so that the last answer still goes out.
  for await (const chunk of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    let rest = chunk;
    for (let end = rest.indexOf(LINE_FEED); end >= 0; end = rest.indexOf(LINE_FEED)) {
      if (partialBytes + end > REQUEST_BYTES_MAX) return refuseLongLine(socket);
      const line = Buffer.concat([...partial, rest.subarray(0, end)]);
      partial = [];
      partialBytes = 0;
      rest = rest.subarray(end + 1);
      const { answer, isReadable } = answerLine(line, service);
      if (!isReadable) return leave(socket, answer);
      const goesOn = socket.write(`${answer}\n`);
      // Whoever does not take answers is asked nothing more meanwhile; others get their turn between any two requests.
      if (!goesOn) await drained(socket);
      else await new Promise((turn) => setImmediate(turn));
      if (socket.destroyed) return;
    }
    if (rest.length > 0) partial.push(rest);
    partialBytes += rest.length;
    if (partialBytes > REQUEST_BYTES_MAX) return refuseLongLine(socket);
  }
}

const refuseLongLine = (socket: Socket): void =>
  leave(socket, errorLine(null, refused('request', `a request has at most ${REQUEST_BYTES_MAX} bytes`)));

/** Sends a last answer and closes. */
function leave(socket: Socket, answer: string): void {
  socket.end(`${answer}\n`, () => socket.destroy());
}

/** Resolves when the answers have gone out, or the other side has. */
const drained = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      socket.off('drain', done).off('close', done);
      resolve();
    };
    if (socket.destroyed) resolve();
    else socket.on('drain', done).on('close', done);
  });

/** Serves one line. `isReadable` is false when it was no request at all: what follows it cannot be trusted to be one. */
function answerLine(line: Buffer, service: SigningService): Readonly<{ answer: string; isReadable: boolean }> {
  const request = readRequest(line);
  if (!request) {
    const fault = refused('request', 'expected one JSON object a line: {"id", "method", "params"}');
    return { answer: errorLine(null, fault), isReadable: false };
  }
  const { id, method, params } = request;
  try {
    const result = serve(service, method, params);
    return {
      answer: JSON.stringify({ id, result: z.encode(calls[method].result as z.ZodType, result) }),
      isReadable: true,
    };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { answer: errorLine(id, error), isReadable: true };
  }
}

function readRequest(line: Buffer): z.output<typeof requestLine> | null {
  try {
    return requestLine.safeParse(JSON.parse(line.toString('utf8'))).data ?? null;
  } catch {
    // Not JSON.
    return null;
  }
}

const errorLine = (id: number | null, { kind, code, message }: Fault): string =>
  JSON.stringify({ id, error: { kind, code, message } });

/** @throws Fault */
function serve(service: SigningService, method: CallName, params: unknown): unknown {
  switch (method) {
    case 'wallets':
      return service.wallets(read(method, params).network);
    case 'addresses': {
      const { network, indices } = read(method, params);
      return service.addresses(network, indices);
    }
    case 'sign':
      return service.sign(read(method, params));
    case 'journal': {
      const { network, after, limit } = read(method, params);
      return service.journal(network, after, limit);
    }
    case 'fence':
      return service.fence(read(method, params).network);
  }
}

/** @throws Fault `signer_refused_request` */
function read<N extends CallName>(method: N, params: unknown): CallParams<N> {
  const { data, error } = calls[method].params.safeParse(params);
  if (data) return data as CallParams<N>;
  const problems =
    error?.issues.map(({ path, message }) => `${path.join('.') || 'params'}: ${message}`).join('; ') ?? '';
  throw refused('request', `"${method}" was not asked as it should be: ${problems.slice(0, MESSAGE_CHARS_MAX)}`);
}
