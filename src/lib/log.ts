/**
 * JSON lines on standard error, one per event, secrets redacted. Logging never handles an error, and never is one.
 */
import { writeSync } from 'node:fs';
import { systemClock } from './clock.ts';
import { nameSources } from './stack-trace.ts';

const severities = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 } as const;
type Level = keyof typeof severities;

/** Writes a line: a message, after fields that say more. An error belongs in the field `err`. */
type Write = (fields: Readonly<Record<string, unknown>> | string, message?: string) => void;
export type Log = Readonly<Record<Level, Write>>;

/** Keys whose values are redacted, at any depth. */
const secretKeys = new Set([
  'authorization',
  'secret',
  'apiSecret',
  'api_secret',
  'apiKey',
  'api_key',
  'webhookSecrets',
  'nextSecret',
  'webhook_secret',
  'signature',
  'xpub',
  'x-service-signature',
]);

// Every program logs, and what it logs last may be a stack trace.
nameSources();
const STANDARD_ERROR = 2;
/** How long to wait for a reader whose pipe is full. */
const FULL_MS = 5;
const neverWoken = new Int32Array(new SharedArrayBuffer(4));

/** Writes the whole line before it returns, because a process may end with it. `process.stderr` would not. */
function toStandardError(line: string): void {
  let rest = Buffer.from(line);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(STANDARD_ERROR, rest));
    } catch (error) {
      // A reader that has gone away is no reason to end.
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) return;
      Atomics.wait(neverWoken, 0, 0, FULL_MS);
    }
  }
}

/**
 * @param source the process that logs: `api`, `indexer test:ethereum`, …
 * @param level the least severe level that is written; `silent`, or another word, for none
 * @param write takes each line, with its line feed
 */
export function openLog(source: string, level: string, write = toStandardError): Log {
  const least = level in severities ? severities[level as Level] : Number.POSITIVE_INFINITY;
  const writer = (name: Level): Write => {
    const severity = severities[name];
    if (severity < least) return () => {};
    return (fields, message) => {
      const said = typeof fields === 'string' ? { msg: fields } : { ...fields, msg: message };
      write(
        `${asJson({ level: severity, time: new Date(systemClock.nowMs()).toISOString(), process: source, ...said })}\n`,
      );
    };
  };
  return {
    trace: writer('trace'),
    debug: writer('debug'),
    info: writer('info'),
    warn: writer('warn'),
    error: writer('error'),
    fatal: writer('fatal'),
  };
}

function asJson(event: Readonly<Record<string, unknown>>): string {
  try {
    return JSON.stringify(event, writable);
  } catch {
    // A value that contains itself.
    const { level, time, process, msg } = event;
    return JSON.stringify({ level, time, process, msg, unwritable: Object.keys(event) });
  }
}

function writable(key: string, value: unknown): unknown {
  if (secretKeys.has(key)) return '[redacted]';
  if (typeof value === 'bigint') return value.toString();
  if (!(value instanceof Error)) return value;
  const { name, message, stack, cause } = value;
  return { ...value, type: name, message, stack, ...(cause !== undefined && { cause }) };
}
