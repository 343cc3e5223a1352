/**
 * Address lists for families that derive no addresses from an xpub. A list is made and signed where the seed is, and
 * verified and imported here. The file contains no secret, but a person who could change it would be paid. Therefore it
 * is signed, and the first list's signer is the only one accepted from then on.
 */
import * as z from 'zod';
import type { AddressCodec, Family, OfflineKeys } from '../chains/chain.ts';
import { chains } from '../chains/index.ts';
import type { Config } from '../config/config.ts';
import { permanent } from '../core/fault.ts';
import type { Mode } from '../core/transfer.ts';
import type { Addresses } from '../database/database.ts';

/** Most addresses in one list: about 5 MB. */
export const LIST_ADDRESSES_MAX = 100_000;
/** Addresses in one commit. A partly imported list continues where it stopped. */
const SLICE = 1_000;

const schema = z.strictObject({
  version: z.literal(1),
  family: z.string(),
  mode: z.enum(['live', 'test']),
  /** The index of the first address. */
  from: z.int().nonnegative(),
  addresses: z.array(z.string()).min(1).max(LIST_ADDRESSES_MAX),
  signer: z.string(),
  /** The signature of `messageOf`, in base64. */
  signature: z.string(),
});
export type AddressList = z.infer<typeof schema>;

/** A list whose signature and addresses are valid. `keys` are address keys. */
type VerifiedList = Readonly<{
  family: Family;
  mode: Mode;
  from: number;
  keys: readonly string[];
  signer: string;
}>;

type Pool = Readonly<{ family: Family; mode: Mode }>;

/** @throws Fault permanent `family_derives_addresses` */
export async function offlineKeysOf(family: Family): Promise<OfflineKeys> {
  const keys = await chains[family].offlineKeys?.();
  if (keys) return keys;
  throw permanent(
    'family_derives_addresses',
    `${family} networks derive their addresses from the xpub: there is nothing to import`,
  );
}

/** Returns the signed message: the list's content by line, after a first line that is unique to this format. */
const messageOf = ({
  family,
  mode,
  from,
  addresses,
}: Omit<AddressList, 'version' | 'signer' | 'signature'>): Uint8Array =>
  new TextEncoder().encode(`quayside address list 1\n${family}\n${mode}\n${from}\n${addresses.join('\n')}\n`);

/**
 * Makes a signed list.
 * @param seed 64 bytes (BIP-39)
 * @throws Fault permanent `family_derives_addresses`
 */
export async function makeAddressList(
  { family, mode }: Pool,
  seed: Uint8Array,
  from: number,
  count: number,
): Promise<AddressList> {
  const offline = await offlineKeysOf(family);
  const addresses = offline.derive(seed, from, count).map(chains[family].address.format);
  const { signer, signature } = offline.sign(seed, messageOf({ family, mode, from, addresses }));
  return { version: 1, family, mode, from, addresses, signer, signature: Buffer.from(signature).toString('base64') };
}

/**
 * Reads a list, and checks everything except that its signer is the right one.
 * @throws Fault permanent `address_list_invalid`, `family_derives_addresses`
 */
export async function verifyAddressList(text: string): Promise<VerifiedList> {
  const list = parseList(text);
  const family = (Object.keys(chains) as Family[]).find((one) => one === list.family);
  if (!family) throw invalid(`it is for the family "${list.family}", which is unknown here`);
  const offline = await offlineKeysOf(family);
  if (!offline.verify(list.signer, messageOf(list), new Uint8Array(Buffer.from(list.signature, 'base64')))) {
    throw invalid('its signature is wrong: it was changed, or was not made by `quayside address-pool derive`');
  }
  const keys = list.addresses.map((address, at) =>
    readAddress(chains[family].address, offline, address, list.from + at),
  );
  if (new Set(keys).size < keys.length) throw invalid('it has an address twice');
  return { family, mode: list.mode, from: list.from, keys, signer: list.signer };
}

function parseList(text: string): AddressList {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid(`it is not JSON (${error instanceof Error ? error.message : 'unreadable'})`);
  }
  const { data, error } = schema.safeParse(value);
  if (data) return data;
  throw invalid(`it is not an address list: ${z.prettifyError(error)}`);
}

function readAddress(codec: AddressCodec, offline: OfflineKeys, address: string, index: number): string {
  const key = codec.parse(address);
  if (key !== null && codec.format(key) === address && offline.isSpendable(key)) return key;
  throw invalid(`its address ${index}, ${JSON.stringify(address)}, cannot be a wallet's`);
}

const invalid = (why: string) => permanent('address_list_invalid', `the list cannot be imported: ${why}`);

/**
 * Adds a list's addresses to its pool, after the existing ones.
 * @returns the number of new ones
 * @throws Fault permanent `address_list_refused`: no such network, another signer, a gap, or nothing new
 */
export async function importAddressList(
  {
    addresses,
    config,
  }: Readonly<{
    addresses: Addresses;
    config: Pick<Config, 'networks'>;
  }>,
  { family, mode, from, keys, signer }: VerifiedList,
): Promise<number> {
  const network = config.networks.find((one) => one.family === family && one.mode === mode);
  if (!network) throw refused(`no ${mode} network of the family ${family} is configured`);
  const pinned = network.addressSigner ?? (await addresses.source({ family, mode }));
  if (pinned !== null && pinned !== signer) {
    throw refused(
      `it was signed by ${signer}, and this pool takes only lists of ${pinned}. If you changed the seed on purpose, ` +
        `set address_signer of ${network.key}`,
    );
  }
  const { nextIndex } = await addresses.level({ family, mode }, signer);
  if (from > nextIndex)
    throw refused(`it begins at ${from}, but the pool ends before ${nextIndex}: derive from ${nextIndex}`);
  const fresh = keys.slice(nextIndex - from);
  if (fresh.length === 0) throw refused(`all of it was imported before; the next list begins at ${nextIndex}`);
  for (let at = 0; at < fresh.length; at += SLICE) {
    const slice = fresh.slice(at, at + SLICE);
    await addresses.add({ family, mode, source: signer, firstIndex: nextIndex + at, keys: slice });
  }
  return fresh.length;
}

const refused = (why: string) => permanent('address_list_refused', `the list was not imported: ${why}`);
