/** The functions of the reference trust what our sender sends, and nothing else, in each installed language. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { newWebhookSecret } from '../../src/lib/id.ts';
import { installationFolder } from '../../src/lib/installation.ts';
import { shellWord } from '../../src/lib/shell-word.ts';
import { startMerchantServer } from '../support/merchant-server.ts';
import { until } from '../support/until.ts';
import { inShop } from '../support/webhook-shop.ts';

type Case = Readonly<{
  name: string;
  headers: Record<string, string>;
  body: string;
  secrets: readonly string[];
  mode: 'live' | 'test';
  now: number;
  isTrusted: boolean;
}>;

const docs = join(installationFolder, 'src/api/samples');
const folder = mkdtempSync(join(tmpdir(), 'quayside-verify-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

/** Reads cases from `cases.json` and prints a JSON list: whether each one is trusted. */
const programs: readonly Readonly<{ language: string; command: readonly string[]; name: string; text: string }>[] = [
  {
    language: 'Node',
    command: ['node', 'run.mjs'],
    name: 'run.mjs',
    text: `import { readFileSync } from 'node:fs';
import { verifyWebhook } from './verify.mjs';
const cases = JSON.parse(readFileSync('cases.json', 'utf8'));
// One secret may be given as it is.
const given = (secrets) => (secrets.length === 1 ? secrets[0] : secrets);
const trusted = (one) => verifyWebhook(one.headers, Buffer.from(one.body), given(one.secrets), one.mode, one.now) !== null;
console.log(JSON.stringify(cases.map(trusted)));`,
  },
  {
    language: 'Python',
    command: ['python3', 'run.py'],
    name: 'run.py',
    text: `import json, sys
sys.dont_write_bytecode = True
sys.path.insert(0, '${docs}')
from verify import verify_webhook
cases = json.load(open('cases.json', encoding='utf-8'))
given = lambda secrets: secrets[0] if len(secrets) == 1 else secrets
trusted = lambda one: verify_webhook(one['headers'], one['body'].encode(), given(one['secrets']), one['mode'], one['now']) is not None
print(json.dumps([trusted(one) for one in cases]))`,
  },
  {
    language: 'PHP',
    command: ['php', 'run.php'],
    name: 'run.php',
    text: `<?php
require '${docs}/verify.php';
$cases = json_decode(file_get_contents('cases.json'), true);
$trusted = fn($one) => verify_webhook($one['headers'], $one['body'], $one['secrets'], $one['mode'], $one['now']) !== null;
echo json_encode(array_map($trusted, $cases));`,
  },
  {
    language: 'a shell',
    command: ['sh', 'run.sh'],
    name: 'run.sh',
    text: '. ./verify.sh\n. ./cases.sh\n',
  },
  {
    language: 'Go',
    command: ['go', 'run', 'run.go', 'verify.go'],
    name: 'run.go',
    text: `package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"
)

func main() {
	text, _ := os.ReadFile("cases.json")
	var cases []struct {
		Headers map[string]string
		Body    string
		Secrets []string
		Mode    string
		Now     int64
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		panic(err)
	}
	trusted := []bool{}
	for _, one := range cases {
		headers := http.Header{}
		for name, value := range one.Headers {
			headers.Set(name, value)
		}
		answer := VerifyWebhook(headers, []byte(one.Body), one.Secrets, one.Mode == "live", time.Unix(one.Now, 0))
		trusted = append(trusted, answer)
	}
	out, _ := json.Marshal(trusted)
	fmt.Println(string(out))
}`,
  },
];

