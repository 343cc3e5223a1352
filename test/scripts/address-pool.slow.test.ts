/**
 * `quayside address-pool`: deriving lists where the seed is, on a real terminal and without one, and importing one
 * where the server is. `test/addresses/address-list.test.ts` has which lists are refused.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { AddressList } from '../../src/addresses/address-list.ts';
import { quayside } from '../support/built.ts';
import { endAll } from '../support/processes.ts';
import { runQuayside } from '../support/quayside-process.ts';
import { atTerminal, hasTerminal, runTyped } from '../support/typed-program.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-addresses-'));
const settings = join(folder, 'quayside.json');
const networks = { 'solana-devnet': { url: 'ws://127.0.0.1:1' } };
writeFileSync(settings, JSON.stringify({ data_dir: 'data', networks }));
const variables = { QUAYSIDE_CONFIG: settings };
const place = { cwd: folder, variables };
test.after(async () => {
  await endAll('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const phrase = `${'abandon '.repeat(11)}about`;
/** Accounts 0 and 1 of the phrase, as popular wallets show them. */
const accounts = ['HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk', 'Hh8QwFUA6MtVu1qAoq12ucvFHNwCcVTV7hpWjeY1Hztb'];

let files = 0;
const newFile = (): string => join(folder, `list-${files++}.json`);
const derive = (out: string, ...words: string[]): string[] => {
  const named = ['--network', 'solana-devnet', '--output', out, ...words];
  return ['address-pool', 'derive', ...named];
};
const typed = (lines: readonly string[], words: readonly string[]) => runTyped([quayside, ...words], lines, place);
const readList = (file: string): AddressList => JSON.parse(readFileSync(file, 'utf8'));

/** Asserts that no word of a phrase is printed. */
function keepsSecret(text: string, secret: string): void {
  for (const word of new Set(secret.trim().split(' '))) assert.not.match(text, word);
}

(hasTerminal ? test : test.skip)('on a terminal, the seed phrase is asked for and never shown', async () => {
  const out = newFile();
  const terminal = atTerminal([quayside, ...derive(out, '--to', '1')], place);
  await terminal.answer(/Seed phrase \(not shown\): /, phrase);
  assert.is((await terminal.ended).code, 0, terminal.shown());
  // Lines break between words where the terminal ends.
  assert.match(terminal.shown().replaceAll(/\s+/g, ' '), `first ${accounts[0]}`);
  keepsSecret(terminal.shown(), phrase);
  assert.equal(readList(out).addresses, accounts);
  assert.not.match(readFileSync(out, 'utf8'), /abandon/);
});

test('without a terminal, the phrase is the first line of standard input', async () => {
  const out = newFile();
  const ended = await typed([`  ${phrase.toUpperCase()} `, 'more'], derive(out, '--to', '1'));
  assert.is(ended.code, 0, ended.stderr);
  keepsSecret(ended.stdout + ended.stderr, phrase);
  assert.equal(readList(out).addresses, accounts);
});

test('no phrase, a wrong one, and one with an unknown word are refused, and not repeated', async () => {
  const out = newFile();
  assert.is((await typed([], derive(out))).code, 1);
  for (const words of [`${'abandon '.repeat(11)}abandon`, phrase.replace('about', 'abouts')]) {
    const ended = await typed([words], derive(out));
    assert.is(ended.code, 1);
    assert.match(ended.stderr, 'BIP-39');
    keepsSecret(ended.stdout + ended.stderr, words);
  }
  assert.not(existsSync(out));
});

test('a file that exists, another network and a folder that is not there are refused before the seed is asked for', async () => {
  const precious = newFile();
  writeFileSync(precious, 'precious');
  const out = newFile();
  for (const [code, ...words] of [
    [1, ...derive(precious)],
    [1, ...derive(join(folder, 'nowhere/list.json'))],
    [2, 'address-pool', 'derive', '--network', '../networks/solana', '--output', out],
    [1, 'address-pool', 'derive', '--network', 'ethereum', '--output', out],
    [2, 'address-pool', 'derive', '--network', 'solana'],
  ] as const) {
    const ended = await runQuayside(words, variables);
    assert.is(ended.code, code, ended.err);
  }
  assert.is(readFileSync(precious, 'utf8'), 'precious');
  assert.not(existsSync(out));
});

test('a list is imported, and the first one names the signer that the pool trusts from then on', async () => {
  const run = (...words: string[]) => runQuayside(words, variables);
  assert.is((await run('store', 'add', 'Shop')).code, 0);
  assert.match((await run('status')).out, /^solana +test +0 +0 +derive and import addresses from 0 on/m);
  const out = newFile();
  assert.is((await typed([phrase], derive(out, '--to', '1'))).code, 0);
  const first = await run('address-pool', 'import', out);
  assert.is(first.code, 0, first.err);
  assert.match(first.out, `only lists signed by ${readList(out).signer}`);
  const again = await run('address-pool', 'import', out, '--json');
  assert.equal([again.code, JSON.parse(again.out).error.code], [1, 'address_list_refused']);
  const unreadable = await run('address-pool', 'import', folder, '--json');
  assert.equal([unreadable.code, JSON.parse(unreadable.out).error.code], [1, 'file_unusable']);
  assert.is((await run('address-pool', 'import', newFile())).code, 3);
  const { pools } = JSON.parse((await run('status', '--json')).out);
  assert.is(pools[0].free, 2);
});

test.run();
