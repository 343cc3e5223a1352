/**
 * A java-tron node with blocks as large as TRON's own. A simulated world provides each block's header, finality and
 * first transaction, which may be a payment; the other transactions are one of a few prepared sets.
 */
import { tronAddress } from '../../src/chains/tron/address.ts';
import type { WorldBlock } from '../../src/sandbox/block-tree.ts';
import { digest } from '../../src/sandbox/digest.ts';
import { toJson } from '../../src/sandbox/json-rpc.ts';
import { tokenKey } from '../../src/sandbox/node-server.ts';
import { tronMethods } from '../../src/sandbox/tron-methods.ts';
import { renderBlock, renderInfo, tronBlockId } from '../../src/sandbox/tron-render.ts';
import { createWorld } from '../../test/simulated/world.ts';
import { growWorld, type Served, type Serving } from './growing-world.ts';
import { createTemplate, listText, openAtEnd, type Parts, servePrepared } from './prepared-http.ts';

/** As high as TRON's own blocks, so that heights have as many digits. */
const FIRST_NUMBER = 80_000_000;
const SETS = 8;
/** One in this many transactions transfers a token and so has a log. */
const LOGGED_EVERY = 3;
const KEY_BYTES = 20;
const FINALITY_BLOCKS = 18;
const SEED = 'bench tron';

type PreparedSet = Readonly<{ transactions: Uint8Array; infosOf(block: WorldBlock): Uint8Array }>;

/** Returns the members of the lists in a block and in its infos, except the first. */
function prepareSet(at: number, tokens: readonly string[], size: number): PreparedSet {
  const world = createWorld({
    seed: `${SEED} ${at}`,
    clock: { nowMs: () => 1_700_000_000_000 },
    tokens,
    keyBytes: KEY_BYTES,
    finalityDistance: FINALITY_BLOCKS,
  });
  const mined = world.mine(size);
  // Marks that occur nowhere else: a height and a time with as many digits as the real ones.
  const marked = { ...mined, number: 99_999_989, timeS: 9_999_999_989 };
  const { transactions = [] } = renderBlock(mined, true);
  const calls = marked.transactions.map((one, place) => (place % LOGGED_EVERY === 0 ? one : { ...one, entries: [] }));
  const keyed = tokens.map((key) => ({ key }));
  const infos = createTemplate(listText(calls.map((one) => renderInfo(one, marked, keyed))), [
    `"blockNumber":${marked.number},`,
    `"blockTimeStamp":${marked.timeS * 1000},`,
  ]);
  return {
    transactions: Buffer.from(listText(transactions)),
    infosOf: ({ number, timeS }) => infos.fill([`"blockNumber":${number},`, `"blockTimeStamp":${timeS * 1000},`]),
  };
}

/** Grows the chain and serves it on loopback. */
export async function serveTron(wish: Serving & Readonly<{ transactions: number }>): Promise<Served> {
  const { blocks, chainId } = wish;
  const tokens = wish.tokens.map((token) => ({ ...token, key: tokenKey(tronAddress, token) }));
  const tokenKeys = tokens.map(({ key }) => key);
  const startS = Math.floor((performance.timeOrigin - blocks * wish.blockTimeMs) / 1000);
  const first = (number: number, parent: string): WorldBlock => {
    const hash = tronBlockId(chainId, number, digest(SEED, number));
    return { hash, parent, number, timeS: startS, serial: number === 0 ? 0 : 1, transactions: [] };
  };
  const genesis = first(0, '0'.repeat(64));
  const { world, from, paid } = growWorld(
    {
      seed: SEED,
      tokens: tokenKeys,
      keyBytes: KEY_BYTES,
      blockHash: (number, digits) => tronBlockId(chainId, number, digits),
      finalityDistance: FINALITY_BLOCKS,
      kept: [genesis, first(FIRST_NUMBER, genesis.hash)],
    },
    { ...wish, startS },
  );
  const sets = Array.from({ length: SETS }, (_, at) => prepareSet(at, tokenKeys, wish.transactions - 1));
  const methods = tronMethods({ world, chainId, tokens });

  function answer(path: string, text: string): Parts {
    const [, folder, method = ''] = path.split('/');
    const body = JSON.parse(text);
    const tip = folder === 'walletsolidity' ? world.finalized : world.tip;
    const pool = { find: () => undefined, accounts: world.accounts };
    const value = methods.get(method)?.({ body, view: { ...world, tip }, pool });
    const shown = toJson(value);
    const isBlock = method === 'getblock' && body.detail === true;
    const block =
      isBlock || method === 'gettransactioninfobyblocknum' ? world.at(Number(body.id_or_num ?? body.num)) : null;
    const set = sets[(block?.number ?? 0) % SETS];
    if (!block || !set) return [Buffer.from(shown)];
    const [head, tail] = openAtEnd(shown, isBlock ? ']}' : ']');
    return [head, isBlock ? set.transactions : set.infosOf(block), tail];
  }

  const port = await servePrepared(answer);
  return { url: `http://127.0.0.1:${port}`, from, to: world.tip().number, paid };
}
