/**
 * The sandbox also operates its own signer: it creates one from its seed, unlocks it from a file, and gives its wallets
 * simulated money, so that refunds can be tried without any real key.
 *
 * @module
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Family } from '../../chains/chain.ts';
import { chains } from '../../chains/index.ts';
import type { Config } from '../../config/config.ts';
import type { NetworkConfig } from '../../config/network.ts';
import { Fault } from '../../core/fault.ts';
import { pow10 } from '../../core/money.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { createSecretFile, writeSecretFile } from '../../lib/secret-file.ts';
import { openConfiguredSigner } from '../../signer/client.ts';
import { signerFiles } from '../../signer/files.ts';
import type { PolicySettings } from '../../signer/policy.ts';
import { draftNetwork } from '../../signer/policy-draft.ts';
import { makeSigner } from '../../signer/setup.ts';
import { sandboxSeed } from '../seed.ts';
import { fundInSandbox, payInSandbox } from './control.ts';

const RETRY_MS = 500;
/** What each wallet gets of the native coin, and the refund wallet of each token: more than anybody will use. */
const COINS = 1_000n;
const TOKENS = 100_000n;

/** Creates the signer of a sandbox that has none yet; does nothing if the operator's own is configured. */
export async function ensureSandboxSigner(config: Config): Promise<void> {
  const { signer, sandbox, dataDir, networks } = config;
  if (!sandbox || signer?.unlock.kind !== 'file' || existsSync(signerFiles(signer.dir).keystore)) return;
  createSecretFile(signer.unlock.path, `${randomBytes(24).toString('base64url')}\n`);
  const passphrase = Buffer.from(readFileSync(signer.unlock.path, 'utf8').trim());
  makeSigner(signer.dir, sandboxSeed(dataDir), passphrase, await policyOf(networks));
}

async function policyOf(networks: readonly NetworkConfig[]): Promise<PolicySettings> {
  const drafted: PolicySettings['networks'] = {};
  for (const { signer, ...network } of networks) {
    // A network without caps only receives, until `quayside signer policy add` puts it into the policy.
    if (signer) drafted[network.key] = draftNetwork({ ...network, signer }, await strangersAddress(network.family));
  }
  return { version: 1, approvers: [], networks: drafted };
}

/** Returns an address without a known key. */
export async function strangersAddress(family: Family): Promise<string> {
  const { address, offlineKeys } = chains[family];
  const keys = await offlineKeys?.();
  const key = keys?.derive(new Uint8Array(randomBytes(64)), 0, 1)[0] ?? randomBytes(address.keyBytes).toString('hex');
  return address.format(key);
}

const fundedSchema = z.record(z.string(), z.string());

/** Gives the signer's wallets their money on each simulated network, once; waits for what is not running yet. */
export async function fundSandboxWallets(config: Config, clock: Clock, log: Log, signal: AbortSignal): Promise<void> {
  if (!config.sandbox || !config.signer) return;
  const file = join(config.dataDir, 'sandbox', 'funded.json');
  const funded = existsSync(file) ? fundedSchema.parse(JSON.parse(readFileSync(file, 'utf8'))) : {};
  const signer = openConfiguredSigner(config.signer);
  try {
    for (const network of config.networks) {
      for (let isWarned = false; !signal.aborted; ) {
        try {
          const { refund, gas, treasury } = await signer.wallets(network.key);
          if (funded[network.key] === refund) break;
          await fund(config.dataDir, network, { refund, gas, treasury });
          funded[network.key] = refund;
          writeSecretFile(file, `${JSON.stringify(funded, null, 2)}\n`);
          break;
        } catch (error) {
          if (!(error instanceof Fault)) throw error;
          if (!isWarned && error.kind === 'permanent')
            log.warn({ code: error.code, network: network.key }, error.message);
          isWarned = true;
          await clock.sleep(RETRY_MS, signal);
        }
      }
    }
  } finally {
    await signer.close();
  }
}

type Wallets = Readonly<{ refund: string; gas: string; treasury: string }>;

async function fund(dataDir: string, { name, family, tokens }: NetworkConfig, wallets: Wallets): Promise<void> {
  const { address, spendRules } = chains[family];
  const coins = COINS * pow10(spendRules.nativeDecimals);
  for (const key of [wallets.refund, wallets.gas]) await fundInSandbox(dataDir, name, address.format(key), coins);
  for (const { symbol, decimals } of tokens) {
    await payInSandbox(dataDir, name, { to: address.format(wallets.refund), symbol, units: TOKENS * pow10(decimals) });
    // A treasury that has held the token before is cheaper to sweep to, and on some chains the only one that can be.
    await payInSandbox(dataDir, name, { to: address.format(wallets.treasury), symbol, units: 1n });
  }
}