/** Sends one event through the real outbox and dispatcher. @returns what arrived, and what must become of it */
async function sentCases(): Promise<Case[]> {
  const cases: Case[] = [];
  await inShop(async (shop) => {
    const server = await startMerchantServer((response) => void response.writeHead(200).end());
    const endpoint = await shop.addEndpoint(`${server.origin}/hook`);
    const [first, next] = [shop.secret, newWebhookSecret()];
    const act = { atMs: shop.clock.nowMs(), operator: 'alice', command: 'webhook secret', reason: null };
    const rotate = (step: { kind: 'start'; secret: string } | { kind: 'finish' }) =>
      shop.database.endpoints.rotateSecret({ id: endpoint, mode: 'test', step, act, isDryRun: false });
    shop.dispatch();
    const arrived = async (count: number) => {
      await shop.cancelOne();
      await until(`event ${count} arrives`, async () => server.received.length === count);
      const received = server.received[count - 1];
      assert.ok(received);
      const headers = Object.fromEntries(
        Object.entries(received.headers).map(([name, value]) => [name, String(value)]),
      );
      return { headers, body: received.body, mode: 'test', now: Number(headers['x-service-timestamp']) } as const;
    };
    const plain = await arrived(1);
    await rotate({ kind: 'start', secret: next });
    const during = await arrived(2);
    await rotate({ kind: 'finish' });
    const after = await arrived(3);
    await server.close();

    const yes = (name: string, one: Omit<Case, 'name' | 'isTrusted'>) => cases.push({ ...one, name, isTrusted: true });
    const no = (name: string, more: Partial<Case>) =>
      cases.push({ ...plain, secrets: [first], ...more, name, isTrusted: false });
    yes('as sent', { ...plain, secrets: [first] });
    yes('five minutes old', { ...plain, secrets: [first], now: plain.now + 300 });
    yes('during a rotation', { ...during, secrets: [first] });
    yes('during a rotation, with both', { ...during, secrets: [next, first] });
    yes('after it, with both', { ...after, secrets: [first, next] });
    no('after it, with the old secret', { ...after });
    no('in live mode', { mode: 'live' });
    no('too old', { now: plain.now + 301 });
    no('from the future', { now: plain.now - 301 });
    no('another body', { body: plain.body.replace('canceled', 'completed') });
    no('another mode in the body', { body: plain.body.replace('"livemode":false', '"livemode":true'), mode: 'live' });
    no('another secret', { secrets: [next] });
    no('no secret', { secrets: [] });
    no('no headers', { headers: {} });
    no('an empty signature', { headers: { ...plain.headers, 'x-service-signature': '' } });
    no('a signature that is not hex', { headers: { ...plain.headers, 'x-service-signature': 'ключ' } });
    no('another nonce', { headers: { ...plain.headers, 'x-service-nonce': 'other' } });
    no('a newer timestamp', { headers: { ...plain.headers, 'x-service-timestamp': String(plain.now + 1) } });
  })();
  return cases;
}

/** Writes the calls for a shell, which takes one secret at a time. */
function shellCases(all: readonly Case[]): string {
  const calls = all.map(({ headers, body, secrets, mode, now }, at) => {
    writeFileSync(join(folder, `body-${at}`), body);
    const head = ['timestamp', 'nonce', 'signature'].map((name) => shellWord(headers[`x-service-${name}`] ?? ''));
    const check = (secret: string) => `verify_webhook ${head.join(' ')} body-${at} ${shellWord(secret)} ${mode} ${now}`;
    return `if ${secrets.map(check).join(' || ') || 'false'}; then echo true; else echo false; fi`;
  });
  return `{\n${calls.join('\n')}\n} | paste -s -d , | sed 's/.*/[&]/'\n`;
}

const cases = await sentCases();
writeFileSync(join(folder, 'cases.json'), JSON.stringify(cases));
writeFileSync(join(folder, 'cases.sh'), shellCases(cases));
for (const name of ['verify.mjs', 'verify.sh']) copyFileSync(join(docs, name), join(folder, name));
writeFileSync(
  join(folder, 'verify.go'),
  readFileSync(join(docs, 'verify.go'), 'utf8').replace('package webhooks', 'package main'),
);

for (const { language, command, name, text } of programs) {
  const [program = '', ...words] = command;
  const isThere = spawnSync('which', [program]).status === 0;
  if (!isThere) {
    process.stdout.write(`skipped: ${language}, because ${program} is not installed\n`);
    continue;
  }
  test(`${language} trusts what is sent, and nothing else`, () => {
    writeFileSync(join(folder, name), text);
    const env = { ...process.env, GO111MODULE: 'off' };
    const { stdout, stderr } = spawnSync(program, words, { cwd: folder, env, encoding: 'utf8' });
    const trusted: boolean[] = JSON.parse(stdout || `"${stderr.replaceAll('"', "'").replaceAll('\n', ' ')}"`);
    assert.equal(
      cases.map((one, at) => [one.name, trusted[at]]),
      cases.map((one) => [one.name, one.isTrusted]),
    );
  });
}

test.run();
