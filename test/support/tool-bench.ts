/** An installation of one EVM network, whose chain a test writes, and the operator's tool on it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import * as assert from 'uvu/assert';
import { openDatabase } from '../../src/app/open-database.ts';
import { loadConfig } from '../../src/config/config.ts';
import { invariant } from '../../src/core/fault.ts';
import type { Currency } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { ingestedChain } from './ingested-chain.ts';
import { newSession, plainRequest } from './new-session.ts';
import { runQuayside } from './quayside-process.ts';

/** The xpub of the network, whose addresses no test derives. */
export const benchXpub = HDKey.fromMasterSeed(new Uint8Array(32).fill(3)).derive("m/44'/60'/0'/0").publicExtendedKey;

type BenchOptions = Readonly<{
  /** More settings, and more of the network's. */
  settings?: object;
  network?: object;
  clock?: Readonly<{ nowMs(): number }>;
  /** Transfers below it are dust. */
  dustFloorPar?: bigint;
  /** Name of the source of the pool's addresses. */
  source?: string;
}>;

type Order = Readonly<{
  accepts?: readonly Currency[];
  expiresInS?: number;
  storeId?: string;
  orderId?: string;
  description?: string;
  /** The currency of the order, at `rate` stablecoins for one of it. */
  currency?: string;
  rate?: string | null;
}>;

const KEYS = 40;

/** Makes the installation with a store, a followed network and free addresses. */
export async function openToolBench({ settings, network: own, clock = systemClock, ...more }: BenchOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'quayside-tool-'));
  const file = join(folder, 'quayside.json');
  const sepolia = { url: 'ws://127.0.0.1:1', xpub: benchXpub, ...own };
  writeFileSync(file, JSON.stringify({ data_dir: 'data', networks: { sepolia }, ...settings }), { mode: 0o600 });
  const variables = { QUAYSIDE_CONFIG: file };
  const run = (...words: string[]) => runQuayside(words, variables);
  async function answer(...words: string[]) {
    const { code, out, err } = await run(...words, '--json');
    assert.is(code, 0, `quayside ${words.join(' ')}: ${err}`);
    return JSON.parse(out);
  }

  const { id: store }: { id: string } = await answer('store', 'add', 'Shop');
  const config = loadConfig({ env: { ...process.env, ...variables }, cwd: folder });
  const database = openDatabase(config, process.env);
  const [network] = config.networks;
  invariant(network, 'there is a network');
  let current = database;
  const chain = ingestedChain(() => current, clock, network, more.dustFloorPar);
  const keys = Array.from({ length: KEYS }, (_, n) => (n + 1).toString(16).padStart(40, '0'));
  const pool = { family: 'evm', mode: 'test', source: more.source ?? 'test' } as const;
  await database.addresses.add({ ...pool, firstIndex: 0, keys });
  await chain.mine();
  await chain.report('following');

  /** Creates a session of 10.00, whose name is in its id and is its order's unless that has another. */
  async function order(name: string, { rate = null, currency = 'USD', ...wish }: Order = {}) {
    invariant(network, 'there is a network');
    // A report of minutes ago, on a slow machine, counts no more.
    await chain.report('following');
    const { storeId = store, orderId = name, description = null, accepts = ['USDT', 'USDC'], expiresInS = 1800 } = wish;
    const asked = { storeId, name, networks: [network], amountMinor: 1000, accepts, expiresInS, nowMs: clock.nowMs() };
    const conversion = rate === null ? null : { rate, currency: 'USDT' as const, amountMinor: 1000n };
    const request = { ...plainRequest(orderId, 1000n), currency, description };
    const outcome = await current.sessions.create({ ...newSession(asked), request, conversion });
    invariant(outcome.kind === 'created', `not ${outcome.kind}`);
    const to = outcome.session.addresses.evm ?? '';
    const send = (units: bigint, coin: Currency = 'USDT') => chain.mine([{ to, currency: coin, units }]);
    const pay = async (units: bigint, coin?: Currency) => {
      const block = await send(units, coin);
      await chain.confirm(block);
      return block;
    };
    return { id: outcome.session.id, name, to, send, pay };
  }

  /** Lets the chain and orders go to another database, which knows the chain so far. */
  const use = (other: Database): void => {
    current = other;
  };
  const close = (): void => {
    database.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return {
    folder,
    file,
    variables,
    run,
    answer,
    store,
    config,
    database,
    network,
    chain,
    keys,
    pool,
    order,
    use,
    close,
  };
}
