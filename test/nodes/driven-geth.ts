/**
 * A geth whose heads and forks the test chooses, by playing the consensus client. Forks are built on a
 * second geth with the same genesis and arrive as blocks in one fork choice, as on mainnet.
 *
 *   const geth = await startDrivenGeth({ chainId: 1 });
 *   await geth.mine(3);
 *   const branch = await geth.branch(2, { keep: 'none' });   // replaces the newest two blocks
 *   await geth.adopt(branch);
 *   …
 *   await geth.close();
 */
import { setTimeout as wait } from 'node:timers/promises';
import { type EvmNode, type EvmReceipt, headOf, rawsAbove } from '../support/evm-node.ts';
import { accounts, openSender, rivalsOf, type Sender } from './accounts.ts';
import { type Block, type Engine, openEngine } from './engine.ts';
import { BLOCK_GAS, makeGenesis } from './genesis.ts';
import { type Geth, startGeth } from './geth.ts';

/** As anvil has it: two epochs of Ethereum. */
const FINAL_DEPTH = 64;
/** With these, a killed geth comes back on the head at which it was last stopped, and can be given the rest again. */
const FORGETFUL = ['--state.scheme', 'hash', '--snapshot=false'];

export type DrivenOptions = Readonly<{
  chainId: number;
  /** Blocks on top of the newest final one. */
  finalDepth?: number;
  /** Whether `kill` sets the head back to the last `stop`, after which `replay` works. */
  isForgetful?: true;
  /** More of geth's options. */
  options?: readonly string[];
}>;

/** Blocks that another node built on a common parent. */
export type Branch = readonly Block[];

type BranchOptions = Readonly<{
  /** Number of blocks; as many as are replaced by default. */
  blocks?: number;
  /** Content of the first block: that of the replaced blocks; nothing, so that it may come again; or rivals of it. */
  fill?: 'all' | 'nothing' | 'rivals';
}>;

export type DrivenGeth = EvmNode &
  Readonly<{
    port: number;
    /** Builds blocks elsewhere that replace the newest `depth`; geth does not have them yet. */
    branch(depth: number, options?: BranchOptions): Promise<Branch>;
    /** Hands geth a branch and makes its last block the head. */
    adopt(branch: Branch): Promise<void>;
    /** Signs a transaction of an account, and sends it nowhere. */
    sign: Sender['sign'];
    /** Mines a block on the other node, which knows nothing but these transactions, and hands it to geth. */
    mineElsewhere(raws: readonly string[]): Promise<void>;
    /** Hands a forgetful geth the blocks that it has lost, as its peers would. */
    replay(): Promise<void>;
    /** Goes back with `debug_setHead`: no fork. Returns what was in the blocks; geth may put it back into its pool. */
    setHead(number: number): Promise<string[]>;
    /** Ends the process with SIGKILL; after `start` its head may be an earlier one, and its pool is empty. */
    kill(): Promise<void>;
  }>;

type Ref = Readonly<{ number: number; hash: string }>;

