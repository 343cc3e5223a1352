/**
 * Keys of secp256k1 chains. Deposit addresses are children of an account's extended public key (BIP-32), at the
 * external chain of BIP-44 that common wallets use. Hot wallets are in another account of the same seed. EVM networks
 * and TRON make their addresses from the same 20 bytes of such a key.
 */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { hmac } from '@noble/hashes/hmac.js';
import { sha512 } from '@noble/hashes/sha2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { HARDENED_OFFSET, HDKey } from '@scure/bip32';
import { invariant } from '../core/fault.ts';
import type { Wallet } from '../core/intent.ts';
import type { XpubKeys } from './chain.ts';
import { hotChild, type WalletKeys } from './spend.ts';
import { checkXpubText, xpubInvalid } from './xpub-text.ts';

/** An installation has a handful of xpubs; beyond this, the oldest is dropped from the cache. */
const PARSED_XPUBS_MAX = 64;
const ACCOUNT_BYTES = 20;
const INDEX_BYTES = 4;
const TWEAK_BYTES = 32;
/**
 * The account of the hot wallets. It is not the account of the deposit addresses, so that a leaked key of a hot wallet
 * endangers no deposit address. It is so high that no wallet program reaches it by counting.
 */
const HOT_ACCOUNT = 1000;

const { Point } = secp256k1;

/** An extended public key, with its point. */
type Parent = Readonly<{ publicKey: Uint8Array; chainCode: Uint8Array; point: InstanceType<typeof Point> }>;

const parsedXpubs = new Map<string, Parent>();

function externalChain(xpub: string, path: string): Parent {
  const known = parsedXpubs.get(xpub);
  if (known) return known;
  checkXpubText(xpub, path);
  const parsed = parse(xpub);
  if (parsedXpubs.size >= PARSED_XPUBS_MAX) {
    const oldest = parsedXpubs.keys().next();
    if (!oldest.done) parsedXpubs.delete(oldest.value);
  }
  parsedXpubs.set(xpub, parsed);
  return parsed;
}

function parse(xpub: string): Parent {
  try {
    const { publicKey, chainCode } = HDKey.fromExtendedKey(xpub);
    invariant(publicKey && chainCode, 'an xpub has a public key and a chain code');
    return { publicKey, chainCode, point: Point.fromBytes(publicKey) };
  } catch {
    throw xpubInvalid('this extended public key is damaged: its key is no point of the curve');
  }
}

/**
 * Returns the last 20 bytes of the Keccak-256 of the child key `xpub/index`, as lower-case hex. CKDpub of BIP-32 with
 * the parent's point at hand takes less than half the time of `HDKey`. It need not run in constant time, because
 * nothing here is secret.
 * @param path of the family's xpub in a wallet, for the message
 * @throws Fault permanent `xpub_invalid`
 */
function deriveAccount(xpub: string, index: number, path: string): string {
  invariant(Number.isInteger(index) && index >= 0 && index < HARDENED_OFFSET, 'an address index is 0 to 2^31 − 1');
  const { publicKey, chainCode, point } = externalChain(xpub, path);
  const data = new Uint8Array(publicKey.length + INDEX_BYTES);
  data.set(publicKey);
  new DataView(data.buffer).setUint32(publicKey.length, index);
  // One index in 2^127 has no child; it throws here.
  const tweak = Point.Fn.fromBytes(hmac(sha512, chainCode, data).subarray(0, TWEAK_BYTES));
  return accountOfPoint(point.add(Point.BASE.multiplyUnsafe(tweak)));
}

/**
 * Returns the deposit addresses of a family.
 * @param path of its xpub in a wallet
 */
export const xpubKeysAt = (path: string): XpubKeys => ({ derive: (xpub, index) => deriveAccount(xpub, index, path) });

/** Returns the last 20 bytes of the Keccak-256 of a public key (33 or 65 bytes), as lower-case hex. */
export const accountOf = (publicKey: Uint8Array): string => accountOfPoint(Point.fromBytes(publicKey));

// The address hashes the two coordinates, 64 bytes, without the leading byte that says "uncompressed".
const accountOfPoint = (point: Parent['point']): string =>
  bytesToHex(keccak_256(point.toBytes(false).subarray(1)).subarray(-ACCOUNT_BYTES));

/** @param coin the family's number in SLIP-44 */
const externalPath = (coin: number, account: number): string => `m/44'/${coin}'/${account}'/0`;

/**
 * Returns the derivation path of one of our wallets. Deposit addresses have `m/44'/coin'/0'/0/i`. Hot wallets with
 * index 0 have `m/44'/coin'/1000'/0/{0 refund, 1 gas}`, those with index 1 `{2, 3}`, and so on.
 * @param coin the family's number in SLIP-44
 */
const walletPath = (coin: number, wallet: Wallet): string =>
  wallet.role === 'collection'
    ? `${externalPath(coin, 0)}/${wallet.index}`
    : `${externalPath(coin, HOT_ACCOUNT)}/${hotChild(wallet)}`;

/** Passes the node at a path to `use`, then wipes it and the master key. */
function withNode<T>(seed: Uint8Array, path: string, use: (node: HDKey) => T): T {
  const master = HDKey.fromMasterSeed(seed);
  const node = master.derive(path);
  try {
    return use(node);
  } finally {
    master.wipePrivateData();
    node.wipePrivateData();
  }
}

/**
 * Returns the keys of our own wallets in a family. A caller of `derive` wipes the secret.
 * @param coin the family's number in SLIP-44
 */
export const walletKeysOf = (coin: number): WalletKeys => ({
  derive: (seed, wallet) =>
    withNode(seed, walletPath(coin, wallet), ({ publicKey, privateKey }) => {
      invariant(publicKey && privateKey, 'a key below a seed has both halves');
      return { wallet, key: accountOf(publicKey), secret: new Uint8Array(privateKey) };
    }),
  path: (wallet) => walletPath(coin, wallet),
  xpub: (seed) => withNode(seed, externalPath(coin, 0), (node) => node.publicExtendedKey),
});
