/**
 * A geth for payouts: a block each second, each final below four more.
 */
import { type DrivenGeth, type DrivenOptions, startDrivenGeth } from './driven-geth.ts';

export async function startPayoutGeth(options: Partial<DrivenOptions> = {}): Promise<DrivenGeth> {
  const geth = await startDrivenGeth({ chainId: 1, finalDepth: 4, ...options });
  await geth.mineEvery(1);
  return geth;
}
