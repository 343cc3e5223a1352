/**
 * The address keys of the wallets that an intent involves, requested from the signer once.
 *
 * @module
 */
import type { SpendDraft, SpendRules } from '../../src/chains/spend.ts';
import { permanent } from '../../src/core/fault.ts';
import type { Intent, Wallet } from '../../src/core/intent.ts';
import type { NetworkKey, Token } from '../../src/core/transfer.ts';
import type { Signer, SignerWallets } from '../../src/signer/signer.ts';

/** Deposit addresses, and locks of refunds, that are remembered; each is needed for a few minutes. */
const REMEMBERED_MAX = 10_000;

export interface PayoutWallets {
  own(): Promise<SignerWallets>;
  /**
   * Returns the intent with the address keys that it involves.
   * @param olderLock whether older versions may have paid it
   */
  draft(intent: Intent, olderLock?: boolean): Promise<SpendDraft>;
}

export function createPayoutWallets(
  parts: Readonly<{ network: NetworkKey; tokens: readonly Token[]; rules: SpendRules; signer: Signer }>,
): PayoutWallets {
  const { network, tokens, rules, signer } = parts;
  const collection = new Map<number, string>();
  const locks = new Map<string, string>();
  let wallets: SignerWallets | null = null;

  async function own(): Promise<SignerWallets> {
    wallets ??= await signer.wallets(network);
    return wallets;
  }

  async function keyOf(wallet: Wallet): Promise<string> {
    if (wallet.role !== 'collection') return (await own())[wallet.role];
    const known = collection.get(wallet.index);
    if (known !== undefined) return known;
    const [key] = await signer.addresses(network, [wallet.index]);
    if (key === undefined) throw permanent('signer_refused_address', `the signer has no address ${wallet.index}`);
    remember(collection, wallet.index, key);
    return key;
  }

  async function lockOf(refundId: string): Promise<string> {
    const known = locks.get(refundId);
    if (known !== undefined) return known;
    const key = await signer.refundLock(network, refundId);
    remember(locks, refundId, key);
    return key;
  }

  /**
   * Returns the configured token of a currency.
   * @throws Fault permanent `payout_token_unknown`
   */
  function tokenOf(currency: Token['symbol']): Token {
    const token = tokens.find(({ symbol }) => symbol === currency);
    if (token) return token;
    throw permanent(
      'payout_token_unknown',
      `the configuration of ${network} has no ${currency}, which a payout needs: add the token again and restart`,
    );
  }

  return {
    own,
    async draft(intent, olderLock = false) {
      const payer = await keyOf(rules.payer(intent));
      switch (intent.kind) {
        case 'refund':
        case 'return': {
          const owners = [(await own()).refund];
          const lock = rules.hasLocks && { key: await lockOf(intent.id), hasOlder: olderLock };
          return { intent, payer, owners, to: intent.to, token: tokenOf(intent.currency), lock };
        }
        case 'sweep': {
          const owners = await Promise.all(intent.from.map(({ index }) => keyOf({ role: 'collection', index })));
          return { intent, payer, owners, to: (await own()).treasury, token: tokenOf(intent.currency) };
        }
        case 'gas': {
          const to = await keyOf({ role: 'collection', index: intent.index });
          return { intent, payer, owners: [(await own()).gas], to, token: null };
        }
      }
    },
  };
}

function remember<K>(known: Map<K, string>, name: K, key: string): void {
  if (known.size >= REMEMBERED_MAX) known.clear();
  known.set(name, key);
}
