/**
 * `quayside address-pool`: deriving lists where the seed is, on a real terminal and without one, and importing them
 * where the server is.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mnemonicToSeedSync } from '@scure/bip39';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type AddressList, makeAddressList } from '../../src/addresses/address-list.ts';
import { installationFolder as root } from '../../src/lib/installation.ts';
import { type Ended, runProgram } from '../support/quayside-process.ts';
import { until } from '../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-addresses-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

const phrase = `${'abandon '.repeat(11)}about`;
const otherPhrase = 'legal winner thank year wave sausage worth useful legal winner thank yellow';
const wrongChecksum = `${'abandon '.repeat(11)}abandon`;
/** Accounts 0 and 1 of the phrase, as popular wallets show them. */
const accounts = ['HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk', 'Hh8QwFUA6MtVu1qAoq12ucvFHNwCcVTV7hpWjeY1Hztb'];

let files = 0;
const newFile = (): string => join(folder, `list-${files++}.json`);
function fileWith(text: string): string {
  const file = newFile();
  writeFileSync(file, text);
  return file;
}

const tool = ['scripts/quayside.mjs', 'address-pool'];
const derive = (...words: string[]): string[] => [...tool, 'derive', '--network', 'solana', ...words];

/** Runs the command with text on standard input: all at once, then the end of input; or when `isAsked` is true. */
async function runWith(
  command: string,
  args: readonly string[],
  typed: string,
  isAsked?: (stdout: string) => boolean,
): Promise<Ended> {
  const child = spawn(command, args, { cwd: root, stdio: 'pipe' });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise<number | null>((done) => child.once('close', done));
  if (isAsked) {
    await until('the question is shown', () => isAsked(stdout) || child.exitCode !== null);
    child.stdin.write(typed);
  } else child.stdin.end(typed);
  return { code: await ended, stdout, stderr };
}

const pipedTo = (typed: string, words: readonly string[]) => runWith(process.execPath, words, typed);

/** The same on a pseudoterminal that echoes what is typed unless the program turns that off. */
function typedAt(typed: string, words: readonly string[]): Promise<Ended> {
  const command = [process.execPath, ...words].map((word) => `'${word}'`).join(' ');
  const isAsked = (stdout: string) => stdout.includes('Seed phrase (not shown): ');
  return runWith('script', ['-qe', '-E', 'always', '-c', command, '/dev/null'], typed, isAsked);
}

const readList = (file: string): AddressList => JSON.parse(readFileSync(file, 'utf8'));

/** Asserts that no word of a phrase is printed. */
function keepsSecret({ stdout, stderr }: Ended, secret: string): void {
  for (const word of new Set(secret.split(' '))) assert.not.match(`${stdout}${stderr}`, word);
}

// ── Deriving ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const isUtilLinux = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') ?? false;
/** Pseudoterminals are made by `script` of util-linux. */
const onTerminal = isUtilLinux ? test : test.skip;

onTerminal('on a terminal, the seed phrase is asked for and never shown', async () => {
  const out = newFile();
  const ended = await typedAt(`${phrase}\r`, derive('--count', '2', '--output', out));
  assert.is(ended.code, 0, ended.stdout);
  assert.match(ended.stdout, /Seed phrase \(not shown\): /);
  assert.match(ended.stdout, `the first is ${accounts[0]}`);
  keepsSecret(ended, phrase);
  assert.equal(readList(out).addresses, accounts);
  assert.not.match(readFileSync(out, 'utf8'), /abandon/);
});

test('without a terminal, the phrase is the first line of standard input', async () => {
  const out = newFile();
  const ended = await pipedTo(`  ${phrase.toUpperCase()} \nmore\n`, derive('--count', '2', '--output', out));
  assert.is(ended.code, 0, ended.stderr);
  keepsSecret(ended, phrase);
  assert.equal(readList(out).addresses, accounts);
});

test('an empty standard input is refused', async () => {
  const out = newFile();
  const ended = await pipedTo('', derive('--output', out));
  assert.is(ended.code, 1, ended.stderr);
  assert.match(ended.stderr, /the input ended before the answer/);
  assert.not(existsSync(out));
});

for (const [about, words] of [
  ['a wrong last word', wrongChecksum],
  ['an unknown word', phrase.replace('about', 'abouts')],
] as const) {
  test(`a phrase with ${about} is refused, and not repeated`, async () => {
    const out = newFile();
    const ended = await pipedTo(`${words}\n`, derive('--output', out));
    assert.is(ended.code, 1);
    assert.match(ended.stderr, /this is not a seed phrase of 12 to 24 English words \(BIP-39\)/);
    keepsSecret(ended, words);
    assert.not(existsSync(out));
  });
}

