/**
 * A merchant who refunds on a real EVM node: an instance with its signer process, an anvil that makes a block each
 * second, and a refund wallet with an ether and no tokens. A block is final when four are on top of it. USDT is
 * Tether-like; USDC can be stopped by its issuer.
 *
 * @module
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { evmSpending } from '../../src/chains/evm/spend.ts';
import type { Intent } from '../../src/core/intent.ts';
import { openSqliteDatabase } from '../../src/database/sqlite/sqlite-database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { databaseFile, readSecretKey } from '../../src/lib/secret-key.ts';
import { seedOf } from '../../src/signer/keystore.ts';
import { startAnvil } from './anvil.ts';
import { deployFeeToken, deployGuardedToken } from './contracts.ts';
import { openFlowShop } from './flow-shop.ts';
import { type Json, startInstance } from './instance.ts';
import { startMerchantServer } from './merchant-server.ts';
import { makeSignerIn } from './temp-signer.ts';
import { until } from './until.ts';

const ETHER = 10n ** 18n;
const seed = seedOf('legal winner thank year wave sausage worth useful legal winner thank yellow');

/** The network's name in the operator's file, and what that file says about it beyond the usual. */
export type ShopNetwork = Readonly<{ name: string; chainId: number; settings: Readonly<Record<string, unknown>> }>;

const ethereum: ShopNetwork = { name: 'ethereum', chainId: 1, settings: {} };

/** Opens the shop. The signer knows Ethereum only, whatever the network. */
export async function openRefundShop({ name, chainId, settings }: ShopNetwork = ethereum) {
  const { key, secret } = evmSpending.derive(seed, { role: 'refund' });
  const wallet = `0x${key}`;
  const treasury = `0x${'71'.repeat(20)}`;
  const home = mkdtempSync(join(tmpdir(), 'quayside-refunds-'));
  const anvil = await startAnvil({ chainId, slotsInAnEpoch: 2, mining: { everyS: 1 } });
  const usdt = await deployFeeToken(anvil, { symbol: 'USDT', decimals: 6 });
  const usdc = await deployGuardedToken(anvil, { symbol: 'USDC', decimals: 6 });
  const contracts = { USDT: usdt, USDC: usdc };
  await anvil.rpc('anvil_setBalance', [wallet, `0x${ETHER.toString(16)}`]);
  const merchant = await startMerchantServer((response) => response.writeHead(200).end('{"received":true}'));
  const tokens = [
    { symbol: 'USDT' as const, address: usdt.address, decimals: 6 },
    { symbol: 'USDC' as const, address: usdc.address, decimals: 6 },
  ];
  const caps = { transaction: '500', hour: '1000', day: '2000' };
  const policy = {
    family: 'evm' as const,
    chain_id: '1',
    tokens,
    treasury,
    fee_max: '0.1',
    caps: { USDT: caps, USDC: caps },
    gas_caps: { transaction: '0.1', day: '1' },
  };
  const signer = makeSignerIn(home, seed, { 'test:ethereum': policy });
  const network = {
    mode: 'test',
    url: anvil.wsUrl,
    xpub: evmSpending.xpub(seed),
    confirmations: { kind: 'depth', blocks: 2 },
    reorg_depth_max: 40,
    block_time_ms: 1000,
    poll_ms: 100,
    tokens,
    ...settings,
  };
  const quayside = await startInstance(
    { networks: { [name]: network }, limits: { pool_target: 50 }, signer },
    `${merchant.origin}/hook`,
  );
  await quayside.cli('refunds', 'policy', '--store', quayside.merchantId, '--cancel-window', '0');
  const shop = openFlowShop(quayside, merchant);
  let refunds = 0;

  const ask = (session: Json, id: string, amount: string, currency: string, payee: string) =>
    quayside.api('POST', '/api/v1/refunds/create', {
      order_id: session.id,
      refund_id: id,
      amount,
      currency,
      metadata: { refund_address: payee },
    });
  const show = async (id: string): Promise<Json> => (await quayside.api('GET', `/api/v1/refunds/${id}`)).body;

  return {
    anvil,
    usdt,
    usdc,
    quayside,
    shop,
    wallet,
    treasury,
    gasWallet: `0x${evmSpending.derive(seed, { role: 'gas' }).key}`,
    /** Returns the index of a session's deposit address below the seed. */
    indexOf(session: Json): number {
      const address = session.payment_options[0].address.toLowerCase();
      for (let index = 0; index < 100; index++) {
        if (`0x${evmSpending.derive(seed, { role: 'collection', index }).key}` === address) return index;
      }
      throw new Error(`${address} is none of the first hundred addresses`);
    },
    /** Plans payouts in the instance's own database, as a sweep does. */
    async plan(payouts: readonly Readonly<{ intent: Intent; servesId?: string }>[]): Promise<void> {
      const { dataDir } = quayside;
      const secretKey = readSecretKey(dataDir, {});
      const database = openSqliteDatabase({
        file: databaseFile(dataDir),
        secretKey,
        busyTimeoutMs: 10_000,
        bytesMax: null,
        outageWaitS: 600,
      });
      const nowMs = systemClock.nowMs();
      const dues = { sessionId: null, notBeforeMs: nowMs, nowMs };
      await database.planPayouts(
        payouts.map(({ intent, servesId }) => ({ intent, servesId: servesId ?? null, ...dues })),
      );
      await database.close();
    },
    /** The refund wallet's private key: what a thief would have. */
    secret,
    async paidSession(cents: number, currency: 'USDT' | 'USDC' = 'USDT'): Promise<Json> {
      const session = await shop.newSession(cents);
      const option = session.payment_options.find((one: Json) => one.currency === currency);
      await contracts[currency].transfer(option.address, BigInt(cents) * 10_000n);
      await shop.waitForStatus(session, 'paid');
      return session;
    },
    ask,
    /** Requests a refund to a payee of its own, and expects it to be accepted. */
    async refund(session: Json, amount: string, currency: 'USDT' | 'USDC' = 'USDT') {
      refunds += 1;
      const [id, payee] = [`refund-${refunds}`, `0x${refunds.toString(16).padStart(40, 'a')}`];
      const { status, body } = await ask(session, id, amount, currency, payee);
      assert.is(status, 201, JSON.stringify(body));
      return { id, payee };
    },
    show,
    async completed(id: string): Promise<Json> {
      await until(`refund ${id} is completed`, async () => (await show(id)).status === 'completed');
      return show(id);
    },
    /** Waits until `status` counts this many payouts waiting for a reason. */
    untilWaiting: (reason: string, payouts: number) =>
      until(`${payouts} wait for ${reason}`, async () => {
        const { waiting } = (await quayside.cli('status')).payouts;
        return waiting.some((one: Json) => one.reason === reason && one.payouts === payouts);
      }),
    /** Returns the transfers on the chain from the refund wallet to a payee, in units. */
    async paidTo(payee: string, currency: 'USDT' | 'USDC' = 'USDT'): Promise<bigint[]> {
      const word = (address: string) => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;
      const topics = [null, word(wallet), word(payee)];
      const { address } = contracts[currency];
      const filter = { fromBlock: '0x0', toBlock: 'latest', address, topics };
      const logs = await anvil.rpc<readonly { data: string }[]>('eth_getLogs', [filter]);
      return logs.map(({ data }) => BigInt(data));
    },
    async close(): Promise<void> {
      await quayside.close();
      await merchant.close();
      await anvil.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
