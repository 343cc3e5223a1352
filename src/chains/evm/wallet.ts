/**
 * Wallets of EVM networks: links for apps, and the ERC-20 call for a wallet inside the browser (EIP-6963, EIP-1193).
 *
 * @module
 */
import { invariant } from '../../core/fault.ts';
import { formatUnits } from '../../core/money.ts';
import { okxLink, trustLink, type WalletRequest, type Wallets } from '../wallet.ts';
import { evmAddress } from './address.ts';
import { transferCall } from './wire.ts';

/**
 * What wallets know of a chain. `trust` is its number in Trust Wallet's asset ids. `add` is what EIP-3085 asks for, for
 * chains that not every wallet comes with: the payer's wallet talks to that public node, never Quayside and never this
 * page.
 */
type KnownChain = Readonly<{ trust?: number; okx?: true; add?: Readonly<Record<string, unknown>> }>;

const knownChains: Readonly<Record<string, KnownChain>> = {
  '1': { trust: 60, okx: true },
  '56': {
    trust: 20_000_714,
    okx: true,
    add: {
      chainName: 'BNB Smart Chain',
      nativeCurrency: { name: 'BNB', symbol: 'BNB', decimals: 18 },
      rpcUrls: ['https://bsc-dataseed.bnbchain.org'],
      blockExplorerUrls: ['https://bscscan.com'],
    },
  },
  '97': {
    add: {
      chainName: 'BNB Smart Chain Testnet',
      nativeCurrency: { name: 'tBNB', symbol: 'tBNB', decimals: 18 },
      rpcUrls: ['https://bsc-testnet-dataseed.bnbchain.org'],
      blockExplorerUrls: ['https://testnet.bscscan.com'],
    },
  },
};

function contractOf({ token }: WalletRequest): string {
  const key = evmAddress.parse(token.address);
  invariant(key, `the token address ${token.address} is a valid EVM address`);
  return evmAddress.format(key);
}

const hexChainId = (chainId: string): string => `0x${BigInt(chainId).toString(16)}`;

export const evmWallets: Wallets = {
  code: {
    readBy: ['MetaMask', 'Rainbow', 'Base App', 'AlphaWallet'],
    // MyEtherWallet sends to the contract, Trust Wallet takes the recipient alone, Uniswap Wallet refuses.
    misreadBy: ['MyEtherWallet', 'Trust Wallet', 'Uniswap Wallet'],
  },
  nodeOrigins: () => [],
  links(request) {
    const { token, chainId, to, units, pageUrl } = request;
    const { trust, okx } = knownChains[chainId] ?? {};
    // MetaMask's link is the payment link without its scheme: https://docs.metamask.io/sdk/guides/use-deeplinks
    const uri = evmAddress.deepLink(token, chainId, to, units, pageUrl).slice('ethereum:'.length);
    const amount = formatUnits(units, token.decimals);
    return [
      { wallet: 'MetaMask', opens: 'transfer', href: `https://link.metamask.io/send/${uri}` },
      ...(trust === undefined
        ? []
        : [
            {
              wallet: 'Trust Wallet',
              opens: 'transfer' as const,
              href: trustLink(trust, contractOf(request), evmAddress.format(to), amount),
            },
          ]),
      ...(okx ? [{ wallet: 'OKX Wallet', opens: 'page' as const, href: okxLink(pageUrl) }] : []),
    ];
  },
  /** The transaction for EIP-1193's `eth_sendTransaction`; it sends no coin to the contract. */
  transfer(request, from) {
    const payer = evmAddress.parse(from);
    const { chainId, to, units } = request;
    if (payer === null || payer === to) return null;
    const { add } = knownChains[chainId] ?? {};
    const id = hexChainId(chainId);
    return {
      chainId: id,
      add: add ? { chainId: id, ...add } : null,
      transaction: {
        from: evmAddress.format(payer),
        to: contractOf(request),
        value: '0x0',
        data: transferCall(to, units),
        chainId: id,
      },
    };
  },
};
