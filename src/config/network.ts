/**
 * One network's settings: its preset merged with the operator's file, checked and typed.
 */
import type { Family } from '../chains/chain.ts';
import { chains } from '../chains/index.ts';
import type { WalletSettings } from '../chains/wallet.ts';
import { type CreditPolicy, usualDepthMax } from '../core/credit-policy.ts';
import { Fault, permanent } from '../core/fault.ts';
import { isFields } from '../core/fields.ts';
import { inclusionGraceS } from '../core/inclusion.ts';
import { minorToPar } from '../core/money.ts';
import type { SweepPolicy } from '../core/sweep.ts';
import type { Currency, NetworkKey, Token } from '../core/transfer.ts';
import { check, type Problem } from './check.ts';
import { type Mark, type NetworkSettings, networkSettings, type SignerDefaults } from './schema.ts';
import { camelCased, type Tree } from './setting.ts';

/** Amounts of the API have two decimals: less could not be shown. */
const DUST_FLOOR_PAR = minorToPar(1n);
/** Simulated payers are quick, and nobody wants to wait for an expired session in a trial. */
const SANDBOX_GRACE_S = 5;

type Settings = NetworkSettings<Family>;

/** Notes a problem of one network. @param at the path below the network's own */
type Report = (at: string, text: string) => void;

/** Optional fields are there or not, and never undefined. */
type Defined<T> = { readonly [Key in keyof T]: Exclude<T[Key], undefined> };

/** Leaves out what is undefined. */
const given = <T extends object>(all: T): Defined<T> =>
  Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Defined<T>;

/** Returns the settings that are used as they are, by their names in code. */
function plainOf(settings: Settings) {
  const { title, solid_url, xpub, payout_expiry_s, signer, ...others } = settings;
  const { tokens, wallets, sweep, confirmations, two_node_amount, ...plain } = others;
  return given(camelCased(plain));
}

/** One network and the node that serves it. `config/descriptions.json` describes each setting. */
export type NetworkConfig = ReturnType<typeof plainOf> &
  Readonly<{
    key: NetworkKey;
    /** Where the node shows final blocks, if at another address; null: nowhere; absent: the family's usual place. */
    finalityUrl?: string | null;
    title: string;
    /** The signs that the payment page draws of its tokens. */
    tokenMarks?: Readonly<Partial<Record<Currency, Mark>>>;
    wallets: WalletSettings;
    /** The smallest transfer that is looked at, at par. */
    dustFloorPar: bigint;
    /** The first policy of a signer for this network. The signer itself reads its own policy only. */
    signer?: SignerDefaults;
    /** When payments are credited. */
    confirmations: CreditPolicy;
    tokens: readonly Token[];
    /** Null if the family's addresses are imported. */
    xpub: string | null;
    /** For how long after a session's deadline a block's time still counts as in time, in seconds. */
    inclusionGraceS: number;
    /** How long a payout's transaction can be included, where it expires by time; absent: the family's usual time. */
    payoutExpiryMs?: number;
    /** When deposit addresses are swept. */
    sweep: SweepPolicy;
  }>;

/** A network's configuration, and the path of its settings. */
export type ReadNetwork = Readonly<{ path: string; config: NetworkConfig }>;

/**
 * @param sandbox see `readSandbox`
 * @param isPartial node and xpub may be missing, because the caller does not use them
 */
