/**
 * One network's settings: its preset merged with the operator's file, checked and typed.
 * @module
 */
import type { Family } from '../chains/chain.ts';
import { chains } from '../chains/index.ts';
import { type ConfirmationPolicy, smallParMax, usualDepth } from '../core/confirmation.ts';
import { Fault, permanent } from '../core/fault.ts';
import type { SweepPolicy } from '../core/sweep.ts';
import type { Mode, NetworkKey, Token } from '../core/transfer.ts';
import { check, type Problem } from './check.ts';
import { isTree, type Tree } from './layers.ts';
import { type NetworkSettings, networkSettings } from './schema.ts';

/** One network and the node that serves it. */
export type NetworkConfig = Readonly<{
  key: NetworkKey;
  /** The name in the API; unique within a mode. */
  name: string;
  family: Family;
  mode: Mode;
  url: string;
  /** Where the node shows final blocks, if at another address; null: nowhere; absent: the family's usual place. */
  finalityUrl?: string | null;
  /** Where the node answers requests, if not at `url` or its usual neighbour. */
  rpcUrl?: string;
  /** A second, independent node that is asked before a payout is signed again. */
  witnessUrl?: string;
  /** Short name of the coin that fees are paid in. */
  nativeSymbol?: string;
  chainId: string;
  confirmations: ConfirmationPolicy;
  tokens: readonly Token[];
  /** Null if the family's addresses are imported. */
  xpub: string | null;
  /** The only signer whose address lists may be imported; absent: that of the first list. */
  addressSigner?: string;
  /** Usual time between blocks; paces polling and watchdogs. */
  blockTimeMs: number;
  /** How many of the newest blocks may be replaced; a deeper reorg halts the network. */
  reorgDepthMax: number;
  /** The head is polled at least this often, even with push notifications. */
  pollMs: number;
  /** When deposit addresses are swept. */
  sweep: SweepPolicy;
  /** True for the built-in simulated network. */
  sandbox: boolean;
}>;

/** A network's configuration, and the path of its settings. */
export type ReadNetwork = Readonly<{ path: string; config: NetworkConfig }>;

export function readNetworks(
  problems: Problem[],
  entries: Tree,
  presets: readonly string[],
  sandbox: Tree | null,
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
    if (isTree(entry) && entry.family === undefined && !presets.includes(preset)) {
      problems.push({ path, text: `not a preset (${presets.join(', ')}), so all of its settings must be given` });
    }
    const own = isTree(entry) ? { name: preset, sandbox: false, ...entry } : entry;
    const derives = !isTree(own) || chains[own.family as Family]?.address.derive !== null;
    const schema = derives ? schemas.derives : schemas.imports;
    const placed = isTree(own) ? withSandbox(own, sandbox, derives) : own;
    const settings = check(problems, ['networks', preset], schema, placed);
    if (!settings) return [];
    const {
      chain_id,
      solid_url,
      rpc_url,
      witness_url,
      native_symbol,
      xpub = null,
      address_signer,
      reorg_depth_max,
      block_time_ms,
      poll_ms,
      tokens,
      confirmations,
      sweep,
      ...same
    } = settings;
    const { address } = chains[settings.family];
    const config: NetworkConfig = {
      ...same,
      key: `${settings.mode}:${settings.name}`,
      ...(solid_url !== undefined && { finalityUrl: solid_url }),
      ...(rpc_url !== undefined && { rpcUrl: rpc_url }),
      ...(witness_url !== undefined && { witnessUrl: witness_url }),
      ...(native_symbol !== undefined && { nativeSymbol: native_symbol }),
      ...(address_signer !== undefined && { addressSigner: address_signer }),
      xpub,
      chainId: chain_id,
      confirmations: toPolicy(confirmations),
      sweep: toSweepPolicy(sweep),
      reorgDepthMax: reorg_depth_max,
      blockTimeMs: block_time_ms,
      pollMs: poll_ms,
      tokens: tokens.map((token, at) => {
        const key = address.parse(token.address);
        if (key !== null) return { ...token, address: address.format(key) };
        const text =
          `${JSON.stringify(token.address)}, expected an address of family ${settings.family} ` +
          '(check its upper and lower case)';
        problems.push({ path: `${path}.tokens[${at}].address`, text });
        return token;
      }),
    };
    if (!config.sandbox || sandbox) checkXpub(problems, path, config);
    checkTokensAndDepth(problems, path, config);
    return [{ path, config }];
  });
}

function toPolicy(settings: NetworkSettings<Family>['confirmations']): ConfirmationPolicy {
  if (settings.kind === 'depth') return settings;
  const { confirmed_amount_max: confirmedParMax, ...same } = settings;
  return { ...same, ...(confirmedParMax !== undefined && { confirmedParMax }) };
}

