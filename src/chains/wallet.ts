/**
 * The interface between the payment page and payers' wallets. A family provides links that open an app, and the request
 * to a wallet inside the browser. The browser's half is `src/checkout/browser/wallets/<family>.js`.
 */
import type { BlockRef } from '../core/block.ts';
import { formatUnits } from '../core/money.ts';
import type { Token } from '../core/transfer.ts';

/**
 * A network's settings about payers' wallets. A family reads `trustCoin`, `okx` and the settings that its `ownSettings`
 * names.
 */
export type WalletSettings = Readonly<{
  /** The network's number in Trust Wallet's asset ids; absent where Trust Wallet does not know the network. */
  trustCoin?: number;
  /** Whether OKX Wallet knows the network. */
  okx?: boolean;
  /**
   * The data with which a wallet adds a network that it does not know (EIP-3085). The payer's wallet uses those public
   * nodes; Quayside and the payment page never do.
   */
  add?: Readonly<{ chainName: string; rpcUrls: readonly string[] }>;
  /**
   * Origins of the nodes that wallets inside the page call. Such a wallet runs in the page and has no other way to a
   * node.
   */
  nodeOrigins?: readonly string[];
  /** The network's name in the Wallet Standard, such as `solana:mainnet`. */
  cluster?: string;
}>;

/** The part of a network's configuration that concerns payers' wallets. */
export type WalletNetwork = Readonly<{
  nativeSymbol?: string;
  /** A block explorer's URL of a transaction, with `{tx}` in the place of its hash. */
  explorer?: string;
  wallets: WalletSettings;
}>;

/** The requested payment, and the payment page that requests it. */
export type WalletRequest = Readonly<{
  network: WalletNetwork;
  token: Token;
  /** The network's chain id as configured. */
  chainId: string;
  /** Address key of the recipient. */
  to: string;
  /** Base units of the token. */
  units: bigint;
  /** The payment page, with this way to pay selected. */
  pageUrl: string;
}>;

/**
 * A link for a wallet's app on a phone. `transfer` opens the filled-in transfer, `page` this payment page in the app's
 * own browser.
 */
export type WalletLink = Readonly<{ wallet: string; opens: 'transfer' | 'page'; href: string }>;

export interface Wallets {
  /**
   * Wallets that read `AddressCodec.deepLink` as a QR code, and those known to misread it. Null where that link carries
   * no transfer.
   */
  readonly code: Readonly<{ readBy: readonly string[]; misreadBy: readonly string[] }> | null;
  /** The wallet settings that only this family has, as the configuration writes them. */
  readonly ownSettings: readonly ('add' | 'node_origins' | 'cluster')[];
  /** Only links that work on this network, the most used wallet first. */
  links(request: WalletRequest): readonly WalletLink[];
  /**
   * Returns the request for a wallet inside the payer's browser, as plain data for the family's script.
   * @param from the payer's address, as its wallet reports it
   * @param newest a block at most a few seconds old
   * @returns null if nothing can be sent this way
   */
  transfer(
    request: WalletRequest,
    from: string,
    newest: Pick<BlockRef, 'hash'>,
  ): Promise<Readonly<Record<string, unknown>> | null>;
}

/**
 * Returns a link that opens a page in Phantom's browser.
 * https://docs.phantom.com/phantom-deeplinks/other-methods/browse
 */
export const phantomLink = (pageUrl: string): string =>
  `https://phantom.app/ul/browse/${encodeURIComponent(pageUrl)}?ref=${encodeURIComponent(new URL(pageUrl).origin)}`;

/**
 * Returns a link that opens a page in OKX Wallet's browser. https://web3.okx.com/build/dev-docs/sdks/app-universal-link
 */
function okxLink(pageUrl: string): string {
  const inApp = `okx://wallet/dapp/url?dappUrl=${encodeURIComponent(pageUrl)}`;
  return `https://web3.okx.com/download?deeplink=${encodeURIComponent(inApp)}`;
}

/**
 * Returns the links of the wallets that support networks of several families, if they know this one.
 * @param token the contract, as Trust Wallet's asset ids have it
 * @param to the recipient, as people read it
 */
export function sharedLinks(request: WalletRequest, token: string, to: string): WalletLink[] {
  const { network, units, pageUrl } = request;
  const { trustCoin, okx } = network.wallets;
  const amount = formatUnits(units, request.token.decimals);
  return [
    ...(trustCoin === undefined
      ? []
      : [{ wallet: 'Trust Wallet', opens: 'transfer' as const, href: trustLink(trustCoin, token, to, amount) }]),
    ...(okx ? [{ wallet: 'OKX Wallet', opens: 'page' as const, href: okxLink(pageUrl) }] : []),
  ];
}

/**
 * Returns a link that opens a filled-in transfer in Trust Wallet.
 * https://developer.trustwallet.com/developer/develop-for-trust/deeplinking
 * @param coin the network's number in Trust's asset ids (UAI)
 * @param token the contract, as in the asset id
 * @param to the recipient, as people read it
 * @param amount decimal text in whole tokens, not base units
 */
const trustLink = (coin: number, token: string, to: string, amount: string): string =>
  `https://link.trustwallet.com/send?asset=c${coin}_t${token}&address=${to}&amount=${amount}&memo=`;
