/**
 * The certificate that nothing was missed in a range of blocks: its shape, its canonical form, and its signature.
 *
 * A file holds the canonical JSON of a certificate and a line feed: no spaces, the members of every object sorted by
 * name (in code units), numbers whole. The signature is Ed25519 (RFC 8032) over the canonical JSON without its member
 * `signature`, in UTF-8.
 * @module
 */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import { permanent } from '../core/fault.ts';
import { isFields } from '../core/fields.ts';
import { type SigningKey, verifySignature } from './signing-key.ts';

export const FORMAT = 'quayside-evidence/1';
/** Blocks of one certificate, at most: more than a day of any network. */
export const BLOCKS_MAX = 250_000;
/** Differences that a certificate lists; beyond them it has their number. */
export const DIFFERENCES_LISTED_MAX = 100;

const hex = (digits: number) => z.string().regex(new RegExp(`^[0-9a-f]{${digits}}$`));
const whole = z.int().min(0);
const units = z.string().regex(/^(0|[1-9]\d*)$/);
/** Base units by currency. */
const sums = z.record(z.string(), units);
const block = z.strictObject({ number: whole, hash: z.string(), parent: z.string(), time_s: whole });

const balances = z.union([
  z.strictObject({
    state: z.literal('read'),
    /** The state is that of some block from one number to the other. */
    from_block: whole,
    to_block: whole,
    /** Who sweeps deposit addresses: with `elsewhere`, money may leave them without an entry in the ledger. */
    swept_by: z.enum(['signer', 'elsewhere']),
    addresses: whole,
    on_chain: sums,
    in_ledger: z.record(z.string(), z.string().regex(/^(0|-?[1-9]\d*)$/)),
  }),
  z.strictObject({ state: z.literal('left_out'), why: z.string() }),
]);

const schema = z.strictObject({
  format: z.literal(FORMAT),
  release: z.string(),
  network: z.string().regex(/^(live|test):.+$/),
  chain_id: z.string(),
  node: z.string(),
  public_key: hex(64),
  sequence: z.int().min(1),
  /** SHA-256 of the file of the certificate before; null for a network's first one. */
  previous: hex(64).nullable(),
  made_at: z.iso.datetime(),
  /** The numbers that were asked for; where numbers may be skipped, `first` and `last` are within. */
  range: z.strictObject({ from: whole, to: whole, blocks: whole, first: block, last: block }),
  /** The highest number that this certificate or one before it reaches. */
  certified_through: whole,
  /** How many of the blocks were still in the database. */
  stored_blocks: whole,
  transfers: z.strictObject({ count: whole, unconfirmed: whole, dust: whole, units: sums }),
  payouts: z.strictObject({ count: whole, units: sums }),
  balances,
  /** The file beside this one with every block, transfer, payout and balance: hash and size before compression. */
  list: z.strictObject({ sha256: hex(64), lines: whole, bytes: whole }),
  differences: z.strictObject({
    count: whole,
    listed: z.array(z.strictObject({ code: z.string(), message: z.string() })).max(DIFFERENCES_LISTED_MAX),
  }),
  result: z.enum(['complete', 'differences']),
  signature: hex(128),
});

export type Certificate = z.infer<typeof schema>;
export type Unsigned = Omit<Certificate, 'signature' | 'public_key'>;

/** Writes a value in the one way in which it is signed. */
export const canonicalText = (value: unknown): string => JSON.stringify(value, sorted);

function sorted(_name: string, value: unknown): unknown {
  if (!isFields(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Returns a certificate's file: what is hashed by the one after it. */
export const certificateText = (certificate: Certificate): string => `${canonicalText(certificate)}\n`;

/** Returns the SHA-256, in hex, of a certificate's file. */
export const certificateHash = (text: string): string => createHash('sha256').update(text).digest('hex');

export function signCertificate(unsigned: Unsigned, key: SigningKey): Certificate {
  const certificate = { ...unsigned, public_key: key.publicKey };
  return { ...certificate, signature: key.sign(canonicalText(certificate)) };
}

/**
 * Reads a certificate's file and checks that it is written canonically and that its own key has signed it.
 * @param name the file, for messages
 * @throws Fault permanent `evidence_invalid`
 */
export function readCertificate(text: string, name: string): Certificate {
  const invalid = (why: string) => permanent('evidence_invalid', `${name} is not a valid certificate: ${why}`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid('it is not JSON');
  }
  const { data, error } = schema.safeParse(value);
  if (!data) throw invalid(z.prettifyError(error).replaceAll(/\s*\n\s*/g, ' '));
  if (certificateText(data) !== text) throw invalid('it is not written in canonical form, so it was changed');
  const { signature, ...signed } = data;
  if (!verifySignature(data.public_key, canonicalText(signed), signature)) {
    throw invalid('its signature is not that of its key over its contents, so it was changed');
  }
  if ((data.result === 'complete') !== (data.differences.count === 0)) {
    throw invalid('its result does not fit its differences');
  }
  return data;
}