export function readNetworks(
  problems: Problem[],
  entries: Tree,
  presets: readonly string[],
  sandbox: Tree,
  isPartial = false,
): ReadNetwork[] {
  const families = Object.keys(chains) as Family[];
  const schemas = { derives: networkSettings(families, true), imports: networkSettings(families, false) };
  if (Object.keys(entries).length === 0) {
    problems.push({
      path: 'networks',
      text: `empty, expected at least one network; presets are ${presets.join(', ')}`,
    });
  }
  return Object.entries(entries).flatMap(([preset, entry]) => {
    const path = `networks.${preset}`;
    if (isFields(entry) && entry.family === undefined && !presets.includes(preset)) {
      const text = `not a preset (${presets.join(', ')}), so all of its settings must be given`;
      problems.push({ path, text });
    }
    const defaults = { name: preset, sandbox: false, ...(isPartial && { url: NOWHERE }) };
    const own: unknown = isFields(entry) ? { ...defaults, ...entry } : entry;
    const derives = !isFields(own) || chains[own.family as Family]?.address.checkXpub !== null;
    const hasXpub = !isPartial || !isFields(own) || own.xpub !== undefined || own.sandbox === true;
    const schema = derives && hasXpub ? schemas.derives : schemas.imports;
    const placed = isFields(own) ? withSandbox(own, sandbox, derives) : own;
    const settings = check(problems, ['networks', preset], schema, placed);
    if (!settings) return [];
    const report = reportTo(problems, path);
    const config = toConfig(report, settings);
    if (!config.sandbox) checkXpub(report, config);
    checkTokens(report, config);
    checkConfirmations(report, config);
    checkWallets(report, settings);
    return [{ path, config }];
  });
}

const reportTo =
  (problems: Problem[], path: string): Report =>
  (at, text) =>
    problems.push({ path: `${path}.${at}`, text });

/** Gives the settings of one network their types. */
function toConfig(report: Report, settings: Settings): NetworkConfig {
  const { title = settings.name, solid_url, xpub = null, signer, sweep, tokens } = settings;
  const { payout_expiry_s } = settings;
  return {
    ...plainOf(settings),
    ...(solid_url !== undefined && { finalityUrl: solid_url }),
    ...(signer && { signer }),
    ...(payout_expiry_s !== undefined && { payoutExpiryMs: payout_expiry_s * 1000 }),
    key: `${settings.mode}:${settings.name}`,
    title,
    xpub,
    wallets: given(camelCased(settings.wallets)),
    dustFloorPar: DUST_FLOOR_PAR,
    confirmations: toPolicy(settings),
    sweep: {
      auto: sweep.auto,
      minPar: sweep.min,
      costSharePpmMax: sweep.cost_share_max,
      nativePricePar: sweep.native_price,
    },
    inclusionGraceS: settings.sandbox ? SANDBOX_GRACE_S : inclusionGraceS(settings.block_time_ms),
    tokens: readTokens(report, settings),
    tokenMarks: Object.fromEntries(tokens.flatMap(({ symbol, mark }) => (mark ? [[symbol, mark]] : []))),
  };
}

/** Returns the tiers, with one for the amounts that need a second node. */
function toPolicy({ confirmations: tiers, two_node_amount: fromPar }: Settings): CreditPolicy {
  if (fromPar === undefined) return tiers;
  const below = tiers.filter((tier) => (tier.fromPar ?? 0n) <= fromPar);
  return [...below, { fromPar, secondNode: true }, ...tiers.slice(below.length)];
}

/** Returns the tokens that are not disabled, each with its address as its family writes it. */
function readTokens(report: Report, { family, tokens }: Settings): readonly Token[] {
  const { address } = chains[family];
  const offered = tokens.flatMap(({ mark: _, disabled, ...token }, at) => {
    if (disabled !== undefined) return [];
    const key = address.parse(token.address);
    if (key !== null) return { ...token, address: address.format(key) };
    const found = JSON.stringify(token.address);
    report(
      `tokens[${at}].address`,
      `${found}, expected an address of family ${family} (check its upper and lower case)`,
    );
    return token;
  });
  if (offered.length === 0) report('tokens', 'all disabled, expected at least one that is not');
  return offered;
}

/** In the place of a node's address that is not known, or not needed. */
const NOWHERE = 'ws://127.0.0.1:0';

/** Adds the node URL and xpub of a simulated network, which the sandbox wrote; placeholders before it did. */
function withSandbox(settings: Tree, { xpub, networks }: Tree, derives: boolean): Tree {
  if (settings.sandbox !== true) return settings;
  const node = isFields(networks) ? networks[String(settings.name)] : undefined;
  const known = isFields(xpub) ? xpub[String(settings.family)] : undefined;
  return {
    ...settings,
    url: NOWHERE,
    ...(isFields(node) && node),
    ...(derives && { xpub: known ?? 'not-known-yet' }),
  };
}

