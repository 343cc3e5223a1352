/**
 * Control of an EVM node and its chain, whichever program it is: anvil (`anvil.ts`) or geth
 * (`test/nodes/`).
 *
 * The accounts are those of the well-known test mnemonic "test test test test test test test test test test test junk",
 * funded, and need no signing here.
 */

/**
 * A transaction from one of the accounts; quantities are `0x` hex. Gas is given, so that reverting calls are mined too.
 */
export type TransactionRequest = Readonly<{
  from?: string;
  to?: string;
  data?: string;
  value?: string;
  gas?: string;
  maxPriorityFeePerGas?: string;
  maxFeePerGas?: string;
}>;

export type EvmReceipt = Readonly<{
  status: string;
  blockHash: string;
  blockNumber: string;
  contractAddress: string | null;
  logs: readonly Readonly<{ address: string; logIndex: string; data: string; topics: readonly string[] }>[];
}>;

/** Gas of a transaction that names none: enough for a token transfer. */
export const GAS_USUAL = '0x7a120';

export type EvmNode = Readonly<{
  chainId: number;
  httpUrl: string;
  wsUrl: string;
  /** Ten funded addresses; the first one deploys and sends by default. */
  accounts: readonly string[];
  /** One JSON-RPC call; an error in the answer is thrown with its code and message. */
  rpc<T = unknown>(method: string, params?: readonly unknown[]): Promise<T>;
  /** Puts a transaction into the pool and returns its hash. */
  send(request: TransactionRequest): Promise<string>;
  /** Sends a signed transaction. */
  sendRaw(raw: string): Promise<string>;
  /** Gives an address native coin, in wei. */
  give(address: string, wei: bigint): Promise<void>;
  /** Mines this many blocks; the first takes what is in the pool, highest fee first. */
  mine(blocks?: number): Promise<void>;
  /** From now on a block comes by itself at this interval; 0: only `mine()` makes blocks. */
  mineEvery(seconds: number): Promise<void>;
  head(): Promise<Readonly<{ number: number; hash: string }>>;
  /** The receipt of a mined transaction, null while it is not in the chain. */
  receipt(tx: string): Promise<EvmReceipt | null>;
  /**
   * Replaces the newest `depth` blocks with as many that lack their transactions. With `all`, these are in the pool
   * afterwards; with `none`, the default, those of the accounts are gone.
   * @returns the signed transactions that the blocks had, oldest first
   */
  reorg(depth: number, keep?: 'none' | 'all'): Promise<readonly string[]>;
  /** Ends the process in an orderly way; the chain is kept. Connections break. */
  stop(): Promise<void>;
  /** Starts it again on the same port with the same chain. */
  start(): Promise<void>;
  /** Ends the process and removes its files. Must be called once at the end. */
  close(): Promise<void>;
}>;

/** Makes one JSON-RPC call over HTTP. @returns the whole answer */
export async function askRpc(
  url: string,
  method: string,
  params: unknown = [],
  headers: Readonly<Record<string, string>> = {},
): Promise<{ result?: unknown; error?: { code: number; message: string } }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  return (await response.json()) as { result?: unknown };
}

/** Returns the result of one call. @throws Error with the method, and the code and message of the node's error */
export async function callNode(...call: Parameters<typeof askRpc>): Promise<unknown> {
  const { result, error } = await askRpc(...call);
  if (error) throw new Error(`${call[1]}: ${error.code} ${error.message}`);
  return result;
}

/** Returns the signed transactions of a node's blocks above a height, oldest first. */
export async function rawsAbove({ rpc, head }: Pick<EvmNode, 'rpc' | 'head'>, height: number): Promise<string[]> {
  const raws: string[] = [];
  for (let number = height + 1; number <= (await head()).number; number++) {
    type Block = { transactions: string[] };
    const block = await rpc<Block>('eth_getBlockByNumber', [`0x${number.toString(16)}`, false]);
    for (const tx of block.transactions) raws.push(await rpc<string>('eth_getRawTransactionByHash', [tx]));
  }
  return raws;
}

/** Returns a node's newest block. */
export async function headOf({ rpc }: Pick<EvmNode, 'rpc'>): Promise<Readonly<{ number: number; hash: string }>> {
  const block = await rpc<{ number: string; hash: string }>('eth_getBlockByNumber', ['latest', false]);
  return { number: Number(block.number), hash: block.hash };
}
