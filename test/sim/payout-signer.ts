/**
 * The real signing service with its real journal, for chains that exist only here.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import type { Family } from '../../src/chains/chain.ts';
import { chains } from '../../src/chains/index.ts';
import type { Spending, SpendNetwork } from '../../src/chains/spend.ts';
import { createIntentMac, gasReceiver, isPayback, type SweepIntent, type Wallet } from '../../src/core/intent.ts';
import { assetOf, unitsOf } from '../../src/core/ledger.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { Log } from '../../src/lib/log.ts';
import { createJournal, openJournal } from '../../src/signer/journal.ts';
import type { NetworkPolicy } from '../../src/signer/policy.ts';
import { openSigningService, type SigningService } from '../../src/signer/signing-service.ts';
import { raw } from '../support/raw.ts';
import { decodeSpend, encodeSpend, type Lane, lanes, signedIntents, TREASURY } from './payout-chain.ts';

const secretKey = new Uint8Array(32).fill(7);
export const macOf = createIntentMac(secretKey);
/** Families represent the three kinds of lanes here. */
export const familyOf: Readonly<Record<Lane, Family>> = { sequence: 'evm', expiry: 'tron', lock: 'solana' };

const token = { symbol: 'USDT', address: 'token', decimals: 6 } as const;
export const tokens = [token];
const seed = new Uint8Array(64).fill(9);
const plenty = 10n ** 30n;

export const keyOf = (wallet: Wallet): string =>
  createHash('sha256')
    .update(wallet.index === 0 && wallet.role !== 'collection' ? pathOf({ role: wallet.role }) : pathOf(wallet))
    .digest('hex')
    .slice(0, 40);
/** The first refund and gas wallets have no index. */
const pathOf = (wallet: Wallet): string => JSON.stringify(wallet);

/** Sweeps empty one address each here. */
const ownerOf = ({ from }: SweepIntent): Wallet => ({ role: 'collection', index: from[0]?.index ?? 0 });

function spending(lane: Lane): Spending {
  const { payer } = chains[familyOf[lane]].spendRules;
  return {
    derive: (_seed, wallet) => ({ wallet, key: keyOf(wallet), secret: new Uint8Array(32) }),
    path: pathOf,
    xpub: () => null,
    ...(lane === 'lock' && { refundLock: ({ key }, id) => createHash('sha256').update(`${key} ${id}`).digest('hex') }),
    signers(intent) {
      const wallet = payer(intent);
      if (lane === 'lock' && intent.kind === 'sweep') return [wallet, ownerOf(intent)];
      return intent.kind === 'gas' ? [wallet, gasReceiver(intent)] : [wallet];
    },
    sign({ intent, terms }, [wallet]) {
      const bytes = encodeSpend({ intent: { id: intent.id, kind: intent.kind }, payer: wallet?.key ?? '', terms });
      signedIntents.set(intent.id, intent);
      return { tx: decodeSpend(bytes).tx, bytes };
    },
    read(bytes, network: SpendNetwork) {
      const spend = decodeSpend(bytes);
      const intent = signedIntents.get(spend.intent.id);
      if (!intent) throw new Error(`nothing was signed for ${spend.intent.id}`);
      const from = intent.kind === 'sweep' ? keyOf(ownerOf(intent)) : spend.payer;
      const to = isPayback(intent)
        ? intent.to
        : intent.kind === 'sweep'
          ? network.treasury
          : keyOf(gasReceiver(intent));
      const moved = { token: assetOf(intent) === 'native' ? null : token.address, from, to, units: unitsOf(intent) };
      return {
        tx: spend.tx,
        chainId: null,
        signers: [spend.payer],
        effects: [moved],
        feeUnitsMax: BigInt(spend.terms.fee ?? 0),
      };
    },
  };
}

const quiet = { info() {}, warn() {}, error() {} } as unknown as Log;

export type SimSigner = ReturnType<typeof openSimSigner>;

/** An empty journal, made once: that takes longer than a copy. */
let empty: Uint8Array | null = null;

function makeEmpty(file: string): Uint8Array {
  createJournal(file, 'simulation');
  return readFileSync(file);
}

/** @param content of an earlier journal (`copy`), to go on from */
export function openSimSigner(file: string, clock: Pick<Clock, 'nowMs'>, content?: Uint8Array) {
  empty ??= makeEmpty(file);
  writeFileSync(file, content ?? empty, { mode: 0o600 });
  const journal = openJournal(file);
  const spendings = new Map<Family, Spending>(lanes.map((lane) => [familyOf[lane], spending(lane)]));
  return {
    journal,
    /** @param walletIndices which wallets pay */
    service(key: NetworkKey, lane: Lane, walletIndices?: NetworkPolicy['walletIndices']): SigningService {
      const network: NetworkPolicy = {
        key,
        family: familyOf[lane],
        spend: { chainId: key, tokens, treasury: TREASURY, feeUnitsMax: plenty },
        caps: { USDT: { transactionUnits: plenty, hourUnits: plenty, dayUnits: plenty } },
        gasCaps: { transactionUnits: plenty, dayUnits: plenty },
        feeCaps: { hourUnits: plenty, dayUnits: plenty },
        countCaps: { hour: 1_000_000, day: 1_000_000 },
        walletIndices: walletIndices ?? { refund: 0, gas: 0 },
      };
      const policy = { networks: [network], approvers: [] };
      const parts = { secretKey, policy, policyText: '', journal, spendings, clock, log: quiet };
      return openSigningService({ seed, ...parts });
    },
    /** Returns the journal's content, to go on from. */
    copy: (): Uint8Array => raw(file, (reader) => new Uint8Array(reader.serialize())),
    close: () => journal.close(),
  };
}
