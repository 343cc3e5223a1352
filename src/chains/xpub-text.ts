/**
 * Checks the text of an extended public key (BIP-32) without the arithmetic of its curve. Every process checks the
 * configuration, but only few derive addresses.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { createBase58check } from '@scure/base';
import { type Fault, permanent } from '../core/fault.ts';

/** m / 44' / coin' / account' / 0: four steps below the seed. */
const XPUB_DEPTH = 4;
/** Version, depth, the parent's fingerprint, the child's number, chain code, public key. */
const XPUB_BYTES = 78;
/** The first bytes on the main network, which make the text start with "xpub". */
const VERSION = 0x0488b21e;
const KEY_AT = 45;

const base58check = createBase58check(sha256);

/** The message never contains the text, which might be a private key pasted by mistake. */
export const xpubInvalid = (why: string): Fault => permanent('xpub_invalid', why);

const unreadable = (why: string): Fault =>
  xpubInvalid(`not an extended public key: expected base58 text that starts with "xpub" (${why})`);

/**
 * Checks that a text is an extended public key at the depth of BIP-44's external chain.
 * @param path of the family's xpub in a wallet, for the message
 * @throws Fault permanent `xpub_invalid`
 */
export function checkXpubText(text: string, path: string): void {
  if (/^[a-z]prv/i.test(text)) {
    throw xpubInvalid(
      'this is an extended PRIVATE key; Quayside only takes the public one (xpub…). Treat the private key as exposed, since it was in a settings file',
    );
  }
  const bytes = decode(text);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length !== XPUB_BYTES || view.getUint32(0) !== VERSION) throw unreadable('it is another kind of text');
  const depth = view.getUint8(4);
  if (depth !== XPUB_DEPTH) {
    throw xpubInvalid(
      `this xpub is at depth ${depth} of its wallet, not ${XPUB_DEPTH}: export the key at ${path}, so that wallets find the addresses again`,
    );
  }
  if (![2, 3].includes(view.getUint8(KEY_AT))) throw unreadable('its key is not a compressed public key');
}

function decode(text: string): Uint8Array {
  try {
    return base58check.decode(text);
  } catch {
    throw unreadable('its checksum is wrong');
  }
}