test('an existing file is not overwritten, and the seed is not even asked for', async () => {
  const out = fileWith('precious');
  const ended = await pipedTo(`${phrase}\n`, derive('--output', out));
  assert.is(ended.code, 1);
  assert.match(ended.stderr, /exists already; name another file/);
  assert.not.match(ended.stderr, /Seed phrase/);
  assert.is(readFileSync(out, 'utf8'), 'precious');
});

const unwritten = join(folder, 'unwritten.json');
const refusals: readonly (readonly [number, RegExp, ...string[]])[] = [
  [2, /--network is "solan", which is not a preset/, 'derive', '--network', 'solan', '--output', unwritten],
  [2, /which is not a preset/, 'derive', '--network', '../networks/solana', '--output', unwritten],
  [1, /evm networks derive their addresses from the xpub/, 'derive', '--network', 'ethereum', '--output', unwritten],
  [2, /required option '--output <FILE>' not specified/, 'derive', '--network', 'solana'],
  [
    1,
    /nowhere\/list\.json cannot be written/,
    'derive',
    '--network',
    'solana',
    '--output',
    `${folder}/nowhere/list.json`,
  ],
];

for (const [code, message, ...words] of refusals) {
  test(`exit code ${code}: ${words.join(' ').replaceAll(folder, '…')}`, async () => {
    const ended = await runProgram([...tool, ...words], {});
    assert.is(ended.code, code, ended.stderr);
    assert.match(ended.stderr, message);
    assert.not.match(ended.stderr, /^\s+at /m);
    assert.not(existsSync(unwritten));
  });
}

// ── Importing ────────────────────────────────────────────────────────────────────────────────────────────────────────

const settings = join(folder, 'quayside.json');
writeFileSync(
  settings,
  JSON.stringify({ data_dir: 'data', networks: { 'solana-devnet': { url: 'ws://127.0.0.1:1' } } }),
);
const variables = { QUAYSIDE_CONFIG: settings };

/** A list as `derive` makes it. @returns its file */
async function makeList(from: number, count: number, words = phrase): Promise<string> {
  const list = await makeAddressList({ family: 'solana', mode: 'test' }, mnemonicToSeedSync(words), from, count);
  return fileWith(JSON.stringify(list));
}

const importFile = (file: string) => runProgram([...tool, 'import', file, '--json'], variables);

async function createInstallation(environment: Readonly<Record<string, string>>): Promise<void> {
  const { code, stderr } = await runProgram(['scripts/quayside.mjs', 'store', 'add', 'Shop'], environment);
  assert.is(code, 0, stderr);
}

async function imported(file: string) {
  const { code, stdout, stderr } = await importFile(file);
  assert.is(code, 0, stderr);
  const { added, free, next_index } = JSON.parse(stdout);
  return { added, free, next_index };
}

async function isRefused(file: string, code: string, why: RegExp): Promise<void> {
  const ended = await importFile(file);
  assert.is(ended.code, 1, ended.stderr);
  assert.is(JSON.parse(ended.stdout).error.code, code);
  assert.match(ended.stderr, why);
}

async function freeNow(): Promise<number> {
  const { stdout } = await runProgram(['scripts/quayside.mjs', 'status', '--json'], variables);
  return JSON.parse(stdout).pools[0].free;
}

test('a list is imported once, an overlapping list adds its new addresses, and any other list is refused', async () => {
  await createInstallation(variables);
  const first = await makeList(0, 5);
  const { signature, ...rest } = readList(first);
  const forged = fileWith(JSON.stringify({ ...rest, signature: `AAAA${signature.slice(4)}` }));
  await isRefused(forged, 'address_list_invalid', /its signature is wrong/);
  assert.equal(await imported(first), { added: 5, free: 5, next_index: 5 });
  await isRefused(first, 'address_list_refused', /all of it was imported before; the next list begins at 5/);
  assert.equal(await imported(await makeList(3, 4)), { added: 2, free: 7, next_index: 7 });
  await isRefused(await makeList(0, 9, otherPhrase), 'address_list_refused', /this pool takes only lists of \w+/);
  await isRefused(folder, 'file_unusable', /cannot be read/);
  assert.is((await importFile(newFile())).code, 3);
  assert.is(await freeNow(), 7);
});

test('the first import prints the signer that the pool trusts from then on', async () => {
  const elsewhere = { ...variables, QUAYSIDE_DATA_DIR: join(folder, 'other') };
  await createInstallation(elsewhere);
  const before = await runProgram(['scripts/quayside.mjs', 'status'], elsewhere);
  assert.match(
    before.stdout,
    /^solana +test +0 +0 +EMPTY: new sessions do not offer its networks.*; derive and import addresses from 0 on/m,
  );
  const file = await makeList(0, 2);
  const { code, stdout } = await runProgram([...tool, 'import', file], elsewhere);
  assert.is(code, 0);
  assert.match(stdout, /added 2 addresses; the test solana pool has 2 free and ends before index 2/);
  assert.match(stdout, `from now on, this pool accepts only lists signed by ${readList(file).signer}`);
});

test.run();