const DAY_MS = 86_400_000;

const toSweepPolicy = (settings: NetworkSettings<Family>['sweep']): SweepPolicy => ({
  auto: settings.auto,
  minPar: settings.min,
  ageMsMax: settings.age_days_max * DAY_MS,
  costSharePpmMax: settings.cost_share_max,
  nativePricePar: settings.native_price,
});

/** Adds the node URL and xpub of a simulated network, which the sandbox wrote; placeholders before its first start. */
function withSandbox(settings: Tree, sandbox: Tree | null, derives: boolean): Tree {
  if (settings.sandbox !== true) return settings;
  const { xpub, networks } = sandbox ?? {};
  const own = isTree(networks) ? networks[String(settings.name)] : undefined;
  return {
    ...settings,
    url: sandbox ? isTree(own) && own.url : 'ws://127.0.0.1:0',
    ...(isTree(own) && own.rpc_url !== undefined && { rpc_url: own.rpc_url }),
    ...(derives && { xpub: sandbox ? isTree(xpub) && xpub[String(settings.family)] : 'not-known-yet' }),
  };
}

function checkXpub(problems: Problem[], path: string, { family, xpub }: NetworkConfig): void {
  const { derive } = chains[family].address;
  if (!derive || xpub === null) return;
  try {
    if (/^.prv/.test(xpub))
      throw permanent('xpub_invalid', 'this is a private key; keep it offline and give its public half');
    derive(xpub, 0);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    problems.push({ path: `${path}.xpub`, text: error.message });
  }
}

function checkTokensAndDepth(problems: Problem[], path: string, config: NetworkConfig): void {
  for (const [at, { symbol, address }] of config.tokens.entries()) {
    const before = config.tokens.slice(0, at);
    if (before.some((token) => token.symbol === symbol)) {
      problems.push({
        path: `${path}.tokens[${at}].symbol`,
        text: `${symbol} is listed twice, expected one token per symbol`,
      });
    }
    if (before.some((token) => token.address === address)) {
      problems.push({
        path: `${path}.tokens[${at}].address`,
        text: `${address} is listed twice, expected one symbol per contract`,
      });
    }
  }
  const { confirmations, family, finalityUrl, reorgDepthMax } = config;
  if (smallParMax(confirmations) !== null && !chains[family].confirmsBeforeFinal) {
    const text =
      `there is no such setting for this family: ${family} networks confirm no block before it is final. Leave it ` +
      'out, or count blocks with {"kind": "depth", "blocks": …}';
    problems.push({ path: `${path}.confirmations.confirmed_amount_max`, text });
  }
  if (confirmations.kind === 'finalized' && finalityUrl === null) {
    const text = 'null, expected an address: confirmations of kind "finalized" wait for what the node shows there';
    problems.push({ path: `${path}.solid_url`, text });
  }
  const depth = usualDepth(confirmations);
  if (depth > reorgDepthMax) {
    const key = confirmations.kind === 'depth' ? 'blocks' : 'usual';
    const text = `${depth}, expected at most reorg_depth_max (${reorgDepthMax})`;
    problems.push({ path: `${path}.confirmations.${key}`, text });
  }
}

/** Checks what must hold between networks. */
export function checkTogether(problems: Problem[], networks: readonly ReadNetwork[]): void {
  for (const [at, { path, config }] of networks.entries()) {
    for (const { path: otherPath, config: other } of networks.slice(0, at)) {
      if (other.key === config.key) {
        const text =
          `"${config.name}" is also the name of ${otherPath} in mode ${config.mode}, ` +
          'expected one network of each name in a mode';
        problems.push({ path: `${path}.name`, text });
      }
      if (other.family !== config.family) continue;
      if (other.chainId === config.chainId) {
        const text = `${otherPath} has ${config.chainId} too, expected each chain once: it would be credited twice`;
        problems.push({ path: `${path}.chain_id`, text });
      }
      if (other.mode === config.mode && other.xpub !== config.xpub) {
        const text =
          `differs from that of ${otherPath}, expected one xpub for all ${config.family} networks of mode ` +
          `${config.mode}: they share addresses`;
        problems.push({ path: `${path}.xpub`, text });
      }
      if (other.mode === config.mode && other.addressSigner !== config.addressSigner) {
        const text =
          `differs from that of ${otherPath}, expected one for all ${config.family} networks of mode ` +
          `${config.mode}: they share addresses`;
        problems.push({ path: `${path}.address_signer`, text });
      }
    }
  }
}
