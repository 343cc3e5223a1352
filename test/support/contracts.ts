/**
 * The contracts of `test/contracts/`, deployed to an node. solc compiles them once, for as long as they do not change
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
import { installationFolder as root } from '../../src/lib/installation.ts';
import { type AbiValue, encodeArguments, encodeCall } from './abi.ts';
import type { EvmNode } from './evm-node.ts';

const GAS_BATCH = '0x4c4b40';
const GAS_DEPLOY = '0x2dc6c0';

type ContractName = 'StandardToken' | 'FeeToken' | 'GuardedToken' | 'BatchSender' | 'LookAlike';

let compiled: Promise<Record<string, string>> | null = null;

/** Creation code by contract name: hex without prefix. */
async function creationCode(name: ContractName): Promise<string> {
  compiled ??= compileOnce();
  const code = (await compiled)[name];
  if (!code) throw new Error(`no contract ${name} in test/contracts`);
  return code;
}

/** The compiler takes seconds to load, so its output is kept for other processes and later runs. */
async function compileOnce(): Promise<Record<string, string>> {
  const folder = join(root, 'test/contracts');
  const files = readdirSync(folder).filter((file) => file.endsWith('.sol'));
  const sources = Object.fromEntries(
    files.map((file) => [file, { content: readFileSync(join(folder, file), 'utf8') }]),
  );
  const kept = join(root, `.tmp/contracts-${createHash('sha256').update(JSON.stringify(sources)).digest('hex')}.json`);
  if (existsSync(kept)) return JSON.parse(readFileSync(kept, 'utf8'));
  const codes = await compile(sources);
  const unfinished = `${kept}.${process.pid}`;
  mkdirSync(dirname(kept), { recursive: true });
  writeFileSync(unfinished, JSON.stringify(codes));
  renameSync(unfinished, kept);
  return codes;
}

async function compile(sources: object): Promise<Record<string, string>> {
  const { default: solc } = await import('solc');
  const input = {
    language: 'Solidity',
    sources,
    settings: { outputSelection: { '*': { '*': ['evm.bytecode.object'] } } },
  };
  type Output = {
    errors?: { severity: string; formattedMessage: string }[];
    contracts?: Record<string, Record<string, { evm: { bytecode: { object: string } } }>>;
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input))) as Output;
  const errors = output.errors?.filter((error) => error.severity === 'error') ?? [];
  if (errors.length > 0) throw new Error(errors.map((error) => error.formattedMessage).join('\n'));
  const codes: Record<string, string> = {};
  for (const file of Object.values(output.contracts ?? {})) {
    for (const [name, contract] of Object.entries(file)) codes[name] = contract.evm.bytecode.object;
  }
  return codes;
}

async function deploy(node: EvmNode, name: ContractName, values: readonly AbiValue[]): Promise<string> {
  const data = `0x${await creationCode(name)}${encodeArguments(values)}`;
  const tx = await node.send({ data, gas: GAS_DEPLOY });
  const isMined = (await node.receipt(tx)) !== null;
  if (!isMined) await node.mine();
  const receipt = await node.receipt(tx);
  if (receipt?.status !== '0x1' || !receipt.contractAddress) throw new Error(`${name} was not deployed`);
  return receipt.contractAddress;
}

/** `fee` (`maxPriorityFeePerGas` in wei) moves a transaction up within its block: highest first. */
export type CallOptions = Readonly<{ from?: string; feeWei?: bigint; gas?: string }>;

function call(node: EvmNode, to: string, signature: string, values: readonly AbiValue[], options: CallOptions = {}) {
  const fee = options.feeWei === undefined ? null : `0x${options.feeWei.toString(16)}`;
  return node.send({
    to,
    data: encodeCall(signature, values),
    ...(options.from ? { from: options.from } : {}),
    ...(options.gas ? { gas: options.gas } : {}),
    // The fee cap must cover the tip and the base fee.
    ...(fee
      ? { maxPriorityFeePerGas: fee, maxFeePerGas: `0x${((options.feeWei ?? 0n) + 10n ** 12n).toString(16)}` }
      : {}),
  });
}

/** Addresses are `0x` hex; `units` are the token's base units. */
export type TokenContract = Readonly<{
  address: string;
  decimals: number;
  transfer(to: string, units: bigint, options?: CallOptions): Promise<string>;
  transferFrom(from: string, to: string, units: bigint, options?: CallOptions): Promise<string>;
  approve(spender: string, units: bigint, options?: CallOptions): Promise<string>;
  balanceOf(holder: string): Promise<bigint>;
}>;

function tokenAt(node: EvmNode, address: string, decimals: number): TokenContract {
  return {
    address,
    decimals,
    transfer: (to, units, options) => call(node, address, 'transfer(address,uint256)', [to, units], options),
    transferFrom: (from, to, units, options) =>
      call(node, address, 'transferFrom(address,address,uint256)', [from, to, units], options),
    approve: (spender, units, options) => call(node, address, 'approve(address,uint256)', [spender, units], options),
    async balanceOf(holder) {
      const data = encodeCall('balanceOf(address)', [holder]);
      return BigInt(await node.rpc<string>('eth_call', [{ to: address, data }, 'latest']));
    },
  };
}

