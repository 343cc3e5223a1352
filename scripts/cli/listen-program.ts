/**
 * `quayside listen`: its options, its secret, and what it prints. `listen.ts` does the work.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readCredentials } from '../../src/app/sandbox-credentials.ts';
import { loadConfig } from '../../src/config/config.ts';
import { type EventType, eventTypes, typesNamed } from '../../src/core/event.ts';
import { printable } from '../../src/core/excerpt.ts';
import { Fault } from '../../src/core/fault.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { newWebhookSecret } from '../../src/lib/id.ts';
import { createSecretFile } from '../../src/lib/secret-file.ts';
import { moment, usage } from './command.ts';
import { type ListenOptions, listen } from './listen.ts';

const options = {
  'forward-to': { type: 'string' },
  events: { type: 'string' },
  'secret-file': { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

const help = [
  'quayside listen: forwards the test events of this installation to a handler on this machine',
  '',
  '  quayside listen --forward-to URL [--events LIST] [--secret-file FILE] [--json]',
  '',
  '  --forward-to URL    where to POST each event, such as http://localhost:3000/hooks',
  '  --events LIST       comma-separated types, or payment.* and refund.* (the six that every endpoint gets)',
  '  --secret-file FILE  the secret that signs them; created at the first start (listen.secret in the data directory)',
  '  --json              print one JSON object for each event',
  '',
  'It reads the events from the API with a test key: that of the sandbox, or the one in API_KEY and API_SECRET, of the',
  'installation at BASE_URL. It begins with the next event, and sends each once: what the handler missed is shown by',
  '`quayside show <event>`. Ctrl-C ends it.',
];

const print = (line: string): void => void process.stdout.write(`${printable(line)}\n`);
function complain(text: string): void {
  process.stderr.write(`quayside: ${text.split('\n').map(printable).join('\n')}\n`);
}

function readOptions(words: readonly string[]) {
  try {
    return parseArgs({ args: [...words], options, strict: true }).values;
  } catch (error) {
    throw usage(error instanceof Error ? error.message : String(error));
  }
}

function readTypes(text: string): EventType[] {
  return text.split(',').flatMap((name) => {
    const types = typesNamed(name.trim());
    if (types.length === 0) throw usage(`--events contains "${name}", expected ${eventTypes.join(', ')}, or payment.*`);
    return types;
  });
}

/** Returns the key to read with: the environment's, named as in the API reference, or the sandbox's. */
function readAccess(env: NodeJS.ProcessEnv, dataDir: string): ListenOptions['api'] {
  const { API_KEY: apiKey, API_SECRET: apiSecret, BASE_URL: baseUrl } = env;
  if (apiKey?.startsWith('sk_live_')) throw usage('API_KEY is a live key: only test events are forwarded');
  if (apiKey?.startsWith('sk_test_')) {
    if (!apiSecret || !baseUrl) throw usage('API_KEY is set: set API_SECRET and BASE_URL too');
    return { apiKey, apiSecret, baseUrl: baseUrl.replace(/\/$/, '') };
  }
  const sandbox = readCredentials(dataDir);
  if (sandbox) return { apiKey: sandbox.api_key, apiSecret: sandbox.api_secret, baseUrl: sandbox.base_url };
  throw usage(
    'there is no test key: set API_KEY, API_SECRET and BASE_URL (`quayside key create --mode test` prints the first two), ' +
      'or start the sandbox with `npm start`',
  );
}

/** Returns the secret of the file, which is created if there is none, and whether it is new. */
function readSecret(file: string): Readonly<{ secret: string; isNew: boolean }> {
  const isNew = !existsSync(file) && createSecretFile(file, `${newWebhookSecret()}\n`);
  const secret = readFileSync(file, 'utf8').trim();
  if (!/^whsec_[A-Za-z0-9+/]{16,}={0,2}$/.test(secret)) {
    throw usage(`${file} does not hold a webhook secret; remove it, and \`quayside listen\` creates a new one`);
  }
  return { secret, isNew };
}

/** Runs until Ctrl-C or SIGTERM. @returns the exit code */
export async function runListen(words: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<number> {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  try {
    const { 'forward-to': forwardTo, events, 'secret-file': given, json = false, help: wantsHelp } = readOptions(words);
    if (wantsHelp) {
      for (const line of help) print(line);
      return 0;
    }
    if (!forwardTo || !URL.canParse(forwardTo) || !/^https?:$/.test(new URL(forwardTo).protocol)) {
      throw usage('--forward-to must be an http:// or https:// URL; `quayside listen --help` shows the options');
    }
    const types = events === undefined ? undefined : readTypes(events);
    const { dataDir } = loadConfig({ env, cwd: process.cwd(), beforeSandbox: true });
    const api = readAccess(env, dataDir);
    const file = given ?? join(dataDir, 'listen.secret');
    const { secret, isNew } = readSecret(file);
    for (const request of ['SIGINT', 'SIGTERM'] as const) process.once(request, stop);
    if (!json) {
      print(isNew ? `webhook secret ${secret} (kept in ${file})` : `webhook secret: as before, in ${file}`);
      print(`test events of ${api.baseUrl} go to ${forwardTo}; Ctrl-C ends`);
    }
    await listen({
      api,
      forwardTo,
      secret,
      ...(types && { types }),
      clock: systemClock,
      signal: stopping.signal,
      onTrouble: (message) => complain(message === null ? 'connected again' : `${message}; trying again`),
      onForwarded(done) {
        const { event, type, orderId, status, error, ms } = done;
        if (json) print(JSON.stringify(done));
        else {
          const result = status === null ? error : `${status} (${ms} ms)`;
          print(`${moment(systemClock.nowMs())}  ${type}  ${event}  order ${orderId}  ${result}`);
        }
      },
    });
    return 0;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    complain(error.message);
    return error.code === 'usage' || error.code === 'config_invalid' ? 2 : 1;
  } finally {
    for (const request of ['SIGINT', 'SIGTERM'] as const) process.off(request, stop);
  }
}
