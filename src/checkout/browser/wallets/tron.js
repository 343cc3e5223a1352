// @ts-check
/**
 * TRON wallets: discovered by TIP-6963 or, if older, by their global; used by TIP-1193 and their own tronWeb.
 */
import { problem } from './wallet.js';

/** The node already has the transaction, which means the same as accepted. */
const KNOWN_TO_NODE = 'DUP_TRANSACTION_ERROR';
/** The older request for accounts returns it instead of an error. */
const GRANTED = 200;

/** @param {import('./wallet.js').Discovery} discovery */
export function discover({ found }) {
  /** @type {Set<unknown>} */
  const known = new Set();
  /**
   * @param {{ rdns: unknown, name: unknown, icon: unknown }} info
   * @param {any} provider
   */
  const add = (info, provider) => {
    if (typeof provider?.request !== 'function' || known.has(provider)) return;
    known.add(provider);
    found(walletOf(info, provider));
  };
  window.addEventListener('TIP6963:announceProvider', (event) => {
    const { info, provider } = /** @type {CustomEvent} */ (event).detail ?? {};
    if (info) add(info, provider);
  });
  window.dispatchEvent(new Event('TIP6963:requestProvider'));
  const addUnannounced = () => {
    if (known.size > 0) return;
    const { tron, tronLink } = /** @type {any} */ (window);
    const provider = tron ?? tronLink;
    const name = !tron || tron.isTronLink ? 'TronLink' : 'TRON';
    add({ rdns: name.toLowerCase(), name, icon: '' }, provider);
  };
  addUnannounced();
  window.addEventListener('tronLink#initialized', addUnannounced, { once: true });
  window.addEventListener('load', addUnannounced, { once: true });
}

/**
 * @param {{ rdns: unknown, name: unknown, icon: unknown }} info
 * @param {any} provider
 * @returns {import('./wallet.js').Wallet}
 */
function walletOf({ rdns, name, icon }, provider) {
  async function connect() {
    // A wallet without TIP-1193 has another name for the request.
    const isOld = provider === /** @type {any} */ (window).tronLink;
    const answer = await provider.request({ method: isOld ? 'tron_requestAccounts' : 'eth_requestAccounts' });
    // A locked wallet returns no code, or has no tronWeb.
    if (isOld && answer?.code && answer.code !== GRANTED) {
      throw Object.assign(new Error(answer.message), { code: answer.code });
    }
    if ((isOld && !answer?.code) || !provider.tronWeb) return undefined;
    return Array.isArray(answer) ? answer[0] : provider.tronWeb.defaultAddress.base58;
  }

  /**
   * Asks the same node that the wallet sends to. A chain's id is the end of its first block's hash.
   * @param {string} chainId
   */
  async function isOn(chainId) {
    const { blockID } = await provider.tronWeb.trx.getBlockByNumber(0);
    return BigInt(`0x${blockID.slice(-8)}`) === BigInt(chainId);
  }

  return {
    id: String(rdns),
    name: String(name),
    icon: String(icon),
    connect,
    async ready({ chainId }) {
      if (await isOn(chainId)) return;
      // The wallet creates a new tronWeb when it switches.
      await provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId }] });
      if (!(await isOn(chainId))) throw problem('other_network');
    },
    async send({ chainId, contract, from, to, units, feeLimit }, leave) {
      const { tronWeb } = provider;
      const parameters = [
        { type: 'address', value: to },
        { type: 'uint256', value: units },
      ];
      const call = 'transfer(address,uint256)';
      const built = await tronWeb.transactionBuilder.triggerSmartContract(
        contract,
        call,
        { feeLimit },
        parameters,
        from,
      );
      if (!built?.transaction) throw problem('other_network');
      const signed = await tronWeb.trx.sign(built.transaction);
      if (!(await isOn(chainId))) throw problem('other_network');
      leave();
      const sent = await tronWeb.trx.sendRawTransaction(signed);
      if (sent?.result === true || sent?.code === KNOWN_TO_NODE) return signed.txID;
      throw new Error(sent?.code ?? 'the node did not take it');
    },
  };
}
