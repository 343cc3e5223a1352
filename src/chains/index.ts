/**
 * The table of chain families. Address codecs are small and loaded at once. Decoders and node clients are loaded on
 * demand, so that no process loads sockets or SDKs that it does not use.
 */
import type { Chain, Family } from './chain.ts';
import { XPUB_PATH as EVM_XPUB_PATH, evmAddress, evmTransactionId, WEI_DECIMALS } from './evm/address.ts';
import { evmWallets } from './evm/wallet.ts';
import { LAMPORT_DECIMALS, solanaAddress, solanaTransactionId } from './solana/address.ts';
import { solanaWallets } from './solana/wallet.ts';
import { ownFees, sponsoredFees } from './spend.ts';
import { SUN_DECIMALS, XPUB_PATH as TRON_XPUB_PATH, tronAddress, tronTransactionId } from './tron/address.ts';
import { expirySpreadMs, TRON_EXPIRY_MS } from './tron/expiry.ts';
import { tronWallets } from './tron/wallet.ts';

/**
 * A transaction lives for 150 blocks after the block that its blockhash names, which is at least 45 s. That block is
 * about 13 s old when the signer gets it. The signer cannot count blocks.
 */
const SOLANA_LIFE_MS_MIN = 30_000;
/** More than twice as long as such a transaction usually lives, which is a minute or two. */
const SOLANA_LIFE_MS_MAX = 5 * 60_000;
/**
 * A transaction on an EVM network does not expire. A node that has just started receives pending transactions within
 * minutes, when it finds its peers. Those that were sent to builders alone are tried for 25 blocks, which take five
 * minutes on Ethereum (https://docs.flashbots.net/flashbots-protect/settings-guide).
 */
const EVM_POOL_MS = 10 * 60_000;

export const chains: Readonly<Record<Family, Chain>> = {
  evm: {
    family: 'evm',
    finalities: ['sequencer', 'safe', 'finalized'],
    address: evmAddress,
    transactionId: evmTransactionId,
    wallets: evmWallets,
    spendRules: {
      lane: 'sequence',
      settleMs: (expiryMs = EVM_POOL_MS) => expiryMs,
      payer: ownFees,
      sweepOwnersMax: 1,
      nativeDecimals: WEI_DECIMALS,
    },
    wire: async () => (await import('./evm/wire.ts')).evmWire,
    xpubKeys: async () => (await import('./xpub.ts')).xpubKeysAt(EVM_XPUB_PATH),
    node: () => import('./evm/node/node.ts'),
    spending: async () => (await import('./evm/spend.ts')).evmSpending,
    payouts: () => import('./evm/node/payout-node.ts'),
    secondOpinion: () => import('./evm/node/second-opinion.ts'),
  },
  tron: {
    family: 'tron',
    finalities: ['finalized'],
    address: tronAddress,
    transactionId: tronTransactionId,
    wallets: tronWallets,
    spendRules: {
      lane: 'expiry',
      expiresAtMs: ({ expiration_ms }) => Number(expiration_ms),
      settleMs: (expiryMs = TRON_EXPIRY_MS) => expiryMs + expirySpreadMs(expiryMs),
      payer: ownFees,
      sweepOwnersMax: 1,
      nativeDecimals: SUN_DECIMALS,
    },
    wire: async () => (await import('./tron/wire.ts')).tronWire,
    xpubKeys: async () => (await import('./xpub.ts')).xpubKeysAt(TRON_XPUB_PATH),
    spending: async () => (await import('./tron/spend.ts')).tronSpending,
    payouts: () => import('./tron/node/payout-node.ts'),
    secondOpinion: () => import('./tron/node/second-opinion.ts'),
    node: () => import('./tron/node/node.ts'),
  },
  solana: {
    family: 'solana',
    finalities: ['confirmed', 'finalized'],
    address: solanaAddress,
    transactionId: solanaTransactionId,
    wallets: solanaWallets,
    spendRules: {
      lane: 'expiry',
      expiresAtMs: (_terms, signedAtMs) => signedAtMs + SOLANA_LIFE_MS_MIN,
      settleMs: (expiryMs = SOLANA_LIFE_MS_MAX) => expiryMs,
      payer: sponsoredFees,
      sweepOwnersMax: 6,
      nativeDecimals: LAMPORT_DECIMALS,
      hasLocks: true,
    },
    wire: async () => (await import('./solana/wire.ts')).solanaWire,
    spending: async () => (await import('./solana/spend.ts')).solanaSpending,
    payouts: () => import('./solana/node/payout-node.ts'),
    secondOpinion: () => import('./solana/node/second-opinion.ts'),
    node: () => import('./solana/node/node.ts'),
    offlineKeys: async () => (await import('./solana/offline-keys.ts')).solanaOfflineKeys,
  },
};

/** Families whose deposit addresses are derived from an xpub. Other families import them. */
export const derivedFamilies: ReadonlySet<string> = new Set(
  Object.values(chains).flatMap(({ family, xpubKeys }) => (xpubKeys ? [family] : [])),
);
