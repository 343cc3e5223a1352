/**
 * The signer's permissions: networks, treasury, caps and approvers. No request can extend them. The file is read once
 * and validated. A change needs a restart, and therefore the passphrase.
 */
import { readFileSync, statSync } from 'node:fs';
import { ed25519 } from '@noble/curves/ed25519.js';
import { hexToBytes } from '@noble/hashes/utils.js';
import * as z from 'zod';
import type { Family } from '../chains/chain.ts';
import { chains } from '../chains/index.ts';
import type { SpendNetwork } from '../chains/spend.ts';
import { permanent } from '../core/fault.ts';
import type { HotRole } from '../core/intent.ts';
import { parseUnits } from '../core/money.ts';
import { type Currency, currencies, type NetworkKey, type Token } from '../core/transfer.ts';
import { deepFreeze } from '../lib/deep-freeze.ts';
import { hotIndex, networkKey } from './protocol.ts';

/** Caps in base units: per transaction, per 60 minutes, per UTC day. */
export type Caps = Readonly<{ transactionUnits: bigint; hourUnits: bigint; dayUnits: bigint }>;

/** Caps on native coin for deposit addresses, in base units. */
type GasCaps = Readonly<{ transactionUnits: bigint; dayUnits: bigint }>;

/** Caps on the highest possible fees of all signatures, in base units of the native coin. */
export type FeeCaps = Readonly<{ hourUnits: bigint; dayUnits: bigint }>;

/** Caps on the number of signatures, replacements included. */
export type CountCaps = Readonly<{ hour: number; day: number }>;

export type NetworkPolicy = Readonly<{
  key: NetworkKey;
  family: Family;
  spend: SpendNetwork;
  /** Caps of refunds. A refund above them needs an approval. A currency without caps is never refunded. */
  caps: Readonly<Partial<Record<Currency, Caps>>>;
  gasCaps: GasCaps;
  feeCaps: FeeCaps;
  countCaps: CountCaps;
  /** Indices of the refund wallet and the gas wallet that pay. */
  walletIndices: Readonly<Record<HotRole, number>>;
}>;

export type Policy = Readonly<{
  networks: readonly NetworkPolicy[];
  /** Public keys (hex) whose approvals are accepted, with their owners' names. */
  approvers: readonly Readonly<{ name: string; key: string }>[];
}>;

/** More than the file of a thousand networks. */
const FILE_BYTES_MAX = 1024 * 1024;
const NETWORKS_MAX = 64;
const APPROVERS_MAX = 32;
/** Without `fee_caps`, the caps are this many times `fee_max`. */
const FEES_MAX = { hour: 100n, day: 500n } as const;
/** The caps without `count_caps`. */
const COUNT_CAPS: CountCaps = { hour: 2_000, day: 20_000 };

const decimal = z
  .string({ error: 'expected an amount as text, such as "250.00"' })
  .regex(/^(0|[1-9]\d{0,29})(\.\d{1,30})?$/, 'expected a plain decimal amount as text, such as "250.00"');
const families = Object.keys(chains) as [Family, ...Family[]];

const networkSchema = z.strictObject({
  family: z.enum(families),
  chain_id: z.string().regex(/^[0-9A-Za-z]{1,64}$/, 'expected the chain id as text'),
  tokens: z
    .array(z.strictObject({ symbol: z.enum(currencies), address: z.string(), decimals: z.int().min(2).max(18) }))
    .min(1)
    .max(currencies.length),
  treasury: z.string({ error: 'missing, expected the address that sweeps go to' }),
  fee_max: decimal,
  caps: z.partialRecord(z.enum(currencies), z.strictObject({ transaction: decimal, hour: decimal, day: decimal })),
  gas_caps: z.strictObject({ transaction: decimal, day: decimal }),
  fee_caps: z.strictObject({ hour: decimal, day: decimal }).optional(),
  count_caps: z.strictObject({ hour: z.int().nonnegative(), day: z.int().nonnegative() }).optional(),
  wallets: z.strictObject({ refund: hotIndex, gas: hotIndex }).optional(),
});
type NetworkSettings = z.infer<typeof networkSchema>;

const policySchema = z.strictObject({
  version: z.literal(1),
  approvers: z
    .array(
      z.strictObject({
        name: z.string().regex(/^[^\p{C}]{1,64}$/u, 'expected a name of 1 to 64 characters'),
        key: z
          .string()
          .regex(/^[0-9a-f]{64}$/, 'expected the 64 hex digits that `quayside-signer init --key FILE` prints'),
      }),
    )
    .max(APPROVERS_MAX),
  networks: z
    .record(networkKey, networkSchema)
    .refine((all) => Object.keys(all).length <= NETWORKS_MAX, `expected at most ${NETWORKS_MAX} networks`),
});
/** The file's content. */
export type PolicySettings = z.infer<typeof policySchema>;

/**
 * Reads the policy.
 * @throws Fault permanent `policy_invalid`, which lists every problem with its path; `policy_open` if other users may
 * read or write the file
 */
