/**
 * Wallets of EVM networks: links for apps, and the ERC-20 call for a wallet inside the browser (EIP-6963, EIP-1193).
 */
import { invariant } from '../../core/fault.ts';
import { transferData } from '../erc20.ts';
import { sharedLinks, type WalletNetwork, type WalletRequest, type Wallets } from '../wallet.ts';
import { evmAddress } from './address.ts';

function contractOf({ token }: WalletRequest): string {
  const key = evmAddress.parse(token.address);
  invariant(key, `the token address ${token.address} is a valid EVM address`);
  return evmAddress.format(key);
}

/** Decimals of the native coin, which every EVM network has. */
const NATIVE_DECIMALS = 18;

/** Returns the parameter of EIP-3085's `wallet_addEthereumChain`; null for a network that every wallet knows. */
function chainToAdd({ wallets, nativeSymbol, explorer }: WalletNetwork, chainId: string) {
  if (!wallets.add || nativeSymbol === undefined) return null;
  return {
    chainId,
    chainName: wallets.add.chainName,
    nativeCurrency: { name: nativeSymbol, symbol: nativeSymbol, decimals: NATIVE_DECIMALS },
    rpcUrls: wallets.add.rpcUrls,
    ...(explorer !== undefined && { blockExplorerUrls: [new URL(explorer).origin] }),
  };
}

export const evmWallets: Wallets = {
  code: {
    readBy: ['MetaMask', 'Rainbow', 'Base App', 'AlphaWallet'],
    // MyEtherWallet sends to the contract, Trust Wallet takes the recipient alone, Uniswap Wallet refuses.
    misreadBy: ['MyEtherWallet', 'Trust Wallet', 'Uniswap Wallet'],
  },
  ownSettings: ['add'],
  links(request) {
    const { token, chainId, to, units, pageUrl } = request;
    // MetaMask's link is the payment link without its scheme: https://docs.metamask.io/sdk/guides/use-deeplinks
    const uri = evmAddress.deepLink(token, chainId, to, units, pageUrl).slice('ethereum:'.length);
    return [
      { wallet: 'MetaMask', opens: 'transfer', href: `https://link.metamask.io/send/${uri}` },
      ...sharedLinks(request, contractOf(request), evmAddress.format(to)),
    ];
  },
  /** The transaction for EIP-1193's `eth_sendTransaction`; it sends no coin to the contract. */
  async transfer(request, from) {
    const payer = evmAddress.parse(from);
    const { network, chainId, to, units } = request;
    if (payer === null || payer === to) return null;
    const id = `0x${BigInt(chainId).toString(16)}`;
    return {
      chainId: id,
      add: chainToAdd(network, id),
      transaction: {
        from: evmAddress.format(payer),
        to: contractOf(request),
        value: '0x0',
        data: `0x${transferData(to, units)}`,
        chainId: id,
      },
    };
  },
};
