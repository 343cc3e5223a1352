/**
 * The signer's commands as an operator types them: a new seed at a real terminal, an import, the wallets, and the
 * backup drill.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { makeAddressList } from '../../src/addresses/address-list.ts';
import { xpubFingerprint } from '../../src/addresses/pool-keeper.ts';
import { openDatabase } from '../../src/app/open-database.ts';
import { evmAddress } from '../../src/chains/evm/address.ts';
import { evmSpending } from '../../src/chains/evm/spend.ts';
import { loadConfig } from '../../src/config/config.ts';
import type { Database } from '../../src/database/database.ts';
import { isApproved } from '../../src/signer/approval.ts';
import { signerFiles } from '../../src/signer/files.ts';
import { policyHashOf } from '../../src/signer/freeze.ts';
import { openJournal } from '../../src/signer/journal.ts';
import { readKeystore, seedOf } from '../../src/signer/keystore.ts';
import { readOperatorKey } from '../../src/signer/operator-key.ts';
import { loadPolicy } from '../../src/signer/policy.ts';
import { quayside, quaysideSigner } from '../support/built.ts';
import { endAll } from '../support/processes.ts';
import { approvalOf, mnemonic, passphrase, refundOf, seed, treasury, usdt } from '../support/temp-signer.ts';
import { atTerminal, hasTerminal, runTyped } from '../support/typed-program.ts';

const dir = mkdtempSync(join(tmpdir(), 'quayside-signer-cli-'));
test.after(async () => {
  await endAll('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

const CONFIG = join(dir, 'config.json');
const xpub = evmSpending.xpub(seed) ?? '';
const networks = { sepolia: { url: 'ws://127.0.0.1:1', xpub } };
const signer = { dir: 'keys', unlock: 'prompt' };
writeFileSync(CONFIG, JSON.stringify({ data_dir: 'data', signer, networks }));

/** Runs the command without a terminal, with lines on standard input. */
const run = (words: readonly string[], lines: readonly string[] = [], config = CONFIG, program = quaysideSigner) =>
  runTyped([program, ...words], lines, { cwd: dir, variables: { QUAYSIDE_CONFIG: config } });
const atOwnTerminal = (words: readonly string[]) =>
  atTerminal([quaysideSigner, ...words], { cwd: dir, variables: { QUAYSIDE_CONFIG: CONFIG } });

const atTerminalOnly = hasTerminal ? test : test.skip;

atTerminalOnly(
  'init shows new words once, asks for some of them, and creates a folder that only its owner can read',
  async () => {
    const made = join(dir, 'made');
    const terminal = atOwnTerminal(['init', '--dir', made, '--treasury', `evm=${treasury}`]);
    const page = await terminal.answer('Press Enter', '');
    const words = new Map(
      [...page.matchAll(/(?<=^|\s)(\d{1,2}) ([a-z]{3,8})(?=\s)/g)].map(([, at, word]) => [Number(at), word ?? '']),
    );
    assert.is(words.size, 24, page);
    for (let asked = 0; asked < 3; asked++) {
      await terminal.answer(
        /Type word \d+ to confirm \(not shown\): /,
        (question) => words.get(Number(/\d+/.exec(question)?.[0])) ?? '',
      );
    }
    await terminal.answer('Passphrase for the keystore', passphrase);
    await terminal.answer('Repeat it', passphrase);
    assert.is((await terminal.ended).code, 0, terminal.shown());
    assert.not.match(terminal.shown(), passphrase);
    const phrase = [...words]
      .sort(([one], [other]) => one - other)
      .map(([, word]) => word)
      .join(' ');
    const after = terminal.shown().split('\u001b[2J')[1] ?? '';
    // A question has some of the 2,048 common words in it by chance.
    const seen = [...words.values()].filter((word) => after.includes(word));
    assert.ok(after !== '' && seen.length < words.size / 2, `the screen is cleared, and no word comes back: ${seen}`);
    assert.not.match(after, /\(not shown\): *[a-z]/, 'what is typed is not shown');

    const files = signerFiles(made);
    assert.is(statSync(made).mode & 0o777, 0o700);
    for (const file of [files.keystore, files.policy, files.journal])
      assert.is(statSync(file).mode & 0o777, 0o600, file);
    assert.equal(readdirSync(made).sort(), ['keystore.json', 'policy.json', 'signer.db']);
    assert.equal(readKeystore(files.keystore).unlock(Buffer.from(passphrase)), Buffer.from(seedOf(phrase)));
    const [network] = loadPolicy(files.policy).networks;
    assert.equal(
      { key: network?.key, chainId: network?.spend.chainId, treasury: network?.spend.treasury },
      { key: 'test:ethereum', chainId: '11155111', treasury: treasury.slice(2).toLowerCase() },
    );
    const journal = openJournal(files.journal);
    assert.is(journal.fingerprint, readKeystore(files.keystore).fingerprint);
    journal.close();
    const again = await run(['init', '--dir', made]);
    assert.equal([again.code, /already contains keystore.json/.test(again.stderr)], [1, true], again.stderr);
  },
);