export function loadPolicy(file: string): Policy {
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found?.isFile())
    throw permanent('policy_invalid', `there is no policy ${file}; \`quayside-signer init\` creates one`);
  const me = process.getuid?.();
  if ((found.mode & 0o077) !== 0 || (me !== undefined && found.uid !== me && found.uid !== 0)) {
    throw permanent(
      'policy_open',
      `${file} controls what may be paid, so only its owner may access it; as the signer's user, run: chmod 600 ${file}`,
    );
  }
  if (found.size > FILE_BYTES_MAX) throw invalid(file, [`it has ${found.size} bytes`]);
  return readPolicy(file, readFileSync(file, 'utf8'));
}

/** Parses a policy and reports all problems. @param file for messages @throws Fault permanent `policy_invalid` */
export function readPolicy(file: string, text: string): Policy {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid(file, [`it is not JSON (${error instanceof Error ? error.message : 'unreadable'})`]);
  }
  const { data, error } = policySchema.safeParse(value);
  if (!data)
    throw invalid(
      file,
      error.issues.map(({ path, message }) => `${path.join('.') || 'the file'}: ${message}`),
    );
  const problems: string[] = [];
  const networks = Object.entries(data.networks).map(([key, settings]) =>
    readNetwork(key as NetworkKey, settings, (at, text) => problems.push(`networks.${key}.${at}: ${text}`)),
  );
  for (const [at, { key, family, spend }] of networks.entries()) {
    const twin = networks.slice(0, at).find((one) => one.family === family && one.spend.chainId === spend.chainId);
    // Nonces are recorded by network. With two names for one chain, a wallet would have two records.
    if (twin)
      problems.push(`networks.${key}.chain_id: ${twin.key} also has ${spend.chainId}, expected each chain once`);
  }
  for (const [at, { key }] of data.approvers.entries()) {
    if (!isPublicKey(key)) problems.push(`approvers.${at}.key: not a valid public key; copy it again`);
    if (data.approvers.findIndex((other) => other.key === key) !== at)
      problems.push(`approvers.${at}.key: is listed twice`);
  }
  if (problems.length > 0) throw invalid(file, problems);
  return deepFreeze({ networks, approvers: data.approvers });
}

const invalid = (file: string, problems: readonly string[]) =>
  permanent(
    'policy_invalid',
    `the signer's policy ${file} has ${problems.length} problem(s):\n  ${problems.join('\n  ')}`,
  );

type Complain = (at: string, text: string) => void;

function readNetwork(key: NetworkKey, settings: NetworkSettings, complain: Complain): NetworkPolicy {
  const { family } = settings;
  const { address } = chains[family];
  const { nativeDecimals } = chains[family].spendRules;
  const amount = (at: string, text: string, decimals: number): bigint => {
    const units = parseUnits(text, decimals);
    if (units === null) complain(at, `${text} has more than ${decimals} decimals`);
    return units ?? 0n;
  };
  const tokens = settings.tokens.map((token, at): Token => {
    const tokenKey = address.parse(token.address);
    if (tokenKey === null)
      complain(`tokens.${at}.address`, `${token.address} is not an address of the family ${family}`);
    if (settings.tokens.findIndex(({ symbol }) => symbol === token.symbol) !== at)
      complain(`tokens.${at}.symbol`, 'is listed twice');
    return tokenKey === null ? token : { ...token, address: address.format(tokenKey) };
  });
  const treasury = address.parse(settings.treasury);
  if (treasury === null)
    complain('treasury', `${settings.treasury} is not an address of the family ${family}; copy it again`);
  if (tokens.some((token) => address.parse(token.address) === treasury)) complain('treasury', 'is a token contract');
  const caps: Partial<Record<Currency, Caps>> = {};
  for (const { symbol, decimals } of tokens) {
    const own = settings.caps[symbol];
    if (!own) {
      complain(`caps.${symbol}`, 'missing, expected {"transaction", "hour", "day"}');
      continue;
    }
    const read = (at: keyof typeof own) => amount(`caps.${symbol}.${at}`, own[at], decimals);
    caps[symbol] = { transactionUnits: read('transaction'), hourUnits: read('hour'), dayUnits: read('day') };
  }
  for (const currency of Object.keys(settings.caps) as Currency[]) {
    if (!caps[currency]) complain(`caps.${currency}`, `this network has no token ${currency}`);
  }
  const feeUnitsMax = amount('fee_max', settings.fee_max, nativeDecimals);
  const { fee_caps } = settings;
  return {
    key,
    family,
    spend: { chainId: settings.chain_id, tokens, treasury: treasury ?? '', feeUnitsMax },
    caps,
    gasCaps: {
      transactionUnits: amount('gas_caps.transaction', settings.gas_caps.transaction, nativeDecimals),
      dayUnits: amount('gas_caps.day', settings.gas_caps.day, nativeDecimals),
    },
    feeCaps: {
      hourUnits: fee_caps ? amount('fee_caps.hour', fee_caps.hour, nativeDecimals) : FEES_MAX.hour * feeUnitsMax,
      dayUnits: fee_caps ? amount('fee_caps.day', fee_caps.day, nativeDecimals) : FEES_MAX.day * feeUnitsMax,
    },
    countCaps: settings.count_caps ?? COUNT_CAPS,
    walletIndices: settings.wallets ?? { refund: 0, gas: 0 },
  };
}

function isPublicKey(key: string): boolean {
  try {
    return !ed25519.Point.fromBytes(hexToBytes(key)).isSmallOrder();
  } catch {
    // Not a point of the curve.
    return false;
  }
}
