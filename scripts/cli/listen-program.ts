/** `quayside listen`: its options, its secret, and what it prints. `listen.ts` does the work. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readCredentials } from '../../src/app/sandbox-credentials.ts';
import { loadConfig } from '../../src/config/config.ts';
import { type EventType, eventTypes, typesNamed } from '../../src/core/event.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { newWebhookSecret } from '../../src/lib/id.ts';
import { createSecretFile } from '../../src/lib/secret-file.ts';
import { moment, type OfflineCommand, textOption, usage } from './command.ts';
import { type ListenOptions, listen } from './listen.ts';
import { printLine, untilStopped } from './output.ts';

export const listenCommand: OfflineCommand = {
  name: 'listen',
  args: [],
  summary: 'Forward test events to a handler on this machine, signed like webhooks.',
  options: {
    url: { value: 'URL', help: 'where to POST each event, such as http://localhost:3000/hooks', required: true },
    events: {
      value: 'LIST',
      help: 'comma-separated types, or payment.* and refund.* (the six that every endpoint gets)',
    },
    'secret-file': { value: 'FILE', help: 'the secret that signs them; created at the first start (listen.secret)' },
  },
  notes: [
    'It reads the events from the API with a test key: that of the sandbox, or the one in API_KEY and API_SECRET, of the',
    'installation at BASE_URL. It begins with the next event, and sends each once: what the handler missed is shown by',
    '`quayside show <event>`. With --json it prints one object for each event. Ctrl-C ends it.',
  ],
  async runOffline(input) {
    const forwardTo = textOption(input, 'url') ?? '';
    if (!URL.canParse(forwardTo) || !/^https?:$/.test(new URL(forwardTo).protocol))
      throw usage('--url is not an http:// or https:// URL');
    const types = readTypes(textOption(input, 'events'));
    const { dataDir } = loadConfig({ env: input.env, cwd: input.cwd, beforeSandbox: true });
    const api = readAccess(input.env, dataDir);
    const file = resolve(input.cwd, textOption(input, 'secret-file') ?? join(dataDir, 'listen.secret'));
    const { secret, isNew } = readSecret(file);
    const isJson = input.options.json === true;
    if (!isJson) {
      printLine(isNew ? `webhook secret ${secret} (kept in ${file})` : `webhook secret: as before, in ${file}`);
      printLine(`test events of ${api.baseUrl} go to ${forwardTo}; Ctrl-C ends`);
    }
    await untilStopped((signal) =>
      listen({
        ...{ api, forwardTo, secret, clock: systemClock, signal, ...(types && { types }) },
        onTrouble: (message) =>
          printLine(message === null ? 'connected again' : `${message}; trying again`, process.stderr),
        onForwarded(done) {
          const { event, type, orderId, status, error, ms } = done;
          const result = status === null ? error : `${status} (${ms} ms)`;
          const line = `${moment(systemClock.nowMs())}  ${type}  ${event}  order ${orderId}  ${result}`;
          printLine(isJson ? JSON.stringify(done) : line);
        },
      }),
    );
    return { json: undefined, lines: [] };
  },
};

function readTypes(text: string | undefined): EventType[] | undefined {
  return text?.split(',').flatMap((name) => {
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
  if (/^whsec_[A-Za-z0-9+/]{16,}={0,2}$/.test(secret)) return { secret, isNew };
  throw usage(`${file} does not hold a webhook secret; remove it, and \`quayside listen\` creates a new one`);
}