atTerminalOnly('no signer is created for a person who has not written the words down', async () => {
  const made = join(dir, 'unmade');
  const terminal = atOwnTerminal(['init', '--dir', made, '--treasury', `test:ethereum=${treasury}`]);
  await terminal.answer('Press Enter', '');
  for (let tries = 0; tries < 3; tries++) await terminal.answer(/Type word \d+ to confirm \(not shown\): /, 'nothing');
  assert.is((await terminal.ended).code, 1);
  assert.match(terminal.shown(), 'nothing was created');
  assert.not.ok(existsSync(made));
});

atTerminalOnly('Ctrl-C ends a question, and the terminal echoes again', async () => {
  const terminal = atOwnTerminal(['init', '--import', '--dir', join(dir, 'broken'), '--treasury', `evm=${treasury}`]);
  await terminal.answer('Seed phrase', 'abandon \u0003');
  assert.is((await terminal.ended).code, 1);
  assert.match(terminal.shown(), 'nothing was changed');
  assert.not.match(terminal.shown(), 'abandon');
});

test('init without a terminal is refused, because nobody would see the words', async () => {
  const { code, stderr } = await run(['init', '--dir', join(dir, 'none'), '--treasury', `evm=${treasury}`]);
  assert.equal([code, /at a terminal/.test(stderr), existsSync(join(dir, 'none'))], [1, true, false], stderr);
});

test('import creates the signer of a seed phrase in the configured folder; show prints its addresses', async () => {
  const imported = await run(['init', '--import', '--treasury', `evm=${treasury}`, '--json'], [mnemonic, passphrase]);
  assert.is(imported.code, 0, imported.stderr);
  const answer = JSON.parse(imported.stdout);
  const address = (role: 'refund' | 'gas') => evmAddress.format(evmSpending.derive(seed, { role }).key);
  assert.equal(answer, {
    dir: join(dir, 'data/keys'),
    fingerprint: '5436d724',
    policy_hash: policyHashOf(readFileSync(signerFiles(join(dir, 'data/keys')).policy, 'utf8')),
    xpubs: { evm: xpub },
    wallets: [{ network: 'test:ethereum', refund: address('refund'), gas: address('gas'), treasury }],
  });
  const shown = await run(['show', '--json'], [passphrase]);
  assert.equal(JSON.parse(shown.stdout), answer, shown.stderr);
  const wrong = await run(['show', '--json'], ['something else']);
  assert.equal([wrong.code, JSON.parse(wrong.stdout).error.code], [1, 'passphrase_wrong']);
  for (const { stdout, stderr } of [imported, shown, wrong]) assert.not.match(stdout + stderr, /abandon|correct horse/);
});

test('the wallet with the index of the policy is shown, on its network only', async () => {
  assert.is((await run(['policy', 'bsc-testnet', '--treasury', treasury])).code, 0);
  const { policy: file } = signerFiles(join(dir, 'data/keys'));
  const policy = JSON.parse(readFileSync(file, 'utf8'));
  policy.networks['test:bsc'].wallets = { refund: 1, gas: 0 };
  writeFileSync(file, JSON.stringify(policy));
  const shown = await run(['show', '--json'], [passphrase]);
  const wallets = JSON.parse(shown.stdout).wallets.map(({ refund }: { refund: string }) => refund);
  const address = (index: number) => evmAddress.format(evmSpending.derive(seed, { role: 'refund', index }).key);
  assert.equal(wallets, [address(0), address(1)]);
});

test('an import of nonsense, over an existing signer, or with a short passphrase creates nothing', async () => {
  const made = join(dir, 'nonsense');
  const options = ['--dir', made, '--treasury', `evm=${treasury}`, '--json'];
  const codeOf = async (words: readonly string[], lines: readonly string[]) => {
    const { code, stdout } = await run(['init', '--import', ...words], lines);
    return [code, JSON.parse(stdout).error.code];
  };
  assert.equal(await codeOf(options, ['abandon abandon', passphrase]), [1, 'seed_invalid']);
  assert.equal(await codeOf(options, [mnemonic, 'short']), [1, 'passphrase_weak']);
  assert.equal(await codeOf(options, [mnemonic]), [1, 'input_ended']);
  assert.equal(await codeOf(['--dir', made, '--treasury', 'evm', '--json'], [mnemonic, passphrase]), [2, 'usage']);
  assert.equal(await codeOf(['--dir', made, '--treasury', 'evm=0x12', '--json'], [mnemonic, passphrase]), [
    1,
    'policy_invalid',
  ]);
  assert.not.ok(existsSync(made));
  assert.equal(
    readdirSync(dir).filter((name) => name.includes('draft')),
    [],
  );
  assert.equal(await codeOf(['--treasury', `evm=${treasury}`, '--json'], [mnemonic, passphrase]), [1, 'signer_exists']);
});

