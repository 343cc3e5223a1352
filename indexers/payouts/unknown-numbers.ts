/**
 * Transactions of our own wallets that are on their way to a block and that this database does not know: nodes count
 * them (`PayoutNode.pending`), without saying what they pay.
 * @module
 */
import type { Family } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import type { PayoutNode } from '../../src/chains/spend.ts';
import { invariant } from '../../src/core/fault.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import type { PayoutWallets } from './wallets.ts';

type UnknownNumbersParts = Readonly<{
  network: Readonly<{ key: NetworkKey; family: Family }>;
  node: Pick<PayoutNode, 'sequence' | 'pending' | 'balance'>;
  database: Pick<Database, 'nextNonce'>;
  wallets: Pick<PayoutWallets, 'own'>;
}>;

type Numbers = Readonly<{ first: number; next: number }>;

/**
 * Returns a function that says which numbers of our refund and gas wallets, former ones included, are used by
 * transactions that are neither final nor known here; null if none is. Every node must answer.
 *
 * A former wallet that holds no tokens any more, once all that it has sent from here is final, cannot pay a refund: it
 * is left out, so that emptying it is a way out if such a transaction never gets into a block.
 */
export function createUnknownNumbers({ network, node, database, wallets }: UnknownNumbersParts) {
  async function unknownOf(key: string, isFormer: boolean): Promise<Numbers | null> {
    const [pending, sequence] = await Promise.all([node.pending(key), node.sequence(key)]);
    invariant(pending !== null && sequence, `the node of ${network.key} counts transactions`);
    const known = await database.nextNonce(network.key, key);
    const final = sequence.final ?? 0;
    // What is final is judged by the watch over our wallets, once a node has shown it there.
    const isUnjudged = known !== null && final > known.nonce;
    const first = isUnjudged ? known.nonce : Math.max(known?.unsignedNonce ?? 0, final);
    if (pending <= first) return null;
    if (isFormer && final >= (known?.nonce ?? 0) && (await isWithoutTokens(key))) return null;
    return { first, next: pending };
  }

  async function isWithoutTokens(key: string): Promise<boolean> {
    const { tokens } = await node.balance(key);
    return Object.values(tokens).every((units) => units === 0n);
  }

  return async (): Promise<string | null> => {
    const { refund, gas, former } = await wallets.own();
    const all = [refund, gas].map((key) => ({ key, isFormer: false }));
    all.push(...former.map(({ key }) => ({ key, isFormer: true })));
    for (const { key, isFormer } of all) {
      const found = await unknownOf(key, isFormer);
      if (!found) continue;
      const address = chains[network.family].address.format(key);
      const numbers =
        found.next - found.first === 1 ? `number ${found.first}` : `numbers ${found.first} to ${found.next - 1}`;
      return `wallet ${address} has used ${numbers} in what is not final yet and not known here`;
    }
    return null;
  };
}