export async function startDrivenGeth(options: DrivenOptions): Promise<DrivenGeth> {
  const { chainId, finalDepth = FINAL_DEPTH } = options;
  const genesis = makeGenesis(chainId, accounts);
  const geth = await startGeth(genesis, [
    ...['--miner.gaslimit', String(BLOCK_GAS)],
    ...(options.isForgetful ? FORGETFUL : []),
    ...(options.options ?? []),
  ]);
  const { rpc } = geth;
  const engine = openEngine(geth);
  const elsewhere = openElsewhere(genesis, chainId);
  const known = new Map<string, Block>();
  const head = () => headOf({ rpc });
  const { send, sendRaw, sign } = openSender(chainId, rpc);
  let best: string | null = null;

  const setHead = async (number: number): Promise<void> => {
    await rpc('debug_setHead', [`0x${number.toString(16)}`]);
  };
  const hashAt = async (number: number): Promise<string | null> => {
    const block = await rpc<{ hash: string } | null>('eth_getBlockByNumber', [`0x${number.toString(16)}`, false]);
    return block?.hash ?? null;
  };
  /** The block that is final below a head whose newest block is not chosen yet. */
  const finalBelow = async (number: number): Promise<string | null> =>
    number <= finalDepth ? null : hashAt(number - finalDepth);

  async function choose({ number, hash }: Ref): Promise<void> {
    await engine.choose({ head: hash, final: await finalBelow(number) });
    best = hash;
  }

  /** The first block has what is in the pool, the others are as empty as geth makes them at once. */
  async function mine(blocks: number): Promise<void> {
    let { number, hash } = await head();
    let timeS = await nextTimeS(rpc);
    const final = await finalBelow(number);
    for (let left = blocks; left > 0; left--) {
      const block = await engine.build({ head: hash, final }, timeS, left === blocks ? 'from the pool' : 'at once');
      known.set(block.payload.blockHash, block);
      await engine.insert(block);
      [number, hash, timeS] = [number + 1, block.payload.blockHash, nowOrAfter(timeS)];
    }
    await choose({ number, hash });
  }

  async function adopt(branch: Branch): Promise<void> {
    for (const block of branch) {
      known.set(block.payload.blockHash, block);
      await engine.insert(block);
    }
    const tip = branch.at(-1)?.payload;
    if (!tip) throw new Error('a branch has blocks');
    // On a branch, blocks are final no further than where it leaves the chain: geth knows the rest only afterwards.
    const fork = Number(branch[0]?.payload.blockNumber) - 1;
    const at = Math.min(Number(tip.blockNumber) - finalDepth, fork);
    await engine.choose({ head: tip.blockHash, final: at <= 0 ? null : await hashAt(at) });
    best = tip.blockHash;
  }

  async function branch(depth: number, { blocks = depth, fill = 'nothing' }: BranchOptions = {}): Promise<Branch> {
    const fork = (await head()).number - depth;
    const raws = await rawsAbove({ rpc, head }, fork);
    const first = fill === 'all' ? raws : fill === 'rivals' ? await rivalsOf(raws) : [];
    return elsewhere.build((await hashAt(fork)) as string, known, first, blocks);
  }

  const { inTurn, mineEvery, stopMining } = createMiner(() => mine(1));
  return {
    ...geth,
    chainId,
    accounts,
    send,
    sendRaw,
    sign,
    head,
    receipt: (tx) => receiptOf(rpc, tx),
    mineEvery,
    mine: (blocks = 1) => inTurn(() => mine(blocks)),
    async give(address, wei) {
      const tx = await send({ from: accounts.at(-1) as string, to: address, value: `0x${wei.toString(16)}` });
      await inTurn(async () => {
        while (!(await receiptOf(rpc, tx))) await mine(1);
      });
    },
    branch: (depth, more) => inTurn(() => branch(depth, more)),
    adopt: (made) => inTurn(() => adopt(made)),
    mineElsewhere: (raws) => inTurn(async () => adopt(await elsewhere.build((await head()).hash, known, raws, 1))),
    reorg: (depth, keep = 'none') =>
      inTurn(async () => {
        const raws = await rawsAbove({ rpc, head }, (await head()).number - depth);
        await adopt(await branch(depth, { fill: keep === 'all' ? 'nothing' : 'rivals' }));
        return raws;
      }),
    replay: () =>
      inTurn(async () => {
        if (best === null) return;
        // A geth that was killed may have headers above its head without their state, which it takes for valid.
        await setHead((await head()).number).catch(onlyIf('not allowed to rewind to a future block'));
        await adopt(await missingBlocks(rpc, known, best));
      }),
    setHead: (number) =>
      inTurn(async () => {
        const raws = await rawsAbove({ rpc, head }, number);
        await setHead(number);
        return raws;
      }),
    async stop() {
      await stopMining();
      await geth.stop();
    },
    async kill() {
      await stopMining();
      await geth.kill();
    },
    async close() {
      await stopMining();
      await elsewhere.close();
      await geth.close();
    },
  };
}

