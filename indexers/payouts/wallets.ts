/**
 * The address keys of the wallets that an intent involves, requested from the signer and remembered.
 */
import type { SpendDraft, SpendRules } from '../../src/chains/spend.ts';
import { type Fault, permanent } from '../../src/core/fault.ts';
import { gasReceiver, type Intent, isPayback, type Wallet } from '../../src/core/intent.ts';
import type { NetworkKey, Token } from '../../src/core/transfer.ts';
import type { PayingSigner } from '../../src/signer/client.ts';
import type { SignerWallets } from '../../src/signer/protocol.ts';

/** Deposit addresses and locks of refunds that are remembered. Each is needed for a few minutes. */
const REMEMBERED_MAX = 10_000;

export type PayoutWallets = ReturnType<typeof createPayoutWallets>;

export function createPayoutWallets(
  parts: Readonly<{ network: NetworkKey; tokens: readonly Token[]; rules: SpendRules; signer: PayingSigner }>,
) {
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

  /** @throws Fault permanent `signer_refused_wallet` if another wallet than the present one sets the lock */
  async function lockOf(id: string, payer: string): Promise<string> {
    const name = `${payer} ${id}`;
    const known = locks.get(name);
    if (known !== undefined) return known;
    if (payer !== (await own()).refund) throw otherWallet(network, id, payer);
    const key = await signer.refundLock(network, id);
    remember(locks, name, key);
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

  /** Returns the addresses that the money leaves and the one that it goes to. */
  async function endsOf(intent: Intent, payer: string): Promise<Pick<SpendDraft, 'owners' | 'to'>> {
    switch (intent.kind) {
      case 'refund':
      case 'return':
        return { owners: [payer], to: intent.to };
      case 'sweep': {
        const owners = await Promise.all(intent.from.map(({ index }) => keyOf({ role: 'collection', index })));
        return { owners, to: (await own()).treasury };
      }
      case 'gas':
        return { owners: [payer], to: await keyOf(gasReceiver(intent)) };
    }
  }

  return {
    own,
    /**
     * Returns the intent with the address keys that it involves.
     * @param known address key of the refund or gas wallet that pays it; absent, the one that pays now
     */
    async draft(intent: Intent, { payer: known }: Readonly<{ payer?: string | undefined }> = {}): Promise<SpendDraft> {
      const payer = known ?? (await keyOf(rules.payer(intent)));
      const currency = intent.kind === 'gas' ? null : intent.currency;
      const hasLock = rules.hasLocks === true && isPayback(intent);
      return {
        intent,
        payer,
        token: currency === null ? null : tokenOf(currency),
        ...(await endsOf(intent, payer)),
        ...(hasLock && { lock: await lockOf(intent.id, payer) }),
      };
    },
    /** Asks the signer again. @returns whether other wallets pay now than before */
    async refresh(): Promise<boolean> {
      const before = wallets;
      wallets = await signer.wallets(network);
      return before !== null && (before.refund !== wallets.refund || before.gas !== wallets.gas);
    },
  };
}

const otherWallet = (network: NetworkKey, id: string, payer: string): Fault =>
  permanent(
    'signer_refused_wallet',
    `wallet ${payer} has signed ${id} on ${network}, but the signer's policy names another refund wallet. Let ` +
      'policy.json name the first one again until its payouts have ended, and restart the signer',
  );

function remember<K>(known: Map<K, string>, name: K, key: string): void {
  if (known.size >= REMEMBERED_MAX) known.clear();
  known.set(name, key);
}
