/**
 * Deposit addresses of EVM networks from an xpub.
 */
import type { XpubKeys } from '../chain.ts';
import { deriveAccount } from '../xpub.ts';
import { XPUB_PATH } from './address.ts';

export const evmXpubKeys: XpubKeys = { derive: (xpub, index) => deriveAccount(xpub, index, XPUB_PATH) };
