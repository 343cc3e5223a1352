/** Completion of the tool's words, and its scripts for bash, zsh and fish. */
import { execFileSync } from 'node:child_process';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { quaysideTool } from '../../scripts/cli/quayside.ts';
import { runTool } from '../../scripts/cli/tool.ts';

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

test.run();
