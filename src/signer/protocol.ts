/**
 * The calls of `client.ts` as HTTP on the signer's unix socket. Parameters and results are validated on both sides. A
 * call is `POST /<name>` with its parameters as JSON. Status 200 has the result, any other a `refusal`: 400 for an
 * invalid call, 403 for a refused one, 503 for one that may succeed later. Bigints are decimal text, bytes are
 * lower-case hex. Objects have no keys except those named here.
 */
import * as z from 'zod';
import { HOT_INDEX_LIMIT } from '../chains/spend.ts';
import { heldKinds } from '../core/held-money.ts';
import { currencies } from '../core/transfer.ts';

/** The longest request is a sweep. The longest answer in JSON is a page of the journal. */
export const REQUEST_BYTES_MAX = 64 * 1024;
export const ANSWER_BYTES_MAX = 8 * 1024 * 1024;
export const ADDRESSES_MAX = 100;
const JOURNAL_PAGE_MAX = 100;
const SWEEP_OWNERS_MAX = 32;
const TERMS_MAX = 32;
/**
 * Below the indices of refund and gas wallets in families with hardened paths, so that no deposit address is one of
 * them.
 */
const INDEX_MAX = 1_000_000_000;
const ATTEMPT_MAX = 999;

const count = z.int().nonnegative();
const hex = (digits: string) => z.string().regex(new RegExp(`^[0-9a-f]{${digits}}$`));
const addressKey = hex('40,64');
/** No line feed, because an id is one line of the text that a MAC covers. */
const intentId = z.string().regex(/^[A-Za-z0-9_.:-]{1,80}$/);
/** A network's key, as in the configuration. */
export const networkKey = z.templateLiteral([
  z.enum(['live', 'test']),
  ':',
  z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/),
]);
const whole = (pattern: RegExp) =>
  z.codec(z.string().regex(pattern), z.bigint(), {
    decode: (text) => BigInt(text),
    encode: (value) => value.toString(),
  });
const units = whole(/^[1-9][0-9]{0,77}$/);
const bytes = z.codec(z.string().regex(/^([0-9a-f]{2}){1,8192}$/), z.instanceof(Uint8Array), {
  decode: (text) => new Uint8Array(Buffer.from(text, 'hex')),
  encode: (value) => Buffer.from(value).toString('hex'),
});
const index = z.int().min(0).max(INDEX_MAX);
/** Index of a refund or gas wallet of the seed. */
export const hotIndex = z
  .int()
  .min(0)
  .max(HOT_INDEX_LIMIT - 1);
const currency = z.enum(currencies);

const terms = z
  .record(z.string().regex(/^[a-z][A-Za-z0-9_]{0,39}$/), z.string().max(512))
  .refine((all) => Object.keys(all).length <= TERMS_MAX, `expected at most ${TERMS_MAX} terms`)
  .readonly();

const intentBase = { id: intentId, network: networkKey };
const session = z.strictObject({ id: intentId, amount: z.string().regex(/^(0|[1-9]\d{0,29})\.\d{2}$/) }).readonly();
const payback = {
  ...intentBase,
  currency,
  to: addressKey,
  units,
  session,
  mac: hex('64'),
};
/** The form of an intent on the socket and in the signer's journal. */
export const intentWire = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('refund'), ...payback }),
  z.strictObject({ kind: z.literal('return'), ...payback, held: z.enum(heldKinds) }),
  z.strictObject({
    kind: z.literal('sweep'),
    ...intentBase,
    currency,
    from: z.array(z.strictObject({ index, units })).min(1).max(SWEEP_OWNERS_MAX).readonly(),
  }),
  z.strictObject({
    kind: z.literal('gas'),
    ...intentBase,
    form: z.enum(['transfer', 'delegate', 'reclaim']),
    index,
    units,
  }),
]);

/** A line of a text that terminals show and approvers sign. */
const line = z.string().regex(/^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u, 'expected one line of 1 to 200 characters');

/** A freeze of the signer; `nonce` is random. */
export const signerFreeze = z
  .strictObject({ number: z.int().positive(), nonce: hex('32'), reason: line, frozenBy: line, frozenAtMs: count })
  .readonly();
