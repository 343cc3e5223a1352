/**
 * JSON lines on standard error, one per event, secrets redacted. Logging never handles an error.
 * @module
 */
import pino, { type Logger } from 'pino';
import { nameSources } from './stack-trace.ts';

export type Log = Logger;

/** Keys whose values are redacted at any of the first three levels. */
const secretKeys = [
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
];

// Every program logs, and what it logs last may be a stack trace.
nameSources();

/**
 * @param process the process that logs: `api`, `indexer test:ethereum`, …
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
