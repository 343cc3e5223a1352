/**
 * Transaction ids: the first signature, 64 bytes in base58.
 *
 * @module
 */
import { base58 } from '@scure/base';

const SIGNATURE_BYTES = 64;
/** 64 bytes in base58; every leading zero byte is a 1. */
const TEXT = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;

export const solanaTransactionId = (text: string): string | null =>
  TEXT.test(text) && base58.decode(text).length === SIGNATURE_BYTES ? text : null;
