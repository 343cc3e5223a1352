/**
 * Wallets as their extensions inject them into a page: one per family, as the standards define them. The test decides
 * each answer; every request is recorded, over all tabs.
 *
 * EIP-6963 and EIP-1193; TIP-6963, TIP-1193 and tronWeb; Wallet Standard with `solana:signAndSendTransaction`.
 */
import type { BrowserContext } from 'playwright-core';

/** One request. `params` is what the page gave, as JSON can say it. */
// biome-ignore lint/suspicious/noExplicitAny: tests assert every part that they use
export type WalletCall = Readonly<{ method: string; params: any }>;
/** Answers a request, now or later; throws what `walletError` makes to answer with an error. */
export type WalletMind = (call: WalletCall) => unknown;
export type BrowserWallet = Readonly<{
  calls: readonly WalletCall[];
  /** The methods asked so far, in order. */
  methods(): string[];
}>;

/** An error as wallets throw it. */
export const walletError = (code: number, message: string, data?: object): Error =>
  Object.assign(new Error(message), { code, data });

export const dataIcon =
  'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path fill="%23e2761b" d="M0 0h9v9H0z"/></svg>';

type Info = Readonly<{ name: string; rdns: string; icon?: string }>;

/** Connects calls of the page with the test: errors cross as data, because an exception would lose its code. */
async function connectMind(context: BrowserContext, binding: string, mind: WalletMind): Promise<BrowserWallet> {
  const calls: WalletCall[] = [];
  await context.exposeFunction(binding, async (method: string, params: unknown) => {
    calls.push({ method, params });
    try {
      return { result: (await mind({ method, params })) ?? null };
    } catch (error) {
      const { code, message, data } = error as { code?: number; message: string; data?: unknown };
      return { error: { code, message, data } };
    }
  });
  await context.addInitScript(`window.ask_${binding} = async (method, params) => {
    const { result, error } = await window.${binding}(method, params);
    if (error) throw Object.assign(new Error(error.message), { code: error.code, data: error.data });
    return result;
  };`);
  return { calls, methods: () => calls.map(({ method }) => method) };
}

let bindings = 0;
const nextBinding = () => `mind${bindings++}`;

export async function addEvmWallet(context: BrowserContext, info: Info, mind: WalletMind): Promise<BrowserWallet> {
  const binding = nextBinding();
  const wallet = await connectMind(context, binding, mind);
  const announced = { uuid: `350670db-19fa-4704-a166-e52e178b59d${bindings % 10}`, icon: dataIcon, ...info };
  await context.addInitScript(`{
    const provider = { request: ({ method, params }) => window.ask_${binding}(method, params), on() {}, removeListener() {} };
    const detail = Object.freeze({ info: ${JSON.stringify(announced)}, provider });
    const announce = () => window.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }));
    window.addEventListener('eip6963:requestProvider', announce);
    announce();
  }`);
  return wallet;
}

/** Where the wallet's tronWeb finds its node; tests answer there with `context.route`. */
export const TRON_NODE = 'https://api.trongrid.io';
export const TRON_TEST_NODE = 'https://nile.trongrid.io';

/**
 * Its tronWeb calls the node from inside the page, as TronLink's does, and a switch of the chain creates another
 * tronWeb.
 * @param place `announced` by TIP-6963; `tron` or `tronLink` only as a member of the window, the latter in its form
 * before TIP-1193
 */