export type SignerFreeze = z.output<typeof signerFreeze>;

export const fingerprint = hex('8');
/**
 * The open freeze, if there is one, and the names of the approvers, who can end it. `fingerprint` is that of the seed.
 */
const freezeState = z
  .strictObject({
    fingerprint,
    freeze: signerFreeze.nullable(),
    approvers: z.array(z.string()).readonly(),
  })
  .readonly();
export type FreezeState = z.output<typeof freezeState>;

/** An approver's ed25519 signature of an `ApprovalText`: a refund above the caps, or the end of a freeze. */
export const approval = z.strictObject({ approver: hex('64'), untilS: count, signature: hex('128') }).readonly();
export type Approval = z.output<typeof approval>;

/**
 * One attempt to sign. The signer stores the bytes for an (intent id, generation, attempt), and returns them whenever
 * the three are requested again.
 */
const signRequest = z
  .strictObject({
    /** The engine's fence on this network. The signer serves only the highest that it has seen. */
    fence: z.int().positive(),
    intent: intentWire,
    /**
     * Increases only if all attempts of the generation before are `failed` or `dead` at finality. `proof` says which.
     */
    generation: count.max(ATTEMPT_MAX),
    /** Increases within a generation, for replacements with the same nonce and higher fees. */
    attempt: count.max(ATTEMPT_MAX),
    proof: z.enum(['failed', 'dead']).nullable(),
    terms,
    /** The approval of a refund above the caps. */
    approval: approval.nullable(),
    /** The wallet that the engine expects to pay the fee. The signer's policy decides which one does. */
    payer: addressKey,
  })
  .readonly();
export type SignRequest = z.output<typeof signRequest>;

const signed = { tx: z.string().min(1).max(128), bytes };

/** One signature in the signer's journal. `payer` is the wallet that pays the fee. */
const journalEntry = z
  .strictObject({
    id: count,
    ...signed,
    intent: intentWire,
    generation: count,
    attempt: count,
    terms,
    signedAtMs: count,
    payer: addressKey,
  })
  .readonly();
export type JournalEntry = z.output<typeof journalEntry>;

/** The wallets that pay on a network, and its treasury. */
const signerWallets = z
  .strictObject({
    refund: addressKey,
    gas: addressKey,
    treasury: addressKey,
    /** Highest fee of a transaction by its policy, in base units of the native coin. */
    feeUnitsMax: whole(/^(0|[1-9][0-9]{0,77})$/),
  })
  .readonly();
export type SignerWallets = z.output<typeof signerWallets>;

/** Every call of the signer. No call signs given bytes, and none reveals a key. */
export const calls = {
  wallets: {
    params: z.strictObject({ network: networkKey }),
    result: signerWallets,
  },
  addresses: {
    params: z.strictObject({ network: networkKey, indices: z.array(index).max(ADDRESSES_MAX).readonly() }),
    result: z.array(addressKey).readonly(),
  },
  refundLock: {
    params: z.strictObject({ network: networkKey, id: intentId }),
    result: addressKey,
  },
  sign: { params: signRequest, result: z.strictObject(signed) },
  journal: {
    params: z.strictObject({ network: networkKey, after: count, limit: z.int().min(1).max(JOURNAL_PAGE_MAX) }),
    result: z.array(journalEntry).readonly(),
  },
  fence: { params: z.strictObject({ network: networkKey }), result: count },
  freezeState: { params: z.strictObject({}), result: freezeState },
  freeze: { params: z.strictObject({ reason: line, frozenBy: line }), result: freezeState },
  thaw: { params: z.strictObject({ approval }), result: freezeState },
  /** The result is not JSON but the bytes of the file. */
  backup: { params: z.strictObject({}), result: z.never() },
} as const;

export type CallName = keyof typeof calls;
export type JsonCallName = Exclude<CallName, 'backup'>;
export type CallParams<N extends CallName> = z.output<(typeof calls)[N]['params']>;
export type CallResult<N extends CallName> = z.output<(typeof calls)[N]['result']>;

/** The body of an answer whose status is not 200. */
export const refusal = z.strictObject({
  kind: z.enum(['transient', 'permanent']),
  code: z.string(),
  message: z.string(),
});
