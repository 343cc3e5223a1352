/**
 * A large file over HTTP as one stream of bytes, whatever happens to the connections.
 * @module
 */
import { Fault, permanent, transient } from '../../src/core/fault.ts';
import type { Clock } from '../../src/lib/clock.ts';

/** So many attempts in a row may bring nothing. */
const ATTEMPTS_MAX = 8;
const PAUSE_MS_MIN = 500;
const PAUSE_MS_MAX = 60_000;
const SMALL_BYTES_MAX = 64 * 1024;
const SMALL_MS_MAX = 15_000;

export type SnapshotSource = Readonly<{
  /** Of the whole file; null if the server does not say. */
  bytes: number | null;
  /** Whether an interrupted download can go on where it was. */
  canResume: boolean;
  /** What identifies this very file, so that a later run can go on with it; null if it could not. */
  mark: string | null;
  /** How many bytes are left out at the beginning, because they are there already. */
  from: number;
  stream: AsyncIterable<Uint8Array>;
}>;

/**
 * Opens the file. When a connection is cut, the stream asks for the rest, with growing pauses.
 * @param onCut called each time, with what happened
 * @param haveOf returns how many bytes of the file with this mark are there already
 * @throws Fault permanent `snapshot_refused`; the stream throws `snapshot_changed` and transient `snapshot_cut`
 */
export async function openSnapshot(
  url: string,
  clock: Clock,
  onCut: (why: string) => void,
  haveOf: (mark: string) => number = () => 0,
): Promise<SnapshotSource> {
  const first = await request(url, {});
  if (first.status !== 200)
    throw permanent('snapshot_refused', `${hostOf(url)} answered with HTTP status ${first.status}: check the address`);
  const length = Number(first.headers.get('content-length') ?? Number.NaN);
  const bytes = Number.isSafeInteger(length) ? length : null;
  // What identifies this very file: a server that has another one by then must not continue it.
  const mark = first.headers.get('etag') ?? first.headers.get('last-modified');
  const isWeak = mark?.startsWith('W/') ?? false;
  const canResume = first.headers.get('accept-ranges') === 'bytes' && bytes !== null && mark !== null && !isWeak;
  const have = canResume ? haveOf(mark) : 0;
  const from = bytes !== null && have <= bytes ? have : 0;
  if (from > 0) await first.body?.cancel();

  async function* stream(): AsyncGenerator<Uint8Array> {
    let received = from;
    let response: Response | null = from > 0 ? null : first;
    if (from > 0 && from === bytes) return;
    for (let failures = 0; ; ) {
      const before = received;
      let why = 'the connection ended early';
      try {
        response ??= await resume(url, received, bytes ?? 0, mark ?? '');
        for await (const chunk of response.body ?? []) {
          received += chunk.length;
          yield chunk;
        }
        if (bytes === null || received === bytes) return;
      } catch (error) {
        if (error instanceof Fault) throw error;
        why = causeOf(error);
      }
      response = null;
      failures = received > before ? 1 : failures + 1;
      if (!canResume || failures > ATTEMPTS_MAX || (bytes !== null && received > bytes)) {
        const hint = canResume ? 'try again later' : 'this server cannot go on where it was: start again';
        throw transient(
          'snapshot_cut',
          `${hostOf(url)}: ${why} after ${received} of ${bytes ?? 'unknown'} bytes; ${hint}`,
        );
      }
      onCut(why);
      await clock.sleep(Math.min(PAUSE_MS_MIN * 2 ** (failures - 1), PAUSE_MS_MAX));
    }
  }
  return { bytes, canResume, mark: canResume ? mark : null, from, stream: stream() };
}

const hostOf = (url: string): string => new URL(url).host;

/** fetch hides why a connection failed one level down. */
const causeOf = (error: unknown): string => {
  const { message, cause } = error as Error & { cause?: unknown };
  return cause instanceof Error ? cause.message : message;
};

async function request(url: string, headers: Record<string, string>): Promise<Response> {
  try {
    // Compressed on the way, its bytes could not be counted.
    return await fetch(url, { headers: { 'accept-encoding': 'identity', ...headers } });
  } catch (error) {
    throw permanent('snapshot_refused', `${hostOf(url)} cannot be reached: ${causeOf(error)}`, error);
  }
}

/** @throws Fault permanent `snapshot_changed`; Error if there is no answer */
async function resume(url: string, from: number, bytes: number, mark: string): Promise<Response> {
  const headers = { 'accept-encoding': 'identity', range: `bytes=${from}-`, 'if-range': mark };
  const response = await fetch(url, { headers });
  if (response.status === 206 && response.headers.get('content-range') === `bytes ${from}-${bytes - 1}/${bytes}`)
    return response;
  await response.body?.cancel();
  if (response.status >= 500) throw new Error(`HTTP status ${response.status}`);
  throw permanent('snapshot_changed', `${hostOf(url)} has another file there by now, or none: start again`);
}

/** Returns whether a server has a file; false too if it cannot be reached. */
export async function isThere(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(SMALL_MS_MAX) })).status === 200;
  } catch {
    return false;
  }
}

/** Returns a small text beside a file; null if there is none. */
export async function readSmall(url: string): Promise<string | null> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(SMALL_MS_MAX) });
    if (response.status !== 200 || Number(response.headers.get('content-length') ?? 0) > SMALL_BYTES_MAX) {
      await response.body?.cancel();
      return null;
    }
    return (await response.text()).slice(0, SMALL_BYTES_MAX);
  } catch {
    return null;
  }
}
