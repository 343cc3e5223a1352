/**
 * Turns the OpenAPI document into a client with a generator that people use, compiles it, and makes signed calls with
 * it to a running API. Two linters read the document. `sdk/` has clients in other languages, with tests of their own.
 *
 * The tools are installed once, into a cache outside the checkout, at exact versions.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startApi } from '../support/api-server.ts';

const INSTALL_MS_MAX = 10 * 60_000;

const here = resolve('test/openapi/typescript');
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'quayside');
const work = mkdtempSync(join(tmpdir(), 'quayside-clients-'));
const document = join(work, 'openapi.json');
const folder = join(work, 'typescript');

type Run = Readonly<{ cwd?: string; env?: Readonly<Record<string, string>> }>;

/** Runs a program. @returns its standard output @throws Error with all that it wrote, if it fails */
async function run(program: string, args: readonly string[], { cwd = work, env = {} }: Run = {}): Promise<string> {
  try {
    const options = { cwd, env: { ...process.env, ...env }, timeout: INSTALL_MS_MAX, maxBuffer: 64 * 1024 * 1024 };
    return (await promisify(execFile)(program, args, options)).stdout;
  } catch (error) {
    const { message, stdout = '', stderr = '' } = error as Error & { stdout?: string; stderr?: string };
    throw new Error(`${message}\n${stdout}${stderr}`);
  }
}

/**
 * Installs the tools once. Their folder is named after what is installed, and has its name only when it is complete.
 * @returns where they are
 */
async function install(): Promise<string> {
  const manifest = join(here, 'package.json');
  const hash = createHash('sha256').update(readFileSync(manifest, 'utf8')).digest('hex').slice(0, 12);
  const tools = join(cache, `typescript-client-${hash}`);
  if (existsSync(tools)) return tools;
  const unfinished = `${tools}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  try {
    cpSync(manifest, join(unfinished, 'package.json'));
    await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: unfinished });
    renameSync(unfinished, tools);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return tools;
}

const api = await startApi();
await api.follow();
writeFileSync(document, await (await fetch(`${api.baseUrl}/openapi.json`)).text());
cpSync(here, folder, { recursive: true });
const bin = join(await install(), 'node_modules/.bin');

/** Returns what the shop prints, from the session as the API's own test client reads it. */
async function printedFor(id: string): Promise<readonly string[]> {
  const { json } = await api.send('GET', `/api/v1/checkout/sessions/${id}`);
  const session = json as Readonly<{ id: string; payment_options: readonly Readonly<{ currency: string }>[] }>;
  const named = `Coffee, 1 kg ${session.payment_options[0]?.currency}`;
  return [session.id, '1050 EUR true', named, 'invalid_parameter amount'];
}

test('a client is generated and type-checks', async () => {
  // Modules are found from the place of the file that imports them.
  await run('ln', ['-s', resolve(bin, '..'), join(folder, 'node_modules')]);
  await run(join(bin, 'openapi-typescript'), [document, '-o', join(folder, 'quayside.ts')]);
  await run(join(bin, 'tsc'), ['-p', folder]);
});

test('the client makes signed calls, and reads sessions and refusals', async () => {
  // The shop signs with the time of this machine.
  api.clock.advance(Date.now() - api.clock.nowMs());
  const env = { BASE_URL: api.baseUrl, API_KEY: api.testKey.apiKey, API_SECRET: api.testKey.apiSecret };
  const printed = (await run(process.execPath, [join(folder, 'shop.mts')], { env })).trim().split(/\r?\n/);
  assert.equal(printed, await printedFor(printed[0] ?? ''));
});

test('redocly and spectral find nothing', async () => {
  await run(join(bin, 'redocly'), ['lint', document]);
  const rules = join(work, 'spectral.yaml');
  writeFileSync(rules, 'extends: spectral:oas\n');
  await run(join(bin, 'spectral'), ['lint', document, '-r', rules, '--fail-severity', 'warn']);
});

test.after(async () => {
  await api.close();
  rmSync(work, { recursive: true, force: true });
});
test.run();
