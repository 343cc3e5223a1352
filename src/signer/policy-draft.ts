/**
 * Drafts one network's part of a signer's policy, with the caps that the network's file suggests. Only the `quayside`
 * command and the sandbox call this. The signer itself reads only its policy.
 */
import { readFileSync } from 'node:fs';
import type { Family } from '../chains/chain.ts';
import type { Currency, NetworkKey, Token } from '../core/transfer.ts';
import { writeSecretFile } from '../lib/secret-file.ts';
import { type PolicySettings, readPolicy } from './policy.ts';

type NetworkDraft = NonNullable<PolicySettings['networks'][NetworkKey]>;

/** A network's facts for a policy, and its initial caps. `caps` holds for each token. */
export type PaidNetwork = Readonly<{
  key: NetworkKey;
  family: Family;
  chainId: string;
  tokens: readonly Token[];
  signer: Readonly<
    Pick<NetworkDraft, 'fee_max' | 'gas_caps' | 'fee_caps' | 'count_caps'> & {
      caps: NonNullable<NetworkDraft['caps'][Currency]>;
    }
  >;
}>;

/**
 * Returns the network's part of a policy, with the same caps for each of its tokens.
 * @param treasury the address that sweeps go to
 */
export function draftNetwork({ family, chainId, tokens, signer }: PaidNetwork, treasury: string): NetworkDraft {
  const { fee_max, caps, gas_caps, fee_caps, count_caps } = signer;
  return {
    family,
    chain_id: chainId,
    tokens: tokens.map(({ symbol, address, decimals }) => ({ symbol, address, decimals })),
    treasury,
    fee_max,
    caps: Object.fromEntries(tokens.map(({ symbol }) => [symbol, caps])),
    gas_caps,
    ...(fee_caps && { fee_caps }),
    ...(count_caps && { count_caps }),
  };
}

/**
 * Adds a network to a signer's policy and leaves the rest unchanged. The signer reads it at its next start.
 * @throws Fault permanent `policy_invalid` if the result is invalid, for example because it names one chain twice
 */
export function addToPolicy(file: string, key: NetworkKey, draft: NetworkDraft): void {
  const policy = JSON.parse(readFileSync(file, 'utf8')) as PolicySettings;
  const text = `${JSON.stringify({ ...policy, networks: { ...policy.networks, [key]: draft } }, null, 2)}\n`;
  readPolicy(file, text);
  writeSecretFile(file, text);
}
