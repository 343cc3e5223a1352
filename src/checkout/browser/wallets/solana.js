// @ts-check
/**
 * Solana wallets: discovered and used by the Wallet Standard (https://github.com/wallet-standard/wallet-standard).
 */
import { problem } from './wallet.js';

const CONNECT = 'standard:connect';
const SEND = 'solana:signAndSendTransaction';
const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** @param {import('./wallet.js').Discovery} discovery */
export function discover({ found, lost }) {
  const register = (/** @type {any[]} */ ...wallets) => {
    const own = wallets
      .filter((wallet) => wallet?.features?.[CONNECT] && wallet.features[SEND])
      .map((wallet) => walletOf(wallet));
    own.forEach(found);
    return () => {
      for (const { id } of own) lost(id);
    };
  };
  const api = Object.freeze({ register });
  window.addEventListener('wallet-standard:register-wallet', (event) => {
    const { detail } = /** @type {CustomEvent} */ (event);
    if (typeof detail === 'function') detail(api);
  });
  window.dispatchEvent(new CustomEvent('wallet-standard:app-ready', { detail: api }));
}

/**
 * @param {any} wallet
 * @returns {import('./wallet.js').Wallet}
 */
function walletOf(wallet) {
  /** @type {any} */
  let account;
  return {
    id: String(wallet.name).toLowerCase().replace(/\W+/g, '-'),
    name: String(wallet.name),
    icon: String(wallet.icon),
    async connect() {
      const { accounts } = await wallet.features[CONNECT].connect();
      account = accounts.find((/** @type {any} */ one) => one.features.includes(SEND));
      return account?.address;
    },
    async ready({ chain }) {
      if (!wallet.chains.includes(chain) || !account.chains.includes(chain)) throw problem('unknown_network');
    },
    async send({ chain, transaction }, leave) {
      const bytes = Uint8Array.from(atob(transaction), (character) => character.charCodeAt(0));
      leave();
      // The wallet sends on this cluster, whichever it shows.
      const [sent] = await wallet.features[SEND].signAndSendTransaction({ account, chain, transaction: bytes });
      return base58(sent.signature);
    },
  };
}

/** @param {Uint8Array} bytes */
function base58(bytes) {
  let value = 0n;
  let zeros = '';
  for (const byte of bytes) {
    if (value === 0n && byte === 0) zeros += ALPHABET[0];
    value = value * 256n + BigInt(byte);
  }
  let digits = '';
  for (; value > 0n; value /= 58n) digits = ALPHABET[Number(value % 58n)] + digits;
  return zeros + digits;
}
