/**
 * Has signed payouts read by the chain's own SDK before they are broadcast. The SDK is loaded with the first one.
 */
import type { Chain } from '../../src/chains/chain.ts';
import { differencesFrom } from '../../src/chains/second-opinion.ts';
import type { SpendDraft } from '../../src/chains/spend.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { invariant } from '../../src/core/fault.ts';
import type { SignedAttempt } from '../../src/core/payout.ts';

/** Returns how signed bytes differ from what was ordered, one sentence each; none if they agree. */
export type SecondOpinion = (draft: SpendDraft, attempt: SignedAttempt) => Promise<readonly string[]>;

export const createSecondOpinion =
  (
    chain: Pick<Chain, 'secondOpinion'>,
    { chainId, tokens }: Pick<NetworkConfig, 'chainId' | 'tokens'>,
  ): SecondOpinion =>
  async (draft, attempt) => {
    const sdk = await chain.secondOpinion?.();
    invariant(sdk, 'a family with payouts has a second opinion on them');
    return differencesFrom({ draft, attempt, chainId, tokens }, sdk.readBySdk);
  };