test('an approver’s key signs approvals with its passphrase, and the policy accepts its public half', async () => {
  const file = join(dir, 'anna.json');
  const { code, stdout, stderr } = await run(['init', '--key', file, '--json'], [passphrase]);
  assert.is(code, 0, stderr);
  const { approver } = JSON.parse(stdout);
  assert.is(statSync(file).mode & 0o777, 0o600);
  const refund = refundOf('rf_1', usdt(5000));
  const approval = readOperatorKey(file).approve(Buffer.from(passphrase), approvalOf(refund), 1_900_000_000);
  assert.equal([approval.approver, isApproved(approval, approvalOf(refund))], [approver, true]);
});

test('the drill distinguishes right words from wrong ones, by the source of the addresses that payers are shown', async () => {
  const drill = (words: string) => run(['drill', '--json'], [words]);
  assert.is((await run(['store', 'add', 'Shop'], [], CONFIG, quayside)).code, 0);
  // Until the database has addresses, the xpub in the configuration decides.
  assert.is((await drill(mnemonic)).code, 0);
  const other = `${'abandon '.repeat(11)}about`;
  const wrong = await drill(other);
  assert.equal([wrong.code, JSON.parse(wrong.stdout).error.code], [1, 'drill_failed']);
  assert.not.match(wrong.stdout + wrong.stderr, 'abandon');

  const add = (source: string, key: string) =>
    withDatabase((database) =>
      database.addresses.add({ family: 'evm', mode: 'test', source, firstIndex: 0, keys: [key.repeat(20)] }),
    );
  await add(xpubFingerprint(xpub), 'aa');
  const { pools, keystore } = JSON.parse((await drill(mnemonic)).stdout);
  assert.equal({ keystore, pools }, { keystore: '5436d724', pools: [{ family: 'evm', mode: 'test', source: 'same' }] });
  // The addresses that are given out are of another seed than the configured xpub.
  await add('another', 'bb');
  assert.is((await drill(mnemonic)).code, 1);
  const drills = (await withDatabase((database) => database.audit.list(20))).filter(({ target }) => target === 'seed');
  assert.equal(drills[0]?.after, { fingerprint: '5436d724', restores: false });
  assert.ok(drills.some(({ after }) => after?.restores === true));
});

async function withDatabase<T>(work: (database: Database) => Promise<T>): Promise<T> {
  const env = { ...process.env, QUAYSIDE_CONFIG: CONFIG };
  const database = openDatabase(loadConfig({ env, cwd: dir }), env);
  try {
    return await work(database);
  } finally {
    database.close();
  }
}

test('the drill also checks imported addresses, by the seed’s signature of their list', async () => {
  const config = join(dir, 'imported.json');
  writeFileSync(
    config,
    JSON.stringify({ data_dir: 'imported', networks: { 'solana-devnet': { url: 'ws://127.0.0.1:1' } } }),
  );
  const drill = async (words: string) => {
    const { code, stdout } = await run(['drill', '--json'], [words], config);
    return { code, answer: JSON.parse(stdout) };
  };
  assert.is((await run(['store', 'add', 'Shop'], [], config, quayside)).code, 0);
  assert.equal((await drill(mnemonic)).answer.pools, [{ family: 'solana', mode: 'test', source: 'none' }]);
  const list = await makeAddressList({ family: 'solana', mode: 'test' }, seed, 0, 3);
  const file = join(dir, 'list.json');
  writeFileSync(file, JSON.stringify(list));
  assert.is((await run(['address-pool', 'import', file], [], config, quayside)).code, 0);
  const [pool] = (await drill(mnemonic)).answer.pools;
  assert.is(pool.source, 'same');
  assert.is((await drill(`${'abandon '.repeat(11)}about`)).answer.error.code, 'drill_failed');
});

test('no file of the installation contains the passphrases or the words', () => {
  const files = readdirSync(dir, { recursive: true }).map((name) => join(dir, String(name)));
  for (const file of files.filter((one) => statSync(one).isFile())) {
    assert.not.match(readFileSync(file, 'latin1'), /abandon|correct horse/, file);
  }
});

test.run();
