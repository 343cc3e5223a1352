/**
 * The contracts of `test/contracts/`, deployed to a node. solc compiles them once, for as long as they do not change
 * (`.tmp/`).
 *
 * - `deployToken`: a plain ERC-20, any decimals. `deployFeeToken`: moves return nothing and a fee can be switched on,
 *   as with USDT.
 * - `deployGuardedToken`: its issuer freezes holders, stops all moves, or lets them do nothing.
 * - `deployBatchSender`: many transfers in one transaction, from inside a contract; also undone ones.
 * - `deployLookAlike`: a stranger that logs Transfers nobody made.
 *
 * Every call that changes the chain returns the transaction's hash and leaves mining to the caller; only deploying
 * mines a block. A transfer of more than the balance is mined as a reverted transaction (status 0x0).
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Interface, type JsonFragment } from 'ethers';
import { installationFolder as root } from '../../src/lib/installation.ts';
import type { EvmNode } from './evm-node.ts';

const GAS_BATCH = '0x4c4b40';
const GAS_DEPLOY = '0x2dc6c0';

type ContractName = 'StandardToken' | 'FeeToken' | 'GuardedToken' | 'BatchSender' | 'LookAlike';

/** `code` creates the contract: hex without prefix. */
type Compiled = Readonly<{ abi: readonly JsonFragment[]; code: string }>;

let compiled: Promise<Record<string, Compiled>> | null = null;

/** The compiler takes seconds to load, so its output is kept for other processes and later runs. */
async function compileOnce(): Promise<Record<string, Compiled>> {
  const folder = join(root, 'test/contracts');
  const files = readdirSync(folder).filter((file) => file.endsWith('.sol'));
  const sources = Object.fromEntries(
    files.map((file) => [file, { content: readFileSync(join(folder, file), 'utf8') }]),
  );
  const kept = join(
    root,
    `.tmp/contracts-${createHash('sha256')
      .update(JSON.stringify([sources, 'abi']))
      .digest('hex')}.json`,
  );
  if (existsSync(kept)) return JSON.parse(readFileSync(kept, 'utf8'));
  const codes = await compile(sources);
  const unfinished = `${kept}.${process.pid}`;
  mkdirSync(dirname(kept), { recursive: true });
  writeFileSync(unfinished, JSON.stringify(codes));
  renameSync(unfinished, kept);
  return codes;
}

async function compile(sources: object): Promise<Record<string, Compiled>> {
  const { default: solc } = await import('solc');
  const input = {
    language: 'Solidity',
    sources,
    settings: { outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } } },
  };
  type Output = {
    errors?: { severity: string; formattedMessage: string }[];
    contracts?: Record<string, Record<string, { abi: JsonFragment[]; evm: { bytecode: { object: string } } }>>;
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input))) as Output;
  const errors = output.errors?.filter((error) => error.severity === 'error') ?? [];
  if (errors.length > 0) throw new Error(errors.map((error) => error.formattedMessage).join('\n'));
  const codes: Record<string, Compiled> = {};
  for (const file of Object.values(output.contracts ?? {})) {
    for (const [name, { abi, evm }] of Object.entries(file)) codes[name] = { abi, code: evm.bytecode.object };
  }
  return codes;
}

/** `fee` (`maxPriorityFeePerGas` in wei) moves a transaction up within its block: highest first. */
type CallOptions = Readonly<{ from?: string; feeWei?: bigint; gas?: string }>;

async function deploy(node: EvmNode, name: ContractName, values: readonly unknown[] = []) {
  compiled ??= compileOnce();
  const found = (await compiled)[name];
  if (!found) throw new Error(`no contract ${name} in test/contracts`);
  const face = new Interface(found.abi);
  const tx = await node.send({ data: `0x${found.code}${face.encodeDeploy(values).slice(2)}`, gas: GAS_DEPLOY });
  const isMined = (await node.receipt(tx)) !== null;
  if (!isMined) await node.mine();
  const { status, contractAddress: address } = (await node.receipt(tx)) ?? {};
  if (status !== '0x1' || !address) throw new Error(`${name} was not deployed`);
  return {
    address,
    send(method: string, given: readonly unknown[], { feeWei, ...options }: CallOptions = {}): Promise<string> {
      // The fee cap must cover the tip and the base fee.
      const fees = feeWei !== undefined && {
        maxPriorityFeePerGas: `0x${feeWei.toString(16)}`,
        maxFeePerGas: `0x${(feeWei + 10n ** 12n).toString(16)}`,
      };
      return node.send({ to: address, data: face.encodeFunctionData(method, given), ...options, ...fees });
    },
    async read(method: string, given: readonly unknown[]): Promise<bigint> {
      const call = { to: address, data: face.encodeFunctionData(method, given) };
      return BigInt(await node.rpc<string>('eth_call', [call, 'latest']));
    },
  };
}

