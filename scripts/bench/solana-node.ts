/**
 * A Solana node with blocks as large as the live network's, as `getBlock` returns them with
 * `transactionDetails: "accounts"`. Headers, finality, skipped slots and payments come from a simulated world; the
 * other transactions are one of a few prepared sets.
 */
import { solanaAddress } from '../../src/chains/solana/address.ts';
import { TOKEN_PROGRAM } from '../../src/chains/solana/wire.ts';
import type { WorldBlock } from '../../src/sandbox/block-tree.ts';
import { digest } from '../../src/sandbox/digest.ts';
import { answerMessage, methodNotFound } from '../../src/sandbox/json-rpc.ts';
import { tokenKey } from '../../src/sandbox/node-server.ts';
import { solanaMethods } from '../../src/sandbox/solana-methods.ts';
import { formatBlockHash, isSkippedSlot, renderBlock, renderVote } from '../../src/sandbox/solana-render.ts';
import type { WorldTransaction } from '../../src/sandbox/transaction.ts';
import { createRandom, type Random } from '../../test/support/random.ts';
import { growWorld, type Served, type Serving } from './growing-world.ts';
import { listText, openAtEnd, type Parts, servePrepared } from './prepared-http.ts';

const SETS = 8;
const KEY_BYTES = 32;
const FINALITY_BLOCKS = 32;
const SEED = 'bench solana';
const VOTES = 780;
const OTHERS = 475;
/** One in this many of the others transfers an accepted token; the rest transfer other tokens. */
const WANTED_EVERY = 3;
/** How many token accounts a transaction touches: from a plain transfer to a swap through several pools. */
const ACCOUNTS_MIN = 2;
const ACCOUNTS_MAX = 12;

/** Returns a transaction that transfers tokens between a few owners, the first of them `token`. */
function makeTransaction(random: Random, token: string): WorldTransaction {
  const made = (what: string) => digest(SEED, what, random.int(2 ** 32));
  const owners = (ACCOUNTS_MIN + random.int(ACCOUNTS_MAX - ACCOUNTS_MIN + 1)) / 2;
  const entries = Array.from({ length: Math.ceil(owners) }, (_, at) => ({
    kind: 'transfer' as const,
    token: at === 0 ? token : made('mint'),
    from: made('owner'),
    to: made('owner'),
    units: BigInt(1 + random.int(2 ** 31)),
  }));
  return {
    id: made('transaction'),
    sender: made('owner'),
    target: made('program'),
    succeeded: random.chance(0.9),
    entries,
  };
}

/** Returns the members of a block's list of transactions, votes included, as text. */
function prepareSet(set: number, tokens: readonly string[], decimalsOf: (key: string) => number): Uint8Array {
  const random = createRandom(SEED, set);
  const block: WorldBlock = {
    hash: digest(SEED, set),
    parent: digest(SEED, 'parent'),
    number: 1,
    timeS: 0,
    serial: 0,
    transactions: [],
  };
  const mintOf = (key: string) => ({ key, decimals: decimalsOf(key), program: TOKEN_PROGRAM });
  const transactions = Array.from({ length: OTHERS }, (_, at) => {
    const token = at % WANTED_EVERY === 0 ? tokens[random.int(tokens.length)] : undefined;
    return makeTransaction(random, token ?? digest(SEED, 'mint', set, at));
  });
  const votes = Array.from({ length: VOTES }, (_, at) => renderVote(block, at));
  // `renderBlock` adds a few votes of its own before them.
  const { transactions: others } = renderBlock({ ...block, transactions }, 0, 0, 'accounts', mintOf) as {
    transactions: unknown[];
  };
  return Buffer.from(listText(random.shuffled([...votes, ...others])));
}

/** Grows the chain and serves it on loopback. */
export async function serveSolana(wish: Serving): Promise<Served> {
  const { chainId } = wish;
  const tokens = wish.tokens.map((token) => ({ ...token, key: tokenKey(solanaAddress, token) }));
  const tokenKeys = tokens.map(({ key }) => key);
  const startS = Math.floor((performance.timeOrigin - wish.blocks * wish.blockTimeMs) / 1000);
  const { world, from, paid } = growWorld(
    {
      seed: SEED,
      tokens: tokenKeys,
      keyBytes: KEY_BYTES,
      isSkipped: (slot) => isSkippedSlot(chainId, slot),
      finalityDistance: FINALITY_BLOCKS,
    },
    { ...wish, startS },
  );
  const decimalsOf = (key: string) => tokens.find((token) => token.key === key)?.decimals ?? 9;
  const sets = Array.from({ length: SETS }, (_, at) => prepareSet(at, tokenKeys, decimalsOf));
  const methods = solanaMethods({ world, chainId, tokens });

  function call(name: string, params: unknown): unknown {
    const method = methods.get(name);
    if (!method) throw methodNotFound(name);
    return method({ params, view: world });
  }

  function answer(_path: string, text: string): Parts {
    const { method, params, id } = JSON.parse(text);
    if (method !== 'getBlock' || params[1].transactionDetails !== 'accounts')
      return [Buffer.from(answerMessage(text, call))];
    const [head, tail] = openAtEnd(JSON.stringify(call(method, params)), ']}');
    // Agave writes the id last.
    return [
      Buffer.from('{"jsonrpc":"2.0","result":'),
      head,
      sets[params[0] % SETS] ?? tail,
      tail,
      Buffer.from(`,"id":${id}}`),
    ];
  }

  const port = await servePrepared(answer);
  const parent = formatBlockHash(from.parent);
  const start = { ...from, hash: formatBlockHash(from.hash), parent };
  return { url: `http://127.0.0.1:${port}`, from: start, to: world.tip().number, paid };
}
