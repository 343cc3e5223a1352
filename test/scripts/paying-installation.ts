/** An installation of one EVM network that pays, `test:one`, whose database a test writes; and the tool on it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { evmSpending } from '../../src/chains/evm/spend.ts';
import { databaseFile, readSecretKey } from '../../src/lib/secret-key.ts';
import { createDatabaseFile } from '../support/database-file.ts';
import { runQuayside } from '../support/quayside-process.ts';
import { connectIn } from '../support/temp-database.ts';
import { policySettings, seed } from '../support/temp-signer.ts';

type Options = Readonly<{ url?: string; tokens?: readonly object[]; signerDir?: string }>;

export function openPayingInstallation({ url = 'ws://127.0.0.1:1', tokens, signerDir }: Options = {}) {
  const home = mkdtempSync(join(tmpdir(), 'quayside-paying-'));
  const file = join(home, 'quayside.json');
  const known = policySettings.networks['test:one'];
  const network = {
    name: 'one',
    family: 'evm',
    mode: 'test',
    url,
    xpub: evmSpending.xpub(seed),
    chain_id: known?.chain_id,
    native_symbol: 'ETH',
    confirmations: { blocks: 2 },
    reorg_depth_max: 40,
    block_time_ms: 1000,
    poll_ms: 1000,
    tokens: tokens ?? known?.tokens,
  };
  const signer = signerDir === undefined ? {} : { signer: { dir: signerDir, unlock: 'external' } };
  writeFileSync(file, JSON.stringify({ data_dir: 'data', ...signer, networks: { one: network } }));
  const dataDir = join(home, 'data');
  mkdirSync(dataDir);
  const secretKey = readSecretKey(dataDir, {});
  createDatabaseFile(databaseFile(dataDir));
  const database = connectIn(dataDir);
  const run = (...words: string[]) => runQuayside(words, { QUAYSIDE_CONFIG: file }, home);
  async function answer(...words: string[]) {
    const { code, out, err } = await run(...words, '--json');
    assert.is(code, 0, `quayside ${words.join(' ')}: ${err}`);
    return JSON.parse(out);
  }
  const close = (): void => {
    database.close();
    rmSync(home, { recursive: true, force: true });
  };
  return { home, secretKey, database, databaseFile: databaseFile(dataDir), run, answer, close };
}
