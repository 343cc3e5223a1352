/**
 * The address keys of the wallets that an intent involves, requested from the signer and remembered.
 */
import type { SpendDraft, SpendRules } from '../../src/chains/spend.ts';
import { permanent } from '../../src/core/fault.ts';
import { gasReceiver, type HotRole, type Intent, isPayback, type Wallet } from '../../src/core/intent.ts';
import type { NetworkKey, Token } from '../../src/core/transfer.ts';
import type { PayingSigner } from '../../src/signer/client.ts';
import type { SignerWallets } from '../../src/signer/protocol.ts';

/** Deposit addresses, and locks of refunds, that are remembered; each is needed for a few minutes. */
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

  /** Returns the refund or gas wallet with an index; without one, the wallet that pays now. */
  async function hotKeyOf({ role, index }: Extract<Wallet, { role: HotRole }>): Promise<string> {
    const known = await own();
    if (index === undefined || index === indexOf(known, known[role])) return known[role];
    const other = known.former.find((one) => one.role === role && one.index === index);
    if (other) return other.key;
    throw permanent('signer_refused_wallet', `the signer names no ${role} wallet ${index} on ${network}; restart it`);
  }

  async function keyOf(wallet: Wallet): Promise<string> {
    if (wallet.role !== 'collection') return hotKeyOf(wallet);
    const known = collection.get(wallet.index);
    if (known !== undefined) return known;
    const [key] = await signer.addresses(network, [wallet.index]);
    if (key === undefined) throw permanent('signer_refused_address', `the signer has no address ${wallet.index}`);
    remember(collection, wallet.index, key);
    return key;
  }

  /** @param payer of the refund or gas wallet that sets it */
  async function lockOf(id: string, payer: string): Promise<string> {
    const name = `${payer} ${id}`;
    const known = locks.get(name);
    if (known !== undefined) return known;
    const index = indexOf(await own(), payer) ?? 0;
    const key = await (index === 0 ? signer.refundLock(network, id) : signer.refundLock(network, id, index));
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

  /** Returns where the money goes, and from where. */
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
    /** Returns the wallets that have paid what wallets of the role pay, the one that pays now first. */
    async ofRole(role: HotRole): Promise<readonly string[]> {
      const { former, ...known } = await own();
      const keys = former.filter((one) => one.role === role).map(({ key }) => key);
      return [known[role], ...keys.reverse()];
    },
    /**
     * Returns the intent with the address keys that it involves.
     * @param known address key of the refund or gas wallet that pays it; absent, the one that pays now
     */
    async draft(intent: Intent, { payer: known }: Readonly<{ payer?: string | undefined }> = {}): Promise<SpendDraft> {
      const payer = known ?? (await keyOf(rules.payer(intent)));
      const currency = intent.kind === 'gas' ? null : intent.currency;
      const hasLock = rules.hasLocks === true && isPayback(intent);
      return {
        ...{ intent, payer, token: currency === null ? null : tokenOf(currency) },
        ...(await endsOf(intent, payer)),
        ...(hasLock && { lock: await lockOf(intent.id, payer) }),
      };
    },
    /** Returns what a request to sign says of its payer; nothing for the first wallet of a role. */
    async named(payer: string): Promise<Readonly<{ payer?: string }>> {
      const index = indexOf(await own(), payer);
      return index === null || index === 0 ? {} : { payer };
    },
    /** Asks the signer again. @returns whether other wallets pay now than before */
    async refresh(): Promise<boolean> {
      const before = wallets;
      wallets = await signer.wallets(network);
      return before !== null && (before.refund !== wallets.refund || before.gas !== wallets.gas);
    },
  };
}

/** Returns the index of a refund or gas wallet; null for a deposit address. The one that pays now has the highest. */
function indexOf({ refund, gas, former }: SignerWallets, key: string): number | null {
  const other = former.find((one) => one.key === key);
  if (other) return other.index;
  const role = key === refund ? 'refund' : key === gas ? 'gas' : null;
  return role === null ? null : former.filter((one) => one.role === role).length;
}

function remember<K>(known: Map<K, string>, name: K, key: string): void {
  if (known.size >= REMEMBERED_MAX) known.clear();
  known.set(name, key);
}
