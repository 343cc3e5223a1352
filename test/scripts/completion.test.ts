/** Completion of the tool's words in bash, and its scripts for zsh and fish. */
import { execFileSync } from 'node:child_process';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { quaysideTool } from '../../scripts/cli/quayside.ts';
import { runTool } from '../../scripts/cli/tool.ts';

const script = async (shell: string) => runTool(quaysideTool, ['--completion', shell], {}, '/');

/** Completes the last word as bash does. */
async function completed(...words: readonly string[]): Promise<string[]> {
  const { out } = await script('bash');
  const line = ['quayside', ...words].map((word) => `'${word}'`).join(' ');
  const asked = `${out}\nCOMP_WORDS=(${line}); COMP_CWORD=${words.length}; _quayside; echo "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['-c', asked], { encoding: 'utf8' }).trim().split(' ').filter(Boolean);
}

test('bash completes subjects, verbs, options and the choices of an option', async () => {
  assert.equal(await completed('aud'), ['audit']);
  assert.equal(await completed('key', 'cr'), ['create']);
  assert.equal(await completed('key', 'create', '--sc'), ['--scopes']);
  assert.equal(await completed('key', 'create', '--scopes', 'sessions:read', '--mo'), ['--mode']);
  assert.equal(await completed('key', 'create', '--mode', ''), ['live', 'test']);
  assert.equal(await completed('status', '--'), ['--json', '--help']);
});

test('zsh reads the same words, and fish its own', async () => {
  assert.match((await script('zsh')).out, /^autoload -U \+X bashcompinit && bashcompinit\n_quayside\(\)/);
  const { out } = await script('fish');
  assert.match(out, "complete -c quayside -n '__fish_use_subcommand' -a key\n");
  assert.match(out, "__fish_seen_subcommand_from create' -l mode -x -a 'live test'\n");
});

test('another shell is refused', async () => {
  const { code, err } = await script('csh');
  assert.is(code, 2);
  assert.match(err, '--completion csh is not known, expected bash, zsh, fish');
});

test.run();
