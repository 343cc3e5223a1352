/**
 * One JSON line per happening, on standard error, secrets removed. A log line is never where an error ends.
 * @module
 */
import pino, { type Logger } from 'pino';

export type Log = Logger;

/** Keys whose values never reach a log line, wherever they stand. */
const secretKeys = [
  'authorization',
  'secret',
  'apiSecret',
  'api_secret',
  'apiKey',
  'api_key',
  'webhookSecret',
  'webhook_secret',
  'signature',
  'xpub',
  'x-service-signature',
];

/**
 * @param process which process speaks: `api`, `indexer test:ethereum`, …
 * @param level pino's level name; `silent` for none
 */
export function openLog(process: string, level: string): Log {
  return pino(
    {
      level,
      base: { process },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: {
        paths: secretKeys.flatMap((key) => [`["${key}"]`, `*["${key}"]`, `*.*["${key}"]`]),
        censor: '[redacted]',
      },
    },
    pino.destination({ dest: 2, sync: true }),
  );
}