/** Returns the known blocks up to this one that are not in a node's chain, oldest first. */
async function missingBlocks(
  rpc: EvmNode['rpc'],
  known: ReadonlyMap<string, Block>,
  tip: string,
): Promise<readonly Block[]> {
  const top = (await headOf({ rpc })).number;
  const blocks: Block[] = [];
  for (let block = known.get(tip); block; block = known.get(block.payload.parentHash)) {
    const { blockNumber, blockHash } = block.payload;
    // A node that was killed also answers blocks beyond its head.
    const isBelow = Number(blockNumber) <= top;
    const own = isBelow && (await rpc<{ hash: string }>('eth_getBlockByNumber', [blockNumber, false]));
    if (own && own.hash === blockHash) break;
    blocks.push(block);
  }
  return blocks.reverse();
}

/** Returns a transaction's receipt; null while it is in no block. */
export async function receiptOf(rpc: EvmNode['rpc'], tx: string): Promise<EvmReceipt | null> {
  const asked = rpc<EvmReceipt | null>('eth_getTransactionReceipt', [tx]);
  // A node that was just started says so of every transaction that it does not find.
  return asked.catch(onlyIf('transaction indexing is in progress'));
}

/** Takes an error of the node for null if it says this; throws it otherwise. */
const onlyIf =
  (text: string) =>
  (error: Error): null => {
    if (error.message.includes(text)) return null;
    throw error;
  };

/** Returns a time for the next block: now, or later than the newest one's. */
async function nextTimeS(rpc: EvmNode['rpc']): Promise<number> {
  const { timestamp } = await rpc<{ timestamp: string }>('eth_getBlockByNumber', ['latest', false]);
  return nowOrAfter(Number(timestamp));
}

const nowOrAfter = (timeS: number): number => Math.max(timeS + 1, Math.floor(Date.now() / 1000));

/** Runs one piece of work on the chain at a time, and a block at an interval between them. */
function createMiner(mineOne: () => Promise<void>) {
  let last: Promise<unknown> = Promise.resolve();
  let stopping: AbortController | null = null;
  let kept: Promise<void> = Promise.resolve();

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = last.then(work);
    last = done.catch(() => {});
    return done;
  }

  async function keepMining(everyMs: number, { signal }: AbortController): Promise<void> {
    while (!signal.aborted) {
      await inTurn(mineOne);
      await wait(everyMs, null, { signal }).catch(() => {});
    }
  }

  async function stopMining(): Promise<void> {
    stopping?.abort();
    stopping = null;
    await kept;
    await last;
  }

  return {
    inTurn,
    stopMining,
    async mineEvery(seconds: number): Promise<void> {
      await stopMining();
      if (seconds === 0) return;
      stopping = new AbortController();
      kept = keepMining(seconds * 1000, stopping);
    },
  };
}

/** The second geth; started when it is needed first. */
function openElsewhere(genesis: object, chainId: number) {
  let opened: Promise<readonly [Geth, Engine]> | null = null;

  async function open(): Promise<readonly [Geth, Engine]> {
    const geth = await startGeth(genesis);
    return [geth, openEngine(geth)];
  }

  return {
    /** Builds blocks on a parent; the first has these transactions of the chain. */
    async build(parent: string, known: ReadonlyMap<string, Block>, raws: readonly string[], blocks: number) {
      opened ??= open();
      const [{ rpc }, engine] = await opened;
      for (const block of await missingBlocks(rpc, known, parent)) await engine.insert(block);
      await engine.choose({ head: parent, final: null });
      const { sendRaw } = openSender(chainId, rpc);
      for (const raw of raws) await sendRaw(raw);
      const built: Block[] = [];
      let timeS = await nextTimeS(rpc);
      for (let left = blocks; left > 0; left--) {
        const head = built.at(-1)?.payload.blockHash ?? parent;
        const block = await engine.build({ head, final: null }, timeS, 'from the pool');
        await engine.insert(block);
        built.push(block);
        timeS = nowOrAfter(timeS);
      }
      return built;
    },
    async close(): Promise<void> {
      if (opened) await (await opened)[0].close();
    },
  };
}