type Deployed = Awaited<ReturnType<typeof deploy>>;

/** Addresses are `0x` hex; `units` are the token's base units. */
const tokenOf = ({ address, send, read }: Deployed, decimals: number) => ({
  address,
  decimals,
  transfer: (to: string, units: bigint, options?: CallOptions) => send('transfer', [to, units], options),
  transferFrom: (from: string, to: string, units: bigint, options?: CallOptions) =>
    send('transferFrom', [from, to, units], options),
  approve: (spender: string, units: bigint, options?: CallOptions) => send('approve', [spender, units], options),
  balanceOf: (holder: string) => read('balanceOf', [holder]),
});

export type TokenContract = Readonly<ReturnType<typeof tokenOf>>;

type TokenOptions = Readonly<{
  symbol: string;
  decimals: number;
  /** Base units that the first account holds; a thousand million tokens by default. */
  supply?: bigint;
}>;

/** The owner and the holder of everything is `node.accounts[0]`. */
const deployIssued = (node: EvmNode, name: ContractName, { symbol, decimals, supply }: TokenOptions) =>
  deploy(node, name, [symbol, decimals, supply ?? 10n ** BigInt(9 + decimals)]);

/** A plain ERC-20. */
export const deployToken = async (node: EvmNode, options: TokenOptions): Promise<TokenContract> =>
  tokenOf(await deployIssued(node, 'StandardToken', options), options.decimals);

/** A token whose transfers return nothing, with a fee of 0 until `setFee`. */
export async function deployFeeToken(node: EvmNode, options: TokenOptions) {
  const contract = await deployIssued(node, 'FeeToken', options);
  return {
    ...tokenOf(contract, options.decimals),
    setFee: (basisPoints: bigint, unitsMax: bigint) => contract.send('setFee', [basisPoints, unitsMax]),
    freeze: (holder: string) => contract.send('addBlackList', [holder]),
  };
}

/** A token whose issuer can intervene. */
export async function deployGuardedToken(node: EvmNode, options: TokenOptions) {
  const contract = await deployIssued(node, 'GuardedToken', options);
  return {
    ...tokenOf(contract, options.decimals),
    freeze: (holder: string) => contract.send('setBlacklisted', [holder, true]),
    /** Stops all transfers, or allows them again. `more.feeWei` puts it before others in its block. */
    stop: (isStopped: boolean, more?: CallOptions) => contract.send('setStopped', [isStopped], more),
    /** From now on transfers return false and do nothing, or work again. */
    silence: (isSilent: boolean, more?: CallOptions) => contract.send('setSilent', [isSilent], more),
  };
}

/** One `[address, units]` for each transfer of a batch. */
export type Batch = readonly (readonly [to: string, units: bigint])[];

export async function deployBatchSender(node: EvmNode) {
  const { address, send } = await deploy(node, 'BatchSender');
  const sending = (method: string) => (token: string, batch: Batch) =>
    send(method, [token, batch.map(([to]) => to), batch.map(([, units]) => units)], { gas: GAS_BATCH });
  return {
    address,
    /** `transferFrom` with the caller's allowance: `token.approve(batch.address, …)` first. */
    sendFromCaller: sending('sendFromCaller'),
    /** `transfer` from the sender contract's own balance: `token.transfer(batch.address, …)` first. */
    sendOwn: sending('sendOwn'),
    /** A transfer, then the whole transaction reverts. */
    sendOwnThenRevert: sending('sendOwnThenRevert'),
    /** A transfer that is undone inside while the transaction succeeds. */
    sendOwnUndoneInside: sending('sendOwnUndoneInside'),
  };
}

export async function deployLookAlike(node: EvmNode) {
  const { address, send } = await deploy(node, 'LookAlike');
  return {
    address,
    /** Logs an ERC-20 Transfer that moved nothing. */
    claimTransfer: (from: string, to: string, units: bigint) => send('claimTransfer', [from, to, units]),
    /** Logs an ERC-721 Transfer: same topic, the id as fourth topic, no data. */
    claimNftTransfer: (from: string, to: string, id: bigint) => send('claimNftTransfer', [from, to, id]),
  };
}
