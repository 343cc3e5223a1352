/**
 * The samples of the reference run as they are shown.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { OpenApiDocument } from '../../src/api/openapi.ts';
import { callSample, signingSample } from '../../src/api/samples.ts';
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

type Ended = Readonly<{ isDone: boolean; said: string }>;

const run = ([program, ...words]: readonly [string, ...string[]], cwd: string, env: object): Promise<Ended> =>
  new Promise((done) => {
    execFile(program, words, { cwd, env: { ...process.env, ...env } }, (error, stdout, stderr) =>
      done({ isDone: error === null, said: `${stdout}${stderr}` }),
    );
  });

test('every call runs as it is shown', async () => {
  await installation.start();
  // Programs take long to start on a busy machine.
  await installation.tool('store', 'set', 'refund-cancel-window=600');
  const credentials = readCredentials(join(folder, 'data'));
  assert.ok(credentials);
  const { base_url: baseUrl, api_key: apiKey, api_secret: apiSecret } = credentials;
  const client = signedClient({ baseUrl, apiKey, apiSecret }, () => Math.floor(Date.now() / 1000));
  const document = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as OpenApiDocument;
  const env = { API_KEY: apiKey, API_SECRET: apiSecret };
  writeFileSync(join(folder, 'quayside.sh'), signingSample(baseUrl));
  const count = await walkExamples({
    document,
    suffix: 'curl',
    async make({ anchor }, call) {
      writeFileSync(join(folder, 'call.sh'), callSample(call));
      const ended = await run(['sh', 'call.sh'], folder, env);
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
