/**
 * Which npm packages the built signer loads, counted in the running process after it has signed for every family.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { base58 } from '@scure/base';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { chains } from '../../src/chains/index.ts';
import { solanaSpending } from '../../src/chains/solana/spend.ts';
import { openSigner } from '../../src/signer/client.ts';
import type { PolicySettings } from '../../src/signer/policy.ts';
import { endSigners, makeSignerPlace, startSigner } from '../support/signer-process.ts';
import { firstOf, payer, policySettings, refundOf, terms, treasury } from '../support/temp-signer.ts';

const PACKAGES_MAX = 10;

const solanaKey = (byte: number) => solanaSpending.derive(new Uint8Array(64).fill(byte), { role: 'gas' }).key;
const base = policySettings.networks['test:one'];
assert.ok(base);
const networks: PolicySettings['networks'] = {
  'test:one': base,
  'test:tron': {
    ...base,
    family: 'tron',
    tokens: [{ symbol: 'USDT', address: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', decimals: 6 }],
    treasury: chains.tron.address.format('71'.repeat(20)),
    fee_max: '50',
  },
  'test:solana': {
    ...base,
    family: 'solana',
    tokens: [{ symbol: 'USDT', address: 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB', decimals: 6 }],
    treasury: chains.solana.address.format(solanaKey(9)),
    fee_max: '0.01',
  },
};
assert.is(base.treasury, treasury);

const orders = [
  { network: 'test:one', to: payer, terms: terms(1) },
  {
    network: 'test:tron',
    to: payer,
    terms: {
      ref_block_number: '70000123',
      ref_block_hash: '0123456789abcdef',
      timestamp_ms: '1795000000000',
      expiration_ms: '1795001800000',
      fee_limit: '30000000',
    },
  },
  {
    network: 'test:solana',
    to: solanaKey(8),
    terms: {
      blockhash: base58.encode(new Uint8Array(32).fill(2)),
      last_valid_block_height: '150',
      compute_unit_limit: '100000',
      compute_unit_price: '0',
      lock_deposit_lamports: '650240',
    },
  },
] as const;

const dir = mkdtempSync(join(tmpdir(), 'quayside-packages-'));
const place = makeSignerPlace({ ...policySettings, networks });
test.after(() => {
  endSigners();
  place.remove();
  rmSync(dir, { recursive: true, force: true });
});

/**
 * Writes a module that notes every file that a process loads: ES modules as they are loaded, CommonJS modules and
 * addons when it ends.
 */
function makeWatcher(noted: string): string {
  const hook = `
    import { appendFileSync } from 'node:fs';
    export async function load(url, context, next) {
      appendFileSync(${JSON.stringify(noted)}, url + '\\n');
      return next(url, context);
    }`;
  const watcher = join(dir, 'watcher.mjs');
  writeFileSync(
    watcher,
    `import { appendFileSync } from 'node:fs';
    import { createRequire, register } from 'node:module';
    register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hook)}));
    const { cache } = createRequire(${JSON.stringify(import.meta.url)});
    process.on('exit', () => appendFileSync(${JSON.stringify(noted)}, Object.keys(cache).join('\\n') + '\\n'));`,
  );
  return pathToFileURL(watcher).href;
}

const packageOf = (file: string): string | undefined => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1];

test('the signer’s process loads at most 10 packages, none of them an SDK', async () => {
  const noted = join(dir, 'loaded.txt');
  const signer = startSigner(place.args, { NODE_OPTIONS: `--import ${makeWatcher(noted)}` });
  assert.ok(await signer.ready, signer.output());
  const client = openSigner({ socket: place.socket, timeoutMs: 60_000 });
  for (const { network, to, terms: on } of orders) {
    const refund = refundOf(`rf_${network}`, 5_000_000n, { network, to });
    const { bytes } = await client.sign(firstOf(refund, 1, { terms: on }));
    assert.ok(bytes.length > 100, network);
  }
  await client.close();
  signer.kill('SIGTERM');
  assert.equal(await signer.ended, { code: 0, signal: null }, signer.output());

  const files = readFileSync(noted, 'utf8').split('\n');
  for (const family of ['evm', 'tron', 'solana']) {
    assert.ok(
      files.some((file) => file.endsWith(`dist/src/chains/${family}/spend.js`)),
      `${family} was loaded`,
    );
  }
  const packages = [...new Set(files.flatMap((file) => packageOf(file) ?? []))].sort();
  for (const known of ['@noble/curves', 'better-sqlite3', 'zod']) assert.ok(packages.includes(known), packages.join());
  assert.ok(packages.length <= PACKAGES_MAX, `${packages.length} packages: ${packages.join(', ')}`);
});

test.run();
