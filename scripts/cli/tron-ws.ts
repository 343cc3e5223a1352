/** The bridge beside java-tron as a command: its options and its token. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { startBridge } from '../../src/chains/tron/node/bridge.ts';
import { solidUrlOf } from '../../src/chains/tron/node/http.ts';
import { permanent } from '../../src/core/fault.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openLog } from '../../src/lib/log.ts';
import { createSecretFile } from '../../src/lib/secret-file.ts';
import { type Input, type OfflineCommand, textOption, usage } from './command.ts';
import { printLine, untilStopped } from './output.ts';

const LISTEN = '127.0.0.1:8190';
const TOKEN_CHARS_MIN = 16;
/** How often the node is asked for its head. */
const POLL_MS = 300;

export const tronWs: OfflineCommand = {
  name: 'tron-ws',
  summary: 'Serve a WebSocket for a java-tron node, on the node’s machine.',
  options: {
    url: { value: 'URL', help: 'java-tron’s HTTP interface (http://127.0.0.1:8090)' },
    listen: {
      value: 'HOST:PORT',
      help: `where to listen (${LISTEN}; 0.0.0.0 for every interface, 0 for any free port)`,
    },
    tokenFile: {
      value: 'FILE',
      help: 'the token that indexers must send; created at the first start (tron-ws.token)',
    },
  },
  notes: ['The indexer’s "url" is ws://HOST:PORT/?token=TOKEN'],
  async runOffline(input) {
    const nodeUrl = nodeUrlOf(input);
    const solidUrl = solidUrlOf(nodeUrl);
    const { host, port } = listenOf(input);
    const file = textOption(input, 'tokenFile') ?? 'tron-ws.token';
    const { token, isNew } = readToken(file);
    const log = openLog('tron-ws', 'info');
    await untilStopped(async (stop) => {
      const options = { host, port, token, nodeUrl, solidUrl, pollMs: POLL_MS, clock: systemClock, log };
      const bridge = await startBridge(options).catch((error: NodeJS.ErrnoException) => {
        throw error.code ? permanent('cannot_start', error.message, error) : error;
      });
      printLine(`listening on ${host}:${bridge.port} for ${nodeUrl.host}`);
      printLine(`the indexer’s url: ws://${host}:${bridge.port}/?token=${isNew ? token : `<the token in ${file}>`}`);
      if (!stop.aborted) await once(stop, 'abort');
      await bridge.close();
    });
    return { json: null, lines: [] };
  },
};

/** @throws Fault permanent `usage` */
function listenOf(input: Input): { host: string; port: number } {
  const text = textOption(input, 'listen') ?? LISTEN;
  const [, host = '', port = ''] = /^(.+):(\d{1,5})$/.exec(text) ?? [];
  if (host !== '' && Number(port) <= 65_535) return { host, port: Number(port) };
  throw usage(`--listen is "${text}", expected an address and a port, such as ${LISTEN}`);
}

/** @throws Fault permanent `usage` */
function nodeUrlOf(input: Input): URL {
  const text = textOption(input, 'url') ?? 'http://127.0.0.1:8090';
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return new URL(text);
  throw usage('--url is not an http:// or https:// URL');
}

/** Returns the token of the file, which is created if it does not exist. */
function readToken(file: string): { token: string; isNew: boolean } {
  const isNew = createSecretFile(file, `${randomBytes(24).toString('base64url')}\n`);
  const token = readFileSync(file, 'utf8').trim();
  if (token.length >= TOKEN_CHARS_MIN) return { token, isNew };
  throw usage(`the token in ${file} is shorter than ${TOKEN_CHARS_MIN} characters`);
}