export async function addTronWallet(
  context: BrowserContext,
  info: Info,
  place: 'announced' | 'tron' | 'tronLink',
  options: Readonly<{ account: string; onTestChain?: boolean }>,
  mind: WalletMind,
): Promise<BrowserWallet> {
  const binding = nextBinding();
  const wallet = await connectMind(context, binding, mind);
  const announced = { uuid: `9a6dd5ef-34c0-4b0d-9d0c-6c5d9f1f7c0${bindings % 10}`, icon: dataIcon, ...info };
  await context.addInitScript(`{
    const ask = window.ask_${binding};
    const tronWebAt = (host) => {
      const call = async (path, body) => (await fetch(host + path, { method: 'POST', body: JSON.stringify(body) })).json();
      return {
        fullNode: { host },
        defaultAddress: { base58: ${JSON.stringify(options.account)} },
        transactionBuilder: {
          triggerSmartContract: (contract, call_, options, parameters, issuer) =>
            call('/wallet/triggersmartcontract', { contract, call: call_, options, parameters, issuer }),
        },
        trx: {
          getBlockByNumber: (num) => call('/wallet/getblockbynum', { num }),
          sign: (transaction) => ask('sign', transaction),
          sendRawTransaction: (signed) => call('/wallet/broadcasttransaction', signed),
        },
      };
    };
    const provider = {
      isTronLink: ${place === 'tronLink'},
      tronWeb: false,
      async request({ method, params }) {
        const result = await ask(method, params);
        if (method.endsWith('equestAccounts')) provider.tronWeb ||= tronWebAt(${JSON.stringify(options.onTestChain ? TRON_TEST_NODE : TRON_NODE)});
        if (method === 'wallet_switchEthereumChain' && result !== 'stays') provider.tronWeb = tronWebAt(${JSON.stringify(TRON_NODE)});
        return result;
      },
      on() {},
      removeListener() {},
    };
    ${
      place === 'announced'
        ? `const detail = Object.freeze({ info: ${JSON.stringify(announced)}, provider });
    const announce = () => window.dispatchEvent(new CustomEvent('TIP6963:announceProvider', { detail }));
    window.addEventListener('TIP6963:requestProvider', announce);
    window.tron = provider;
    announce();`
        : `window.${place} = provider;`
    }
  }`);
  return wallet;
}

/**
 * Adds a Solana wallet.
 * @param options.chains the chains of the wallet, by their names in the standard; `window.unregisterWallet()` removes
 * it
 */
export async function addSolanaWallet(
  context: BrowserContext,
  name: string,
  options: Readonly<{ account: string; chains: readonly string[] }>,
  mind: WalletMind,
): Promise<BrowserWallet> {
  const binding = nextBinding();
  const wallet = await connectMind(context, binding, mind);
  await context.addInitScript(`{
    const ask = window.ask_${binding};
    const chains = ${JSON.stringify(options.chains)};
    const account = {
      address: ${JSON.stringify(options.account)},
      publicKey: new Uint8Array(32),
      chains,
      features: ['solana:signAndSendTransaction', 'solana:signMessage'],
    };
    const wallet = {
      version: '1.0.0',
      name: ${JSON.stringify(name)},
      icon: ${JSON.stringify(dataIcon)},
      chains,
      accounts: [],
      features: {
        'standard:connect': {
          version: '1.0.0',
          async connect(input) {
            const isGiven = await ask('connect', input ?? null);
            return { accounts: isGiven === false ? [] : [account] };
          },
        },
        'standard:events': { version: '1.0.0', on: () => () => {} },
        'solana:signAndSendTransaction': {
          version: '1.0.0',
          supportedTransactionVersions: ['legacy', 0],
          async signAndSendTransaction(...inputs) {
            const asked = inputs.map(({ account, chain, transaction, ...rest }) => {
              if (!(transaction instanceof Uint8Array)) throw new Error('the transaction is not bytes');
              return { account: account.address, chain, transaction: [...transaction], ...rest };
            });
            const signature = await ask('signAndSendTransaction', asked);
            return [{ signature: Uint8Array.from(signature) }];
          },
        },
      },
    };
    const register = (api) => { window.unregisterWallet = api.register(wallet); };
    window.addEventListener('wallet-standard:app-ready', ({ detail }) => register(detail));
    window.dispatchEvent(new CustomEvent('wallet-standard:register-wallet', { detail: register }));
  }`);
  return wallet;
}
