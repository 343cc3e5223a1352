/**
 * Turns the OpenAPI document into clients in three languages with the generators that people use, compiles them, and
 * makes signed calls with each to a running API. Two linters read the document.
 *
 * The generators are installed once, into a cache outside the checkout, at exact versions. Without Go or Python, that
 * language is skipped.
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

const OAPI_CODEGEN = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2';
const INSTALL_MS_MAX = 10 * 60_000;

const here = resolve('test/openapi');
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'quayside');
const work = mkdtempSync(join(tmpdir(), 'quayside-clients-'));
const document = join(work, 'openapi.json');

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
 * Installs tools once. The folder is named after what is installed, and has its name only when it is complete.
 * @param manifest what is installed, at which versions
 */
async function install(name: string, manifest: string, into: (folder: string) => Promise<unknown>): Promise<string> {
  const hash = createHash('sha256').update(manifest).digest('hex').slice(0, 12);
  const folder = join(cache, `${name}-client-${hash}`);
  if (existsSync(folder)) return folder;
  const unfinished = `${folder}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  try {
    await into(unfinished);
    renameSync(unfinished, folder);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return folder;
}

const installNpm = (): Promise<string> =>
  install('typescript', readFileSync(join(here, 'typescript/package.json'), 'utf8'), async (folder) => {
    cpSync(join(here, 'typescript/package.json'), join(folder, 'package.json'));
    await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder });
  });

const installPython = (): Promise<string> =>
  install('python', readFileSync(join(here, 'python/requirements.txt'), 'utf8'), async (folder) => {
    // Packages in a plain folder, because a virtual environment cannot be moved.
    await run('python3', [
      '-m',
      'pip',
      'install',
      '-q',
      '--target',
      folder,
      '-r',
      join(here, 'python/requirements.txt'),
    ]);
  });

const installGo = (): Promise<string> =>
  install('go', OAPI_CODEGEN, async (folder) => {
    await run('go', ['install', OAPI_CODEGEN], { env: { GOBIN: folder, CGO_ENABLED: '0' } });
  });

type Shop = Readonly<{
  language: string;
  /** The program without which the language is skipped, and how it says its version. */
  needs: readonly [string, ...string[]];
  install(): Promise<string>;
  generate(tools: string, folder: string): Promise<unknown>;
  typeCheck(tools: string, folder: string): Promise<unknown>;
  call(tools: string, folder: string, env: Readonly<Record<string, string>>): Promise<string>;
}>;

const typescript: Shop = {
  language: 'typescript',
  needs: ['npm', '--version'],
  install: installNpm,
  async generate(tools, folder) {
    // Modules are found from the place of the file that imports them.
    await run('ln', ['-s', join(tools, 'node_modules'), join(folder, 'node_modules')]);
    await run(join(tools, 'node_modules/.bin/openapi-typescript'), [document, '-o', join(folder, 'quayside.ts')]);
  },
  typeCheck: (tools, folder) => run(join(tools, 'node_modules/.bin/tsc'), ['-p', folder]),
  call: (_tools, folder, env) => run(process.execPath, [join(folder, 'shop.mts')], { env }),
};

const python: Shop = {
  language: 'python',
  needs: ['python3', '-m', 'pip', '--version'],
  install: installPython,
  async generate(tools, folder) {
    const config = [
      '--config',
      join(folder, 'config.yaml'),
      '--meta',
      'none',
      '--output-path',
      join(folder, 'quayside'),
    ];
    const args = ['-m', 'openapi_python_client', 'generate', '--path', document, '--fail-on-warning', ...config];
    await run('python3', args, { env: { PYTHONPATH: tools } });
  },
  typeCheck: (tools, folder) =>
    run('python3', ['-m', 'mypy', 'shop.py', 'quayside'], { cwd: folder, env: { PYTHONPATH: tools } }),
  call: (tools, folder, env) => run('python3', ['shop.py'], { cwd: folder, env: { ...env, PYTHONPATH: tools } }),
};

const go: Shop = {
  language: 'go',
  needs: ['go', 'version'],
  install: installGo,
  async generate(tools, folder) {
    mkdirSync(join(folder, 'quayside'));
    const out = ['-generate', 'types,client', '-package', 'quayside', '-o', join(folder, 'quayside/quayside.go')];
    await run(join(tools, 'oapi-codegen'), [...out, document]);
  },
  typeCheck: (_tools, folder) => run('go', ['vet', './...'], { cwd: folder }),
  call: (_tools, folder, env) => run('go', ['run', '.'], { cwd: folder, env }),
};

/** Whether a shop can be tried here. Its tools are being installed then, beside those of the others. */
async function prepare(shop: Shop): Promise<Readonly<{ shop: Shop; folder: string; tools: Promise<string> | null }>> {
  const [program, ...args] = shop.needs;
  const folder = join(work, shop.language);
  try {
    await run(program, args);
  } catch {
    return { shop, folder, tools: null };
  }
  cpSync(join(here, shop.language), folder, { recursive: true });
  const tools = shop.install();
  // Whoever waits for it says that it failed.
  tools.catch(() => {});
  return { shop, folder, tools };
}

const api = await startApi();
await api.follow();
writeFileSync(document, await (await fetch(`${api.baseUrl}/openapi.json`)).text());
const shops = await Promise.all([typescript, python, go].map(prepare));

/** Returns what a shop prints, from the session as the API's own test client reads it. */
async function printedFor(id: string): Promise<readonly string[]> {
  const { json } = await api.send('GET', `/api/v1/checkout/sessions/${id}`);
  const session = json as Readonly<{ id: string; payment_options: readonly Readonly<{ currency: string }>[] }>;
  const named = `Coffee, 1 kg ${session.payment_options[0]?.currency}`;
  return [session.id, '1050 EUR true', named, 'invalid_parameter amount'];
}

for (const { shop, folder, tools } of shops) {
  const { language } = shop;
  const tried = tools ? test : test.skip;
  tried(`${language}: a client is generated and type-checks`, async () => {
    await shop.generate((await tools) ?? '', folder);
    await shop.typeCheck((await tools) ?? '', folder);
  });

  tried(`${language}: the client makes signed calls, and reads sessions and refusals`, async () => {
    // The shops sign with the time of this machine.
    api.clock.advance(Date.now() - api.clock.nowMs());
    const env = { BASE_URL: api.baseUrl, API_KEY: api.testKey.apiKey, API_SECRET: api.testKey.apiSecret };
    const printed = (await shop.call((await tools) ?? '', folder, env)).replace('True', 'true').trim().split(/\r?\n/);
    assert.equal(printed, await printedFor(printed[0] ?? ''));
  });
}

test('redocly and spectral find nothing', async () => {
  const bin = join(await installNpm(), 'node_modules/.bin');
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