function checkXpub(report: Report, { family, xpub }: NetworkConfig): void {
  if (xpub === null) return;
  try {
    if (/^.prv/.test(xpub))
      throw permanent('xpub_invalid', 'this is a private key; keep it offline and give its public half');
    chains[family].address.checkXpub?.(xpub);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    report('xpub', error.message);
  }
}

function checkTokens(report: Report, { tokens }: NetworkConfig): void {
  for (const [at, { symbol, address }] of tokens.entries()) {
    const before = tokens.slice(0, at);
    if (before.some((token) => token.symbol === symbol))
      report(`tokens[${at}].symbol`, `${symbol} is listed twice, expected one token per symbol`);
    if (before.some((token) => token.address === address))
      report(`tokens[${at}].address`, `${address} is listed twice, expected one symbol per contract`);
  }
}

/** Checks the policy against the family and the network's other settings. */
function checkConfirmations(report: Report, config: NetworkConfig): void {
  const { confirmations, family, finalityUrl, witnessUrl, reorgDepthMax } = config;
  const { finalities } = chains[family];
  for (const finality of new Set(confirmations.flatMap((tier) => tier.finality ?? []))) {
    if (finalities.includes(finality)) continue;
    report(
      'confirmations',
      `"${finality}" is nothing that ${family} nodes say of a block, ` +
        `expected finality ${finalities.join(' or ')}. Name one of these, or count blocks with {"blocks": …}`,
    );
  }
  if (finalityUrl === null && confirmations.some(({ finality }) => finality)) {
    report(
      'solid_url',
      'null, expected an address: "finality" waits for what the node shows there. With "finality": null in ' +
        'confirmations, depth alone decides',
    );
  }
  if (witnessUrl === undefined && confirmations.some(({ secondNode }) => secondNode)) {
    report(
      'witness_url',
      'missing, expected a second node of the same chain: two_node_amount lets it ' +
        'confirm large payments before they are credited',
    );
  }
  const depth = usualDepthMax(confirmations);
  if (depth > reorgDepthMax) {
    const key = confirmations.some(({ blocks }) => blocks === depth) ? 'blocks' : 'usual';
    report(`confirmations.${key}`, `${depth}, expected at most reorg_depth_max (${reorgDepthMax})`);
  }
}

/** Checks which wallet settings the family has. */
function checkWallets(report: Report, { family, wallets, native_symbol }: Settings): void {
  const { ownSettings } = chains[family].wallets;
  for (const key of ['add', 'node_origins', 'cluster'] as const) {
    if (wallets[key] !== undefined && !ownSettings.includes(key))
      report(`wallets.${key}`, `there is no such setting for this family (${family})`);
  }
  if (wallets.add && native_symbol === undefined)
    report('native_symbol', 'missing, expected the short name of the coin: wallets.add needs it');
}

/** Checks what must hold between networks. */
export function checkTogether(problems: Problem[], networks: readonly ReadNetwork[]): void {
  for (const [at, { path, config }] of networks.entries()) {
    const report = reportTo(problems, path);
    const { key, name, mode, family, chainId, xpub, addressSigner } = config;
    for (const { path: otherPath, config: other } of networks.slice(0, at)) {
      if (other.key === key) {
        report(
          'name',
          `"${name}" is also the name of ${otherPath} in mode ${mode}, expected one network of each name in a mode`,
        );
      }
      if (other.family !== family) continue;
      if (other.chainId === chainId)
        report('chain_id', `${otherPath} has ${chainId} too, expected each chain once: it would be credited twice`);
      const shared = `all ${family} networks of mode ${mode}: they share addresses`;
      if (other.mode === mode && other.xpub !== xpub)
        report('xpub', `differs from that of ${otherPath}, expected one xpub for ${shared}`);
      if (other.mode === mode && other.addressSigner !== addressSigner)
        report('address_signer', `differs from that of ${otherPath}, expected one for ${shared}`);
    }
  }
}