export type TokenOptions = Readonly<{
  symbol: string;
  decimals: number;
  /** Base units that the first account holds; a thousand million tokens by default. */
  supply?: bigint;
}>;

const supplyOf = (options: TokenOptions): bigint => options.supply ?? 10n ** BigInt(9 + options.decimals);

/** A plain ERC-20; its whole supply belongs to `node.accounts[0]`. */
export async function deployToken(node: EvmNode, options: TokenOptions): Promise<TokenContract> {
  const values = [{ text: options.symbol }, options.decimals, supplyOf(options)];
  return tokenAt(node, await deploy(node, 'StandardToken', values), options.decimals);
}

/** A token whose transfers return nothing, with a fee of 0 until `setFee`; owner and holder is `node.accounts[0]`. */
export async function deployFeeToken(
  node: EvmNode,
  options: TokenOptions,
): Promise<
  TokenContract &
    Readonly<{
      setFee(basisPoints: bigint, unitsMax: bigint): Promise<string>;
      freeze(holder: string): Promise<string>;
    }>
> {
  const values = [{ text: options.symbol }, options.decimals, supplyOf(options)];
  const address = await deploy(node, 'FeeToken', values);
  return {
    ...tokenAt(node, address, options.decimals),
    setFee: (basisPoints, unitsMax) => call(node, address, 'setFee(uint256,uint256)', [basisPoints, unitsMax]),
    freeze: (holder) => call(node, address, 'addBlackList(address)', [holder]),
  };
}

export type GuardedToken = TokenContract &
  Readonly<{
    freeze(holder: string): Promise<string>;
    /** Stops all transfers, or allows them again. `options.feeWei` puts it before others in its block. */
    stop(isStopped: boolean, options?: CallOptions): Promise<string>;
    /** From now on transfers return false and do nothing, or work again. */
    silence(isSilent: boolean, options?: CallOptions): Promise<string>;
  }>;

/** A token whose issuer can intervene; owner and holder is `node.accounts[0]`. */
export async function deployGuardedToken(node: EvmNode, options: TokenOptions): Promise<GuardedToken> {
  const values = [{ text: options.symbol }, options.decimals, supplyOf(options)];
  const address = await deploy(node, 'GuardedToken', values);
  return {
    ...tokenAt(node, address, options.decimals),
    freeze: (holder) => call(node, address, 'setBlacklisted(address,bool)', [holder, 1n]),
    stop: (isStopped, more) => call(node, address, 'setStopped(bool)', [isStopped ? 1n : 0n], more),
    silence: (isSilent, more) => call(node, address, 'setSilent(bool)', [isSilent ? 1n : 0n], more),
  };
}

/** One `[address, units]` for each transfer of a batch. */
export type Batch = readonly (readonly [to: string, units: bigint])[];

export type BatchSender = Readonly<{
  address: string;
  /** `transferFrom` with the caller's allowance: `token.approve(batch.address, …)` first. */
  sendFromCaller(token: string, batch: Batch): Promise<string>;
  /** `transfer` from the sender contract's own balance: `token.transfer(batch.address, …)` first. */
  sendOwn(token: string, batch: Batch): Promise<string>;
  /** The same, then the whole transaction reverts. */
  sendOwnThenRevert(token: string, batch: Batch): Promise<string>;
  /** The same, undone inside while the transaction succeeds. */
  sendOwnUndoneInside(token: string, batch: Batch): Promise<string>;
}>;

export async function deployBatchSender(node: EvmNode): Promise<BatchSender> {
  const address = await deploy(node, 'BatchSender', []);
  const send = (name: string) => (token: string, batch: Batch) => {
    const values = [token, batch.map(([to]) => to), batch.map(([, units]) => units)];
    return call(node, address, `${name}(address,address[],uint256[])`, values, { gas: GAS_BATCH });
  };
  return {
    address,
    sendFromCaller: send('sendFromCaller'),
    sendOwn: send('sendOwn'),
    sendOwnThenRevert: send('sendOwnThenRevert'),
    sendOwnUndoneInside: send('sendOwnUndoneInside'),
  };
}

export type LookAlike = Readonly<{
  address: string;
  /** Logs an ERC-20 Transfer that moved nothing. */
  claimTransfer(from: string, to: string, units: bigint): Promise<string>;
  /** Logs an ERC-721 Transfer: same topic, the id as fourth topic, no data. */
  claimNftTransfer(from: string, to: string, id: bigint): Promise<string>;
}>;

export async function deployLookAlike(node: EvmNode): Promise<LookAlike> {
  const address = await deploy(node, 'LookAlike', []);
  return {
    address,
    claimTransfer: (from, to, units) =>
      call(node, address, 'claimTransfer(address,address,uint256)', [from, to, units]),
    claimNftTransfer: (from, to, id) =>
      call(node, address, 'claimNftTransfer(address,address,uint256)', [from, to, id]),
  };
}
