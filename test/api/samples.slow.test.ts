/** The samples of the reference run as they are shown: those for webhooks in every language that is installed. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { OpenApiDocument } from '../../src/api/openapi.ts';
import { callSample, type Sample, signingSamples, verifyingSamples } from '../../src/api/samples.ts';
import { readCredentials } from '../../src/app/sandbox-credentials.ts';
import { webhookHeaders } from '../../src/core/delivery.ts';
import { walkExamples } from '../support/example-calls.ts';
import { endAll, sandboxInstallation } from '../support/quayside-process.ts';
import { signedClient } from '../support/signed-client.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-samples-'));
const installation = sandboxInstallation(join(folder, 'data'), {}, ['ethereum']);
test.after(async () => {
  await endAll();
  rmSync(folder, { recursive: true, force: true });
});

type Program = Readonly<{ file: string; text: string; run: readonly [string, ...string[]] }>;

type Language = Readonly<{
  id: string;
  /** Shows that it is installed. */
  probe: readonly [string, ...string[]];
  /** A program that reads an account with `quayside.*`, and how to run it. */
  call: Program;
  /** A program that succeeds if `verify.*` accepts the webhook of the environment, and how to run it. */
  verify: Program;
}>;

const languages: readonly Language[] = [
  {
    id: 'curl',
    probe: ['curl', '--version'],
    call: { file: 'call.sh', text: '. ./quayside.sh\ncall GET /api/v1/account', run: ['sh', 'call.sh'] },
    verify: {
      file: 'try.sh',
      text: '. ./verify.sh\nprintf %s "$BODY" > body.json\nverify_webhook "$TIMESTAMP" "$NONCE" "$SIGNATURE" body.json "$SECRET" test',
      run: ['sh', 'try.sh'],
    },
  },
  {
    id: 'node',
    probe: [process.execPath, '--version'],
    call: {
      file: 'call.mjs',
      text: `import { call } from './quayside.mjs';
console.log(await call('GET', '/api/v1/account'));`,
      run: [process.execPath, 'call.mjs'],
    },
    verify: {
      file: 'try.mjs',
      text: `import { verifyWebhook } from './verify.mjs';
const { HEADERS, BODY, SECRET } = process.env;
process.exit(verifyWebhook(JSON.parse(HEADERS), Buffer.from(BODY), SECRET, 'test') ? 0 : 1);`,
      run: [process.execPath, 'try.mjs'],
    },
  },
  {
    id: 'php',
    probe: ['php', '--version'],
    call: {
      file: 'call.php',
      text: "<?php\nrequire 'quayside.php';\nprint_r(call('GET', '/api/v1/account'));",
      run: ['php', 'call.php'],
    },
    verify: {
      file: 'try.php',
      text: `<?php
require 'verify.php';
$headers = json_decode(getenv('HEADERS'), true);
exit(verify_webhook($headers, getenv('BODY'), [getenv('SECRET')], 'test') ? 0 : 1);`,
      run: ['php', 'try.php'],
    },
  },
  {
    id: 'python',
    probe: ['python3', '--version'],
    call: {
      file: 'call.py',
      text: 'import quayside\nprint(quayside.call("GET", "/api/v1/account"))',
      run: ['python3', 'call.py'],
    },
    verify: {
      file: 'try.py',
      text: `import json, os, sys
from verify import verify_webhook
headers = json.loads(os.environ["HEADERS"])
sys.exit(0 if verify_webhook(headers, os.environ["BODY"].encode(), os.environ["SECRET"], "test") else 1)`,
      run: ['python3', 'try.py'],
    },
  },
  {
    id: 'go',
    probe: ['go', 'version'],
    call: {
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
    verify: {
      file: 'verify_test.go',
      text: `package webhooks

import (
	"net/http"
	"os"
	"testing"
	"time"
)

func TestVerify(t *testing.T) {
	headers := http.Header{}
	headers.Set("X-Service-Timestamp", os.Getenv("TIMESTAMP"))
	headers.Set("X-Service-Nonce", os.Getenv("NONCE"))
	headers.Set("X-Service-Signature", os.Getenv("SIGNATURE"))
	if !VerifyWebhook(headers, []byte(os.Getenv("BODY")), []string{os.Getenv("SECRET")}, false, time.Now()) {
		t.Fatal("refused")
	}
}`,
      run: ['go', 'test', 'verify.go', 'verify_test.go'],
    },
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

/** Returns the environment with a webhook as an endpoint of test mode gets it. */
function webhook(body: string): Readonly<Record<string, string>> {
  const secret = `whsec_${btoa('a secret of thirty-two bytes or so')}`;
  const timestampS = Math.floor(Date.now() / 1000);
  const stamp = { secret, nextSecret: null, mode: 'test', eventId: 'evt_1', eventType: 'payment.completed' } as const;
  const sent = webhookHeaders({ ...stamp, body, timestampS, nonce: 'a-nonce' });
  const headers = Object.fromEntries(Object.entries(sent).map(([name, value]) => [name.toLowerCase(), value]));
  return {
    HEADERS: JSON.stringify(headers),
    BODY: body,
    SECRET: secret,
    TIMESTAMP: String(timestampS),
    NONCE: 'a-nonce',
    SIGNATURE: headers['x-service-signature'] ?? '',
  };
}

const installed = languages.filter(({ probe: [program, ...words] }) => spawnSync(program, words).status === 0);

for (const { id, verify } of installed) {
  test(`the sample in ${id} accepts a webhook, and refuses an altered one and one of the other mode`, async () => {
    const own = makeFolder(id, verifyingSamples());
    writeFileSync(join(own, verify.file), verify.text);
    const body = '{"id":"evt_1","livemode":false}';
    const accepted = await run(verify.run, own, webhook(body));
    assert.ok(accepted.isDone, accepted.said);
    const altered = { ...webhook(body), BODY: '{"id":"evt_2","livemode":false}' };
    assert.not((await run(verify.run, own, altered)).isDone);
    assert.not((await run(verify.run, own, webhook('{"id":"evt_1","livemode":true}'))).isDone);
  });
}

test('every call runs as it is shown, and one in every language that is installed', async () => {
  await installation.start();
  // Programs take long to start on a busy machine.
  await installation.tool('store', 'set', '--refund-cancel-window', '600');
  const credentials = readCredentials(join(folder, 'data'));
  assert.ok(credentials);
  const { base_url: baseUrl, api_key: apiKey, api_secret: apiSecret } = credentials;
  const client = signedClient({ baseUrl, apiKey, apiSecret }, () => Math.floor(Date.now() / 1000));
  const document = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as OpenApiDocument;
  const env = { API_KEY: apiKey, API_SECRET: apiSecret };
  for (const { id, call } of installed) {
    const own = makeFolder(id, signingSamples(baseUrl));
    writeFileSync(join(own, call.file), call.text);
    const ended = await run(call.run, own, env);
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
