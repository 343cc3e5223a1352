// @ts-check
/**
 * EVM wallets: discovered by EIP-6963, used by EIP-1193.
 */
import { codeOf, problem } from './wallet.js';

/** The wallet does not know the chain (EIP-3326). */
const UNKNOWN_CHAIN = 4902;

/** @param {import('./wallet.js').Discovery} discovery */
export function discover({ found }) {
  window.addEventListener('eip6963:announceProvider', (event) => {
    const { info, provider } = /** @type {CustomEvent} */ (event).detail ?? {};
    if (info && typeof provider?.request === 'function') found(walletOf(info, provider));
  });
  window.dispatchEvent(new Event('eip6963:requestProvider'));
}

/**
 * @param {{ rdns: unknown, name: unknown, icon: unknown }} info
 * @param {any} provider
 * @returns {import('./wallet.js').Wallet}
 */
function walletOf({ rdns, name, icon }, provider) {
  /**
   * @param {string} method
   * @param {unknown[]} params
   */
  const request = (method, ...params) => provider.request(params.length > 0 ? { method, params } : { method });
  const isOn = async (/** @type {string} */ chainId) => BigInt(await request('eth_chainId')) === BigInt(chainId);

  /** @param {{ chainId: string, add: object | null }} transfer */
  async function ready({ chainId, add }) {
    if (await isOn(chainId)) return;
    try {
      await request('wallet_switchEthereumChain', { chainId });
    } catch (error) {
      if (codeOf(error) !== UNKNOWN_CHAIN) throw error;
      if (!add) throw problem('unknown_network');
      await request('wallet_addEthereumChain', add);
      // Adding a chain does not always switch to it.
      if (!(await isOn(chainId))) await request('wallet_switchEthereumChain', { chainId });
    }
    if (!(await isOn(chainId))) throw problem('other_network');
  }

  return {
    id: String(rdns),
    name: String(name),
    icon: String(icon),
    connect: async () => (await request('eth_requestAccounts'))?.[0],
    ready,
    async send({ chainId, transaction }, leave) {
      // The payer may have switched back meanwhile. Wallets also check the transaction's chain id.
      if (!(await isOn(chainId))) throw problem('other_network');
      leave();
      return request('eth_sendTransaction', transaction);
    },
  };
}
