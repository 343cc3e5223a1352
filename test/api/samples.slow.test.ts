/**
 * The samples of the reference run as they are shown: every call in curl, and one in every language that is installed.
 * `test/webhooks/verify.slow.test.ts` runs those that verify webhooks.
 */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { OpenApiDocument } from '../../src/api/openapi.ts';
import { callSample, type Sample, signingSamples } from '../../src/api/samples.ts';
import { readCredentials } from '../../src/app/sandbox-credentials.ts';
import { endAll, sandboxInstallation } from '../support/quayside-process.ts';
import { signedClient } from '../support/signed-client.ts';
import { walkExamples } from './example-calls.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-samples-'));
const installation = sandboxInstallation(join(folder, 'data'), {}, ['ethereum']);
test.after(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

/** A program that reads an account with `quayside.*`. `probe` shows whether its language is installed. */
type Language = Readonly<{
  id: string;
  probe: readonly [string, ...string[]];
  file: string;
  text: string;
  run: readonly [string, ...string[]];
}>;

const languages: readonly Language[] = [
  {
    id: 'curl',
    probe: ['curl', '--version'],
    file: 'call.sh',
    text: '. ./quayside.sh\ncall GET /api/v1/account',
    run: ['sh', 'call.sh'],
  },
  {
    id: 'node',
    probe: [process.execPath, '--version'],
    file: 'call.mjs',
    text: "import { call } from './quayside.mjs';\nconsole.log(await call('GET', '/api/v1/account'));",
    run: [process.execPath, 'call.mjs'],
  },
  {
    id: 'php',
    probe: ['php', '--version'],
    file: 'call.php',
    text: "<?php\nrequire 'quayside.php';\nprint_r(call('GET', '/api/v1/account'));",
    run: ['php', 'call.php'],
  },
  {
    id: 'python',
    probe: ['python3', '--version'],
    file: 'call.py',
    text: 'import quayside\nprint(quayside.call("GET", "/api/v1/account"))',
    run: ['python3', 'call.py'],
  },
  {
    id: 'go',
    probe: ['go', 'version'],
    file: 'call.go',
    text: `package main

import "fmt"

func main() {
\tanswer, err := Call("GET", "/api/v1/account", "")
\tif err != nil {
\t\tpanic(err)
\t}
\tfmt.Println(string(answer))
}`,
    run: ['go', 'run', 'quayside.go', 'call.go'],
  },
];

type Ended = Readonly<{ isDone: boolean; said: string }>;

const run = ([program, ...words]: readonly [string, ...string[]], cwd: string, env: object): Promise<Ended> =>
  new Promise((done) => {
    execFile(program, words, { cwd, env: { ...process.env, ...env } }, (error, stdout, stderr) =>
      done({ isDone: error === null, said: `${stdout}${stderr}` }),
    );
  });

/** Makes the folder of a language's samples. */
function makeFolder(id: string, samples: readonly Sample[]): string {
  const own = mkdtempSync(join(folder, `${id}-`));
  for (const { file, text } of samples.filter(({ language }) => language === id)) writeFileSync(join(own, file), text);
  return own;
}

const installed = languages.filter(({ probe: [program, ...words] }) => spawnSync(program, words).status === 0);

test('every call runs as it is shown, and one in every language that is installed', async () => {
  await installation.start();
  // Programs take long to start on a busy machine.
  await installation.tool('store', 'set', 'refund-cancel-window=600');
  const credentials = readCredentials(join(folder, 'data'));
  assert.ok(credentials);
  const { base_url: baseUrl, api_key: apiKey, api_secret: apiSecret } = credentials;
  const client = signedClient({ baseUrl, apiKey, apiSecret }, () => Math.floor(Date.now() / 1000));
  const document = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as OpenApiDocument;
  const env = { API_KEY: apiKey, API_SECRET: apiSecret };
  for (const { id, file, text, run: command } of installed) {
    const own = makeFolder(id, signingSamples(baseUrl));
    writeFileSync(join(own, file), text);
    const ended = await run(command, own, env);
    assert.ok(ended.isDone && ended.said.includes('settlement_currency'), `${id}: ${ended.said}`);
  }
  const own = makeFolder('curl', signingSamples(baseUrl));
  const count = await walkExamples({
    document,
    suffix: 'curl',
    async make({ anchor }, call) {
      writeFileSync(join(own, 'call.sh'), callSample(call));
      const ended = await run(['sh', 'call.sh'], own, env);
      assert.ok(ended.isDone, `${anchor}: ${ended.said}`);
    },
    read: async (path) => (await client.send('GET', path)).json,
    async pay(id) {
      await client.send('POST', `/api/v1/test/sessions/${id}/simulate`, { action: 'pay_exact' });
      await installation.paid(id);
    },
  });
  assert.ok(count > 15);
});

test.run();
