/**
 * The values of each setting, and the message for an operator. Keys are those of the JSON files (snake_case);
 * `config/descriptions.json` describes each one.
 */
import ipaddr from 'ipaddr.js';
import * as z from 'zod';
import { type CreditPolicy, type CreditTier, type Finality, finalities } from '../core/credit-policy.ts';
import { PAR_DECIMALS, parseUnits } from '../core/money.ts';
import { type Currency, currencies, type Mode } from '../core/transfer.ts';
import { sourceNames } from '../rates/source.ts';
import {
  group,
  listOf,
  matching,
  oneOf,
  orAbsent,
  orNull,
  type Reader,
  record,
  setting,
  stablecoinAmount,
  truth,
  whole,
  wholeOrNull,
} from './setting.ts';

// ── Mail ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Nothing may follow the host: nodemailer would take options from a query. */
const readMailUrl: Reader<string> = (value) => {
  const url = matching(/^smtps?:\/\/[^/?#]+\/?$/)(value);
  return url !== undefined && URL.canParse(url) ? url : undefined;
};

const mail = group({
  url: setting(
    'smtps://USER:PASSWORD@HOST[:465] (TLS), or smtp://USER:PASSWORD@HOST[:587] (STARTTLS)',
    readMailUrl,
    false,
  ),
  from: setting<string>('a mail address', (value) => z.email().safeParse(value).data),
}).nullable();

// ── Credit policies ─────────────────────────────────────────────────────────────────────────────────────────────────

const depthMax = 100_000;
const policyForms =
  '{"blocks": …}, {"finality": "finalized", "usual": …} or {"blocks": …, "finality": "finalized"}, and with ' +
  '"tiers": [{"from": "10000.00", …}] what larger amounts need besides';

const finality = setting<Finality>(`one of ${finalities.map((name) => `"${name}"`).join(', ')}`, (value) =>
  finalities.find((known) => known === value),
);

const conditions = {
  blocks: orAbsent(whole(1, depthMax)),
  finality: orAbsent(finality),
  usual: orAbsent(whole(1, depthMax)),
};
type Tier = z.infer<z.ZodObject<typeof conditions>> & Readonly<{ from?: bigint }>;

/** Refuses a tier without a condition, and one that must name its usual depth and does not. */
function checkTier({ blocks, finality: name, usual }: Tier, { addIssue }: z.core.$RefinementCtx): void {
  if (blocks !== undefined) return;
  // Nodes show blocks long before they are safe or final. Pages say how long that takes.
  const isLater = name === 'safe' || name === 'finalized';
  if (!name) addIssue({ code: 'custom', message: `expected ${policyForms}` });
  else if (usual === undefined && isLater)
    addIssue({ code: 'custom', path: ['usual'], message: `missing, expected a whole number from 1 to ${depthMax}` });
}

const largerAmounts = z
  .array(z.strictObject({ from: stablecoinAmount, ...conditions }).superRefine(checkTier), { error: 'expected a list' })
  .superRefine((tiers, { addIssue }) => {
    for (const [at, { from }] of tiers.entries()) {
      if (from > (tiers[at - 1]?.from ?? 0n)) continue;
      const message = 'expected more than in the tier before: amounts rise from tier to tier';
      addIssue({ code: 'custom', path: [at, 'from'], message });
    }
  });

const toTier = ({ from, blocks, finality: name, usual }: Tier): CreditTier => ({
  ...(from !== undefined && { fromPar: from }),
  ...(blocks !== undefined && { blocks }),
  ...(name && { finality: name }),
  ...(usual !== undefined && blocks === undefined && { usual }),
});

const confirmations = z
  .strictObject(
    { ...conditions, tiers: orAbsent(largerAmounts) },
    { error: (issue) => (issue.code === 'invalid_type' ? `expected ${policyForms}` : undefined) },
  )
  .superRefine(checkTier)
  .transform(({ tiers = [], ...base }): CreditPolicy => [base, ...tiers].map(toTier));

// ── All settings ─────────────────────────────────────────────────────────────────────────────────────────────────────

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** Whether API requests must carry the signature that covers method, path and query. */
const requestSignatures = ['optional', 'required'] as const;

const readPublicUrl: Reader<string> = (value) => {
  if (typeof value !== 'string' || !URL.canParse(value)) return undefined;
  const { protocol, search, hash } = new URL(value);
  return /^https?:$/.test(protocol) && !search && !hash ? value.replace(/\/+$/, '') : undefined;
};
const publicUrl = setting('an http:// or https:// URL without query, or null', orNull(readPublicUrl));

/** Browsers tell where a form comes from only on https and on this machine. */
const readDashboardUrl: Reader<string> = (value) => {
  const url = readPublicUrl(value);
  if (url === undefined) return undefined;
  const { protocol, hostname, origin } = new URL(url);
  return url === origin && (protocol === 'https:' || hostname === 'localhost') ? url : undefined;
};
const dashboardUrl = setting(
  'an https:// URL without a path, http://localhost:PORT, or null',
  orNull(readDashboardUrl),
);

const urlOf =
  (schemes: RegExp): Reader<string> =>
  (value) =>
    typeof value === 'string' && URL.canParse(value) && schemes.test(new URL(value).protocol) ? value : undefined;

const nodeUrl = setting('a ws://, wss://, http:// or https:// URL of your node', urlOf(/^(ws|http)s?:$/), false);
const rpcUrl = setting('an http:// or https:// URL of your node', urlOf(/^https?:$/), false);
const secondUrl = setting('a ws://, wss://, http:// or https:// URL of a second node', urlOf(/^(ws|http)s?:$/), false);
const solidUrl = setting('an http:// or https:// URL of your node, or null', orNull(urlOf(/^https?:$/)), false);

const databaseUrl = setting(
  'a postgres:// URL with a user and a database, or null',
  orNull(urlOf(/^postgres(ql)?:$/)),
  false,
);

/** Reads a decimal text above zero and at most `max`, as whole units of its last decimal. */
const decimalUpTo =
  (decimals: number, max: bigint): Reader<bigint> =>
  (value) => {
    const units = typeof value === 'string' ? parseUnits(value, decimals) : null;
    return units !== null && units > 0n && units <= max ? units : undefined;
  };

const MILLION_DECIMALS = 6;

/** In millionths. */
const share = (example: string) =>
  setting(`a part of one as text, such as "${example}"`, decimalUpTo(MILLION_DECIMALS, 1_000_000n));

const signer = group({
  dir: setting('a folder', matching(/./)),
  unlock: z.union(
    [
      oneOf(['prompt', 'credential', 'external'] as const),
      group({ file: setting('a file that holds the passphrase', matching(/./)) }),
    ],
    { error: 'expected "prompt", "credential", "external" or {"file": …}' },
  ),
}).nullable();

const pathOrNull = setting('a path, or null', orNull(matching(/./)));
const timeOfDay = setting(
  'a time of day in UTC such as "02:15", or null',
  orNull(matching(/^([01]\d|2[0-3]):[0-5]\d$/)),
);

/** Programs are given passwords in their arguments, so no message shows a word. */
const program = (example: string) =>
  z
    .array(setting('a word', matching(/./), false), { error: `expected null or a list such as ${example}` })
    .refine((words) => words.some((word) => word.includes('{file}')), 'expected a word with {file}, the file’s path')
    .nullable();

const listenHost = setting('a host name or IP address to listen on', matching(/^[\w.:-]+$/));
const cidr: Reader<string> = (value) => (typeof value === 'string' && ipaddr.isValidCIDR(value) ? value : undefined);
const cidrs = listOf(setting('a CIDR range such as 10.0.0.0/8', cidr));
/** A proxy that may name any address as the client's would have no limit. */
const proxyRange: Reader<string> = (value) => (/\/0+$/.test(String(value)) ? undefined : cidr(value));

/** A hundred years. */
const DAYS_MAX = 36_525;

export const generalSettings = group({
  host: listenHost,
  port: whole(0, 65535),
  metrics_host: listenHost,
  metrics_port: wholeOrNull(0, 65535),
  dashboard_port: wholeOrNull(0, 65535),
  dashboard_url: dashboardUrl,
  trusted_proxies: listOf(setting('a CIDR range such as 172.18.0.0/16, not of all addresses', proxyRange)),
  data_dir: setting('a folder', matching(/./)),
  database_url: databaseUrl,
  base_url: publicUrl,
  checkout_url: publicUrl,
  log_level: oneOf(logLevels),
  request_signature: oneOf(requestSignatures),
  signer,
  rates: group({
    sources: listOf(oneOf(sourceNames)),
    static: z.record(
      z.string().regex(/^[A-Z]{3}$/),
      setting('a positive decimal number as text, such as "1.08"', (value) =>
        matching(/^\d{1,12}(\.\d{1,18})?$/)(value) && /[1-9]/.test(String(value)) ? String(value) : undefined,
      ),
      { error: 'expected currency codes of three capitals' },
    ),
    single_source: listOf(setting('a currency code of three capitals', matching(/^[A-Z]{3}$/))),
  }),
  webhooks: group({
    allow_cidrs: cidrs,
    retry_delays_s: listOf(whole(1, 604_800)),
  }),
  backup: group({
    nightly: timeOfDay,
    folder: pathOrNull,
    passphrase_path: pathOrNull,
    send: program('["rclone", "copyto", "{file}", "remote:backups/{name}"]'),
    standby: program('["litestream", "restore", "-o", "{file}", "/var/lib/quayside/quayside.db"]'),
  }),
  retention: group({
    anonymise_days: wholeOrNull(7, DAYS_MAX),
  }),
  limits: group({
    requests_per_second_per_key: whole(1, 100_000),
    requests_per_second_per_address: whole(1, 1_000_000),
    pages_per_second_per_address: whole(1, 1_000_000),
    pool_target: whole(1, 100_000),
  }),
  mail,
  alarms: group({
    patience_s: whole(1, 86_400),
    disk_free_bytes_min: whole(0, 2 ** 50),
  }),
});

const modes: readonly Mode[] = ['live', 'test'];

const xpub = setting('an extended public key of the account that receives', matching(/^\S+$/), false);
/** Defines a setting that a network of this family must not have. */
const absent = (why: string) => z.undefined({ error: `there is no such setting for this family: ${why}` }).optional();
const addressSigner = setting('the signer that `quayside address-pool derive` shows', matching(/^[0-9A-Za-z]{32,64}$/));
const chainId = setting<string>('the chain id as a whole number, or a genesis hash', (value) =>
  /^([1-9]\d{0,30}|[1-9A-HJ-NP-Za-km-z]{32,44})$/.test(String(value)) ? String(value) : undefined,
);

/** A setting that is left out has its default. */
const sweep = z
  .preprocess(
    (value) => value ?? {},
    group({
      auto: truth.prefault(false),
      min: stablecoinAmount.prefault('20.00'),
      cost_share_max: share('0.02').prefault('0.02'),
      /** At par. */
      native_price: setting(
        'stablecoins per coin as text, such as "3000.00", or null',
        orNull(decimalUpTo(PAR_DECIMALS, 10n ** 30n)),
      ).prefault(null),
    }).refine(({ auto, native_price: price }) => !auto || price !== null, {
      path: ['native_price'],
      error:
        'null, expected stablecoins per coin as text, such as "3000.00", where auto is true: without it, nothing says ' +
        'whether a sweep costs more than it moves',
    }),
  )
  .prefault({});

const label = setting('a name of 1 to 64 characters', matching(/^[^\p{C}]{1,64}$/u));
const feeHints = ['low', 'medium', 'high'] as const;
const markShapes = ['circle', 'square', 'hexagon', 'octagon', 'shield'] as const;

/** The sign that the payment page draws of a token or network: a white letter on a shape. */
const mark = record({
  shape: oneOf(markShapes),
  letter: setting('one letter or digit', matching(/^[\p{L}\p{N}]$/u)),
  colour: setting('a colour such as "#3c6df0"', matching(/^#[0-9a-f]{6}$/i)),
});

const secureUrl = setting<string>('an https:// URL', (value) => urlOf(/^https:$/)(value) && String(value));
const explorer = setting<string>('an https:// URL with {tx} in the place of the transaction’s hash', (value) =>
  urlOf(/^https:$/)(value)?.includes('{tx}') ? String(value) : undefined,
);
const addressExplorer = setting<string>('an https:// URL with {address} in the place of the address', (value) =>
  urlOf(/^https:$/)(value)?.includes('{address}') ? String(value) : undefined,
);
/** Goes into the payment page's policy, so nothing but an origin will do. */
const origin = setting<string>('the origin of a public node, such as "https://node.example.com"', (value) =>
  urlOf(/^https:$/)(value) && new URL(String(value)).origin === value ? value : undefined,
);

/** Keys that only some families have are checked with the network's family. */
const wallets = record({
  trust_coin: orAbsent(whole(0, 2 ** 31 - 1)),
  okx: orAbsent(truth),
  add: orAbsent(
    group({
      chain_name: label,
      rpc_urls: listOf(secureUrl).refine((urls) => urls.length > 0, 'empty, expected at least one public node'),
    }),
  ),
  node_origins: orAbsent(listOf(origin)),
  cluster: orAbsent(setting('the cluster’s name in the Wallet Standard', matching(/^[a-z]+:[a-z0-9]+$/))),
});

/** Amounts stay text: they are copied into the signer's policy, which reads them itself. */
const stablecoinCap = setting(
  'an amount of stablecoins as text, such as "500"',
  matching(/^(0|[1-9]\d{0,11})(\.\d{1,2})?$/),
);
const coinCap = setting(
  'an amount of the network’s coin as text, such as "0.02"',
  matching(/^(0|[1-9]\d{0,11})(\.\d{1,18})?$/),
);
const COUNT_MAX = 1_000_000;
const signerDefaults = record({
  fee_max: coinCap,
  caps: group({ transaction: stablecoinCap, hour: stablecoinCap, day: stablecoinCap }),
  gas_caps: group({ transaction: coinCap, day: coinCap }),
  fee_caps: orAbsent(group({ hour: coinCap, day: coinCap })),
  count_caps: orAbsent(group({ hour: whole(0, COUNT_MAX), day: whole(0, COUNT_MAX) })),
});

/**
 * Returns the schema of one network's settings.
 * @param families the chain families
 * @param derives whether the network's family derives addresses from an xpub; other families import them
 */
export const networkSettings = <F extends string>(families: readonly F[], derives: boolean) =>
  group({
    name: setting('a short lower-case name such as "mychain"', matching(/^[a-z0-9][a-z0-9-]{0,31}$/)),
    family: oneOf(families),
    mode: oneOf(modes),
    sandbox: truth,
    url: nodeUrl,
    solid_url: solidUrl.optional(),
    rpc_url: rpcUrl.optional(),
    witness_url: secondUrl.optional(),
    fallback_url: secondUrl.optional(),
    native_symbol: orAbsent(
      setting('the short name of the coin that fees are paid in', matching(/^[A-Za-z0-9]{1,10}$/)),
    ),
    title: orAbsent(label),
    fee_hint: orAbsent(oneOf(feeHints)),
    mark: orAbsent(mark),
    explorer: orAbsent(explorer),
    address_explorer: orAbsent(addressExplorer),
    wallets: wallets.prefault({}),
    payout_expiry_s: orAbsent(whole(10, 3_600)),
    signer: orAbsent(signerDefaults),
    sweep,
    xpub: derives ? xpub : absent('its addresses are imported'),
    address_signer: derives ? absent('its addresses are derived from the xpub') : addressSigner.optional(),
    chain_id: chainId,
    confirmations,
    two_node_amount: orAbsent(stablecoinAmount),
    reorg_depth_max: whole(1, depthMax),
    block_time_ms: whole(1, 3_600_000),
    poll_ms: whole(50, 600_000),
    tokens: z
      .array(
        group({
          symbol: oneOf<Currency>(currencies),
          address: setting('a token contract address', matching(/^\S+$/)),
          decimals: whole(0, 18),
          mark: orAbsent(mark),
          disabled: orAbsent(setting('the reason why the token is not offered, as text', matching(/\S/))),
        }),
        { error: 'expected a list of tokens' },
      )
      .min(1, 'empty, expected at least one token'),
  });

export type FeeHint = (typeof feeHints)[number];
export type Mark = Readonly<z.infer<typeof mark>>;
/** The caps that a signer's policy starts with, in the words of `policy.json`: whole coins, whole stablecoins. */
export type SignerDefaults = Readonly<z.infer<typeof signerDefaults>>;
export type GeneralSettings = z.infer<typeof generalSettings>;
export type NetworkSettings<F extends string> = z.infer<ReturnType<typeof networkSettings<F>>>;
