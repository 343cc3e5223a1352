/**
 * The sandbox also operates its own signer: it creates one from its seed and unlocks it from a file, so that refunds
 * can be tried without any real key.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Family } from '../../chains/chain.ts';
import { chains } from '../../chains/index.ts';
import type { Config } from '../../config/config.ts';
import type { NetworkConfig } from '../../config/network.ts';
import { createSecretFile } from '../../lib/secret-file.ts';
import type { PolicySettings } from '../../signer/policy.ts';
import { draftNetwork } from '../../signer/policy-draft.ts';
import { makeSigner } from '../../signer/setup.ts';
import { sandboxSeed } from '../sandbox-file.ts';

/** Creates the signer of a sandbox in `dir`, and its passphrase's file. @throws Fault as `makeSigner` does */
export async function makeSandboxSigner(
  { dataDir, networks }: Pick<Config, 'dataDir' | 'networks'>,
  dir: string,
  passphraseFile: string,
): Promise<void> {
  createSecretFile(passphraseFile, `${randomBytes(24).toString('base64url')}\n`);
  const passphrase = Buffer.from(readFileSync(passphraseFile, 'utf8').trim());
  makeSigner(dir, sandboxSeed(dataDir), passphrase, await policyOf(networks));
}

async function policyOf(networks: readonly NetworkConfig[]): Promise<PolicySettings> {
  const drafted: PolicySettings['networks'] = {};
  for (const { signer, ...network } of networks) {
    // A network without caps only receives, until `quayside-signer policy` puts it into the policy.
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
