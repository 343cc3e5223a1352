/**
 * The bridge beside java-tron as a program: its options and its token.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { startBridge } from '../../src/chains/tron/node/bridge.ts';
import { solidUrlOf } from '../../src/chains/tron/node/http.ts';
import { Fault, permanent } from '../../src/core/fault.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openLog } from '../../src/lib/log.ts';
import { createSecretFile } from '../../src/lib/secret-file.ts';

const TOKEN_CHARS_MIN = 16;
const POLL_MS_MIN = 50;
const POLL_MS_MAX = 60_000;

const options = {
  node: { type: 'string', default: 'http://127.0.0.1:8090' },
  solid: { type: 'string' },
  host: { type: 'string', default: '127.0.0.1' },
  port: { type: 'string', default: '8190' },
  'poll-ms': { type: 'string', default: '300' },
  'token-file': { type: 'string', default: 'tron-ws.token' },
  'log-level': { type: 'string', default: 'info' },
  help: { type: 'boolean' },
} as const;

const help = [
  'quayside tron-ws: serves a WebSocket for java-tron, for indexers on other machines',
  '',
  '  --node URL         java-tron’s HTTP interface (http://127.0.0.1:8090)',
  '  --solid URL        java-tron’s solidified interface (port 8091 if the node’s is 8090, otherwise the same URL)',
  '  --host ADDRESS     the address to listen on (127.0.0.1; 0.0.0.0 for every interface)',
  '  --port NUMBER      the port to listen on (8190; 0 for any free one)',
  '  --poll-ms NUMBER   how often to ask the node for its head (300)',
  '  --token-file FILE  the token that indexers must send; created at the first start (tron-ws.token)',
  '  --log-level LEVEL  fatal, error, warn, info, debug or trace (info)',
  '',
  'TRON_WS_TOKEN, if set, replaces the token file. The indexer’s "url" is ws://HOST:PORT/?token=TOKEN',
];

const wrong = (message: string) => permanent('usage', message);

function readOptions(words: readonly string[]) {
  try {
    return parseArgs({ args: [...words], options, strict: true }).values;
  } catch (error) {
    throw wrong(error instanceof Error ? error.message : String(error));
  }
}

function url(name: string, text: string): URL {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return new URL(text);
  throw wrong(`--${name} is not an http:// or https:// URL`);
}

function whole(name: string, text: string, min: number, max: number): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw wrong(`--${name} is "${text}", expected a whole number from ${min} to ${max}`);
}

/** Returns the token from the variable or the file; creates a file that does not exist. */
function readToken(file: string): { token: string; isNew: boolean } {
  const given = process.env.TRON_WS_TOKEN;
  const isNew = given === undefined && createSecretFile(file, `${randomBytes(24).toString('base64url')}\n`);
  const token = (given ?? readFileSync(file, 'utf8')).trim();
  if (token.length >= TOKEN_CHARS_MIN) return { token, isNew };
  throw wrong(
    `the token in ${given === undefined ? file : 'TRON_WS_TOKEN'} is shorter than ${TOKEN_CHARS_MIN} characters`,
  );
}

/**
 * Runs until SIGTERM or SIGINT.
 * @returns the exit code: 0 stopped by a signal; 2 wrong usage, or the port or the token file cannot be used
 */
export async function runTronWs(words: readonly string[]): Promise<number> {
  try {
    const given = readOptions(words);
    if (given.help) {
      process.stdout.write(`${help.join('\n')}\n`);
      return 0;
    }
    await run(given);
    return 0;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (!(error instanceof Fault) && !/^E[A-Z]+$/.test(code)) throw error;
    process.stderr.write(`quayside tron-ws: ${(error as Error).message}\n`);
    return 2;
  }
}

async function run(given: ReturnType<typeof readOptions>): Promise<void> {
  const nodeUrl = url('node', given.node);
  const port = whole('port', given.port, 0, 65_535);
  const pollMs = whole('poll-ms', given['poll-ms'], POLL_MS_MIN, POLL_MS_MAX);
  const solidUrl = given.solid === undefined ? solidUrlOf(nodeUrl) : url('solid', given.solid);
  const { token, isNew } = readToken(given['token-file']);
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
  });
  const log = openLog('tron-ws', given['log-level']);
  const { host } = given;
  const bridge = await startBridge({ host, port, token, nodeUrl, solidUrl, pollMs, clock: systemClock, log });
  const shown = isNew ? token : `<the token in ${given['token-file']}>`;
  process.stdout.write(`listening on ${host}:${bridge.port} for ${nodeUrl.host}\n`);
  process.stdout.write(`the indexer’s url: ws://${host}:${bridge.port}/?token=${shown}\n`);
  await stopped;
  await bridge.close();
}
