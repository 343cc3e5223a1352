/**
 * A merchant whose money goes out again: an instance with its signer process, on a chain that makes blocks by itself.
 */
import { cpSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import * as assert from 'uvu/assert';
import { quaysideTool } from '../../scripts/cli/quayside.ts';
import { runTool } from '../../scripts/cli/tool.ts';
import type { Family } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import type { Wallet } from '../../src/core/intent.ts';
import type { Currency, Token } from '../../src/core/transfer.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { databaseFile } from '../../src/lib/secret-key.ts';
import { openConfiguredSigner } from '../../src/signer/client.ts';
import { seedOf } from '../../src/signer/keystore.ts';
import type { PolicySettings } from '../../src/signer/policy.ts';
import { restoreSigner } from '../../src/signer/setup.ts';
import type { Faults } from '../simulated/faults.ts';
import { type Json, openFlowInstallation } from './instance.ts';
import { makeSignerIn } from './temp-signer.ts';
import { until } from './until.ts';

export const PHRASE = 'legal winner thank year wave sausage worth useful legal winner thank yellow';
export const seed = seedOf(PHRASE);
/** Of those who are paid. */
const payeesSeed = seedOf(`${'abandon '.repeat(11)}about`);

/** Nobody puts a machine back within two minutes, and no test waits for them. */
function ageHeartbeats(dataDir: string): void {
  const client = new Sqlite(databaseFile(dataDir));
  client.exec('UPDATE payout_engines SET beat_at_ms = beat_at_ms - 121000');
  client.close();
}

/** A chain of one family, as the payout suites need it. Accounts are address keys. */
export type PayoutChain = Readonly<{
  family: Family;
  /** The network's name; it is a test network. */
  name: string;
  tokens: readonly Token[];
  /** Of the network in the operator's file, besides mode, xpub and tokens. */
  settings: Readonly<Record<string, unknown>>;
  /** Of the network in the signer's policy, besides family, tokens, treasury and caps. */
  policy: Readonly<{ chain_id: string; fee_max: string; gas_caps: Readonly<{ transaction: string; day: string }> }>;
  /** People who may end a freeze of the signer; nobody if absent. */
  approvers?: PolicySettings['approvers'];
  /** The network that the signer knows from the start, if it is another one. */
  signerKnows?: `test:${string}`;
  treasury: string;
  /** Sends tokens out of nowhere. */
  pay(key: string, currency: Currency, units: bigint): Promise<unknown>;
  /** Gives an address this many native coins. */
  fund(key: string, coins: number): Promise<unknown>;
  held(key: string, currency: Currency): Promise<bigint>;
  /** Returns what one has sent to another, in units. */
  paid(from: string, to: string, currency: Currency): Promise<readonly bigint[]>;
  /** Whether a transaction is in a block and did what it should. */
  hasSucceeded(tx: string): Promise<boolean>;
  /** Makes everything in the chain final at once; absent where that does not take long. */
  finalize?(): Promise<unknown>;
  /** Takes the newest block off the chain; what was in it may be sent again. */
  reorg?(): Promise<unknown>;
  /** Stops the node, and starts it again; absent where the chain would be lost. */
  stop?(): Promise<unknown>;
  start?(): Promise<unknown>;
  /** Of a simulated node: what it can be made to do wrong. */
  faults?: Faults;
  close(): Promise<void>;
}>;

export type PayoutShop = Awaited<ReturnType<typeof openPayoutShop>>;

/** Opens the installation; the chain is closed with it. */
export async function openPayoutShop(chain: PayoutChain) {
  const { family, name, tokens, policy } = chain;
  const network = `test:${name}` as const;
  const codec = chains[family].address;
  const spending = await chains[family].spending();
  const home = mkdtempSync(join(tmpdir(), 'quayside-payouts-'));
  const caps = { transaction: '500', hour: '1000', day: '2000' };
  const ofNetwork = {
    ...policy,
    family,
    tokens: [...tokens],
    treasury: codec.format(chain.treasury),
    caps: Object.fromEntries(tokens.map(({ symbol }) => [symbol, caps])),
  };
  const signer = makeSignerIn(home, seed, { [chain.signerKnows ?? network]: ofNetwork }, chain.approvers);
  const xpub = spending.xpub(seed);
  const settings = { ...chain.settings, mode: 'test', ...(xpub && { xpub }), tokens };
  const installation = await openFlowInstallation({
    networks: { [name]: settings },
    limits: { pool_target: 20 },
    signer,
  });
  const { quayside, shop } = installation;
  await quayside.cli('store', 'set', quayside.merchantId, '--refund-cancel-window=0');
  const walletKey = (wallet: Wallet): string => spending.derive(seed, wallet).key;
  const refundWallet = walletKey({ role: 'refund' });
  const keyOf = (session: Json): string => codec.parse(session.payment_options[0].address) ?? '';
  const unitsOf = (cents: number, currency: Currency): bigint => {
    const decimals = tokens.find(({ symbol }) => symbol === currency)?.decimals ?? 0;
    return BigInt(cents) * 10n ** BigInt(decimals - 2);
  };
  let refunds = 0;

  const ask = (session: Json, id: string, amount: string, payee: string, currency: Currency = 'USDT') =>
    quayside.api('POST', '/api/v1/refunds/create', {
      order_id: session.id,
      refund_id: id,
      amount,
      currency,
      metadata: { refund_address: codec.format(payee) },
    });
  const show = async (id: string): Promise<Json> => (await quayside.api('GET', `/api/v1/refunds/${id}`)).body;

  return {
    chain,
    quayside,
    shop,
    network,
    refundWallet,
    gasWallet: walletKey({ role: 'gas' }),
    walletKey,
    keyOf,
    parse: codec.parse,
    format: codec.format,
    newPayee(): string {
      refunds += 1;
      return spending.derive(payeesSeed, { role: 'collection', index: refunds }).key;
    },
    unitsOf,
    /**
     * Copies what the installation and its signer have stored at one moment.
     * @returns puts both back, or one of them alone, while the installation is stopped
     */
    async snapshot(): Promise<(half?: 'data' | 'signer') => void> {
      const kept = mkdtempSync(join(home, 'snapshot-'));
      const folders = [
        [quayside.dataDir, join(kept, 'data')],
        [signer.dir, join(kept, 'signer')],
      ] as const;
      const isFile = (path: string) => !lstatSync(path).isSocket();
      await quayside.whileFrozen(() => {
        for (const [from, to] of folders) cpSync(from, to, { recursive: true, filter: isFile });
      });
      return (half) => {
        for (const [to, from] of folders) {
          if (half && !from.endsWith(half)) continue;
          for (const name of readdirSync(to)) rmSync(join(to, name), { recursive: true, force: true });
          cpSync(from, to, { recursive: true });
        }
        if (half !== 'signer') ageHeartbeats(quayside.dataDir);
      };
    },
    /**
     * Backs everything up while it runs.
     * @returns makes new, empty folders in the place of the stopped installation's, and restores the backup there
     */
    async backUp(): Promise<() => Promise<Json>> {
      const kept = mkdtempSync(join(home, 'backup-'));
      const options = ['--passphrase-file', signer.unlock.file];
      const configured = join(quayside.dataDir, 'config.json');
      const backup = { folder: kept, passphrase_path: signer.unlock.file };
      writeFileSync(configured, JSON.stringify({ ...JSON.parse(readFileSync(configured, 'utf8')), backup }));
      const { file } = await quayside.cli('backup');
      return async () => {
        const settings = join(kept, 'config.json');
        cpSync(join(quayside.dataDir, 'config.json'), settings);
        for (const dir of [quayside.dataDir, signer.dir]) rmSync(dir, { recursive: true });
        const words = ['restore', file, quayside.dataDir, ...options, '--json'];
        const { code, out, err } = await runTool(quaysideTool, words, process.env, home);
        assert.is(code, 0, err);
        cpSync(settings, join(quayside.dataDir, 'config.json'));
        const part = { file: join(quayside.dataDir, 'signer.backup'), nowMs: systemClock.nowMs() };
        await restoreSigner(signer.dir, seed, readFileSync(signer.unlock.file), part);
        return JSON.parse(out);
      };
    },
    async paidSession(cents: number, currency: Currency = 'USDT'): Promise<Json> {
      const session = await shop.newSession(cents);
      await chain.pay(keyOf(session), currency, unitsOf(cents, currency));
      await shop.waitForStatus(session, 'paid');
      return session;
    },
    ask,
    /** Asks for a refund to a payee of its own, and expects it to be taken. */
    async refund(session: Json, amount: string, currency: Currency = 'USDT') {
      refunds += 1;
      const id = `refund-${refunds}`;
      const payee = spending.derive(payeesSeed, { role: 'collection', index: refunds }).key;
      const { status, body } = await ask(session, id, amount, payee, currency);
      assert.is(status, 201, JSON.stringify(body));
      return { id, payee };
    },
    show,
    async completed(id: string): Promise<Json> {
      await until(`refund ${id} is completed`, async () => (await show(id)).status === 'completed');
      return show(id);
    },
    /** Waits until the signer serves: it is unlocked after everything else has started. */
    async untilUnlocked() {
      const client = openConfiguredSigner(signer);
      const answers = () =>
        client.freezeState().then(
          () => true,
          () => false,
        );
      await until('the signer is unlocked', answers).finally(() => client.close());
    },
    /**
     * Lets the chain's time pass if the engine waits for that, up to the time it names: what it says may be over, and
     * more time would end what it has signed since.
     */
    async passAwaited(pass: (untilMs: number) => void): Promise<void> {
      const { engines } = (await quayside.cli('status')).payouts;
      const awaited = engines.find(({ reason }: Json) => reason?.code === 'payouts_settling');
      const [, until] = /until (\S+Z) by/.exec(awaited?.reason.message ?? '') ?? [];
      if (until !== undefined) pass(Date.parse(until));
    },
    /** Waits until a payout waits for a reason. */
    untilWaiting: (reason: string) =>
      until(`a payout waits for ${reason}`, async () => {
        const { waiting } = (await quayside.cli('status')).payouts;
        return waiting.some((one: Json) => one.reason === reason && one.payouts === 1);
      }),
    paidTo: (payee: string, currency: Currency = 'USDT') => chain.paid(refundWallet, payee, currency),
    async close(): Promise<void> {
      await installation.close();
      await chain.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
