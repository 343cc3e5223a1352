/**
 * The frame of the tools: commands, options and their help, refusals with their exit codes, completion and tables.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { commandsPage } from '../../scripts/cli/commands-page.ts';
import { quaysideTool } from '../../scripts/cli/quayside.ts';
import { signerTool } from '../../scripts/cli/signer-tool.ts';
import { listLines, table, wrapped } from '../../scripts/cli/table.ts';
import { runTool } from '../../scripts/cli/tool.ts';
import { readShipped } from '../../src/lib/installation.ts';
import { runQuayside } from '../support/quayside-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'quayside-tool-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

const xpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(3)).derive("m/44'/60'/0'/0").publicExtendedKey;
const file = join(folder, 'quayside.json');
const networks = { sepolia: { url: 'ws://127.0.0.1:1', xpub }, ethereum: { url: 'ws://127.0.0.1:1', xpub } };
writeFileSync(file, JSON.stringify({ data_dir: 'data', networks }));
const variables = { QUAYSIDE_CONFIG: file };
const run = (...words: string[]) => runQuayside(words, variables);

test('no command but `store add` makes an installation', async () => {
  const dataDir = join(folder, 'data');
  for (const words of [['key', 'list'], ['status'], ['user', 'link', 'Ann']]) {
    const { code, out, err } = await run(...words);
    assert.equal({ code, out }, { code: 2, out: '' });
    assert.match(err, `there is no installation in ${dataDir}; check QUAYSIDE_DATA_DIR`);
  }
  assert.is(existsSync(dataDir), false);
  assert.is((await run('store', 'add', 'First')).code, 0);
  assert.is((await run('key', 'list')).code, 0);
});

const missing = '0'.repeat(26);
const TEST_KEY = ['key', 'create', '--mode', 'test'];
const REREAD = ['network', 'reread', 'test:ethereum', '--from'];
const because = ['--reason', 'x'];
const refused: readonly (readonly [number, RegExp, ...string[]])[] = [
  [2, /^$/],
  [2, /'both' is invalid. Allowed choices are live, test/, 'key', 'create', '--mode', 'both'],
  [2, /required option '--mode <live\|test>' not specified/, 'key', 'create'],
  [2, /unknown option '--jsn'\n.*\(Did you mean --json\?\)/, 'status', '--jsn'],
  [2, /unknown command 'staus'\n.*\(Did you mean status\?\)\n.*see `quayside --help`/, 'staus'],
  [2, /unknown command 'payouts'\n.*\(Did you mean payout\?\)/, 'payouts', '--help'],
  [2, /--scopes: /, 'key', 'create', '--mode', 'live'],
  [2, /--scopes: /, ...TEST_KEY, '--scopes', 'everything'],
  [2, /--tolerance: /, 'store', 'set', '--tolerance=-1'],
  [2, /unknown option '--toleranz/, 'store', 'set', '--toleranz=1'],
  [2, /URL/, 'webhook', 'add', 'http://169.254.169.254/latest', '--mode', 'test'],
  [3, /nothing here is called "cs_nonsense"/, 'show', 'cs_nonsense'],
  [3, /nothing here is called/, 'show', `cs_${missing}`],
  [3, /`quayside key list`/, 'key', 'revoke', 'key_nobody'],
  [3, /mer_nobody/, ...TEST_KEY, '--store', 'mer_nobody'],
  [3, /`quayside status`/, 'store', 'set', 'mer_nobody', '--late=hold'],
  [3, /`quayside status`/, 'store', 'decide', 'mer_nobody', 'approve'],
  [3, /there is no delivery/, 'webhook', 'resend', 'dlv_nobody'],
  [2, /--since: .*no time in the past/, 'webhook', 'resend', '--since', '2999-01-01'],
  [3, /there is no alarm/, 'alarm', 'acknowledge', 'A-999999'],
  [3, /no network "nowhere"; configured: .*test:ethereum/, 'network', 'reread', 'nowhere', '--above', '5', ...because],
  [3, /there are several networks/, 'network', 'reread', 'ethereum', '--above', '5', ...because],
  [1, /has not been read yet/, 'network', 'reread', 'test:ethereum', '--above', '5', ...because],
  [2, /--from is "five"/, ...REREAD, 'five', '--skip', ...because],
  [2, /--reason is missing/, ...REREAD, '5', '--skip'],
  [2, /either --from or --above/, ...REREAD, '5', '--above', '4'],
  [1, /has not been read yet/, ...REREAD, '5', '--skip', ...because],
  [2, /--to is 4, below --from 5/, ...REREAD, '5', '--to', '4'],
  [1, /has not been read yet/, ...REREAD, '5', '--to', '6'],
];

for (const [code, message, ...words] of refused) {
  test(`exit code ${code}: quayside ${words.join(' ')}`, async () => {
    const ended = await run(...words);
    assert.is(ended.code, code, ended.err);
    assert.match(ended.err, message);
  });
}

test('with --json, a refusal is JSON too', async () => {
  const { code, out } = await run('key', 'revoke', 'key_nobody', '--json');
  assert.is(code, 3);
  assert.is(JSON.parse(out).error.code, 'not_found');
});

test('--help exits with 0: of a command, of a group and of everything, on lines that a terminal shows whole', async () => {
  for (const [words, expected] of [
    [['pay', '--help'], /Usage: quayside pay \[options\] <session>[\s\S]*--network <NAME>/],
    [['help', 'pay'], /Usage: quayside pay \[options\] <session>/],
    [['key', 'create', '--help'], /--mode <live\|test> +.* \(required\)/],
    [['payout', '--help'], /list [\s\S]*resolve [^\n]*<id>/],
    [
      ['--help'],
      /\nEvery day:\n {2}status [^\n]* +Show [\s\S]*\nSetting up:\n[\s\S]*\n {2}key +create, list, revoke\n/,
    ],
  ] as const) {
    const { code, out, err } = await run(...words);
    assert.equal({ code, err }, { code: 0, err: '' }, words.join(' '));
    assert.match(out, expected);
  }
  const { out } = await run('--help');
  for (const line of out.split('\n')) assert.ok(line.length <= 130, `${line.length} columns: ${line}`);
  for (const tool of [quaysideTool, signerTool]) {
    const subjects = tool.sections.flatMap(([, own]) => [...new Set(own.map(({ name }) => name.split(' ')[0]))]);
    assert.is(new Set(subjects).size, subjects.length, `the overview of ${tool.name} has each subject once`);
  }
  const group = await run('payout');
  assert.equal({ code: group.code, err: group.err }, { code: 2, err: '' });
  assert.match(group.out, /quayside payout/);
});

test('--version names the version', async () => {
  const { version } = readShipped<{ version: string }>('package.json');
  assert.equal(await run('--version'), { code: 0, out: `quayside ${version}\n`, err: '' });
});

test('the signer has a tool of its own: at most nine commands on one screen, and its own name before its errors', async () => {
  const runSigner = (...words: string[]) => runTool(signerTool, words, {}, '/');
  const { version } = readShipped<{ version: string }>('package.json');
  assert.equal(await runSigner('--version'), { code: 0, out: `quayside-signer ${version}\n`, err: '' });
  const { code, out } = await runSigner('--help');
  assert.is(code, 0);
  assert.match(out, /\nSetting up:\n {2}init [^\n]* +Create a seed/);
  assert.ok(signerTool.commands.length <= 9, `${signerTool.commands.length} commands`);
  const typo = await runSigner('thraw');
  assert.equal({ code: typo.code, out: typo.out }, { code: 2, out: '' });
  assert.match(typo.err, /^quayside-signer: unknown command 'thraw'\n.*\(Did you mean thaw\?\)/);
  assert.match((await run('signer', 'init')).err, "unknown command 'signer'");
});

test('an invalid configuration gives exit code 2', async () => {
  const { code, err } = await runQuayside(['key', 'list'], { ...variables, QUAYSIDE_PORT: 'x' });
  assert.is(code, 2);
  assert.match(err, /port: "x", expected a whole number .* \(set by QUAYSIDE_PORT\)/);
});

test('docs/reference/commands.md is what `npm run commands` writes; there are at most 48', () => {
  assert.is(readFileSync('docs/reference/commands.md', 'utf8'), commandsPage());
  assert.ok(quaysideTool.commands.length <= 48, `${quaysideTool.commands.length} commands`);
});

// ── Completion ───────────────────────────────────────────────────────────────────────────────────────────────────────

const said = async (...words: string[]) => (await runTool(quaysideTool, words, {}, '/')).out;
const next = async (...words: string[]) => (await said('--complete', ...words)).split('\n').filter(Boolean);

test('subjects, verbs, options and the choices of an option are completed', async () => {
  assert.ok((await next()).includes('audit'));
  assert.equal(await next('key'), ['create', 'list', 'revoke']);
  assert.ok((await next('key', 'create', '--scopes', 'sessions:read')).includes('--mode'));
  assert.equal(await next('key', 'create', '--mode'), ['live', 'test']);
  assert.equal(await next('status'), ['--json', '--help']);
});

test('bash asks the tool for the words; zsh reads the same script, and fish its own', async () => {
  const bash = await said('--completion', 'bash');
  const asked = `quayside() { echo "create list revoke"; }\n${bash}\nCOMP_WORDS=('quayside' key cr); COMP_CWORD=2; _quayside; echo "\${COMPREPLY[@]}"`;
  assert.is(execFileSync('bash', ['-c', asked], { encoding: 'utf8' }).trim(), 'create');
  assert.match(await said('--completion', 'zsh'), /^autoload -U \+X bashcompinit && bashcompinit\n_quayside\(\)/);
  assert.match(await said('--completion', 'fish'), /^complete -c quayside -f -a /);
  const { code, err } = await runTool(quaysideTool, ['--completion', 'csh'], {}, '/');
  assert.is(code, 2);
  assert.match(err, 'quayside');
});

// ── Tables ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const rows = [
  ['ID', 'WHAT'],
  ['A-1', 'the disk of the database fills up within two days'],
];

test('columns are aligned, and control characters of a cell are escaped', () => {
  assert.equal(table(rows), ['ID   WHAT', `A-1  ${rows[1]?.[1]}`]);
  assert.equal(table([['\u001b[2J']]), ['\\u001b[2J']);
});

test('on a terminal that is too narrow for a table, each row is a list of its members', () => {
  const { isTTY, columns } = process.stdout;
  const alarms = [{ id: 'A-1', code: null, what: rows[1]?.[1] }];
  Object.assign(process.stdout, { isTTY: true, columns: 40 });
  try {
    assert.equal(listLines(alarms), ['ID    A-1', 'CODE  -', `WHAT  ${rows[1]?.[1]}`]);
    assert.equal(listLines(alarms, ['id', 'code']), ['ID   CODE', 'A-1  -']);
    Object.assign(process.stdout, { columns: 0 });
    assert.equal(listLines(alarms, ['id', 'code']), ['ID   CODE', 'A-1  -'], 'a terminal that knows no width');
  } finally {
    Object.assign(process.stdout, { isTTY, columns });
  }
});

test('a question that nobody can answer is refused, with the lines that it is about', async () => {
  const script = `import('./scripts/cli/terminal.ts').then(({ agree }) =>
    agree({ options: {} }, ['ID  AMOUNT', '1   70.10 USDT'], 'Sweep this now?')).catch(({ message }) => console.log(message))`;
  const asking = spawnSync(process.execPath, ['--import', 'tsx', '-e', script], { input: 'y\n', encoding: 'utf8' });
  assert.is(asking.stderr, '');
  const asked = 'nobody can be asked here: look at this, then add --yes';
  assert.is(asking.stdout, `${asked}\nID  AMOUNT\n1   70.10 USDT\n`);
});

test('a sentence goes on below its first word, and a file has it on one line', () => {
  assert.equal(wrapped('✓ the disk of the database fills up', 24), ['✓ the disk of the', '  database fills up']);
  assert.equal(wrapped('    → add some of it', 18), ['    → add some of', '      it']);
  assert.equal(wrapped(`open ${'x'.repeat(9)}`, 8), ['open', `  ${'x'.repeat(9)}`], 'a word stays whole');
  assert.is(wrapped('x '.repeat(200)).length, 1);
});

test.run();
