/**
 * The signing service: checks, signs, reads back, journals and answers each request before the next. All of it is
 * synchronous, so that requests cannot interleave.
 * @module
 */
import { timingSafeEqual } from 'node:crypto';
import type { Family } from '../chains/chain.ts';
import { chains } from '../chains/index.ts';
import type { SignedSpend, Spending, SpendKey, SpendOrder, WalletKeys } from '../chains/spend.ts';
import { Fault, invariant } from '../core/fault.ts';
import { type Intent, intentMac, type Wallet } from '../core/intent.ts';
import type { NetworkKey } from '../core/transfer.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { canonicalIntent, type Journal } from './journal.ts';
import type { NetworkPolicy, Policy } from './policy.ts';
import { capWindows, checkFence, checkOrder, type Grant, grantGas, grantRefund, nonceOf, refused } from './rules.ts';
import { checkReading } from './self-check.ts';
import type { JournalEntry, SignerWallets, SignRequest } from './signer.ts';

export type SigningServiceOptions = Readonly<{
  /** 64 bytes; wiped by `close`. */
  seed: Uint8Array;
  /** The key of refunds' MACs (`intentMacKey`). */
  macKey: Uint8Array;
  policy: Policy;
  journal: Journal;
  /** The wallets of the policy's families. */
  walletKeys: ReadonlyMap<Family, WalletKeys>;
  /** The signing halves of the same families. Each must be there before `sign` is called for one of its networks. */
  spendings: ReadonlyMap<Family, Spending>;
  clock: Pick<Clock, 'nowMs'>;
  log: Log;
}>;

/** The signer without its socket: the calls of `Signer`, synchronous. Every refusal is a Fault. */
export interface SigningService {
  wallets(network: NetworkKey): SignerWallets;
  addresses(network: NetworkKey, indices: readonly number[]): string[];
  sign(request: SignRequest): SignedSpend;
  journal(network: NetworkKey, after: number, limit: number): JournalEntry[];
  fence(network: NetworkKey): number;
  /** Wipes the seed. */
  close(): void;
}

/** A network that the policy allows, with its family's wallets. */
type Place = Readonly<{ policy: NetworkPolicy; wallets: WalletKeys }>;

const NO_GRANT: Grant = { capUse: null, approval: null };

/** Returns the service; opens nothing itself. */
export function openSigningService({
  seed,
  macKey,
  policy,
  journal,
  walletKeys,
  spendings,
  clock,
  log,
}: SigningServiceOptions): SigningService {
  /** @throws Fault `signer_refused_policy` */
  function placeOf(network: NetworkKey): Place {
    const found = policy.networks.find(({ key }) => key === network);
    const wallets = found && walletKeys.get(found.family);
    if (found && wallets) return { policy: found, wallets };
    throw refused(
      'policy',
      `the signer's policy has no network ${network}: run \`quayside signer policy add <network>\`, then restart the signer`,
    );
  }

  const keyOf = (wallets: WalletKeys, wallet: Wallet): string => {
    const { key, secret } = wallets.derive(seed, wallet);
    secret.fill(0);
    return key;
  };

  /** Signs and checks an order, and wipes the keys. The same order gives the same bytes. */
  function signChecked({ policy: { family } }: Place, order: SpendOrder, payer: string): SignedSpend {
    const { intent, network } = order;
    const spending = spendings.get(family);
    invariant(spending, `the signing half of ${family} was loaded before the request was served`);
    const keys: SpendKey[] = [];
    try {
      for (const wallet of spending.signers(intent)) keys.push(spending.derive(seed, wallet));
      const signed = guarded(() => spending.sign(order, keys));
      const reading = guarded(() => spending.read(signed.bytes, network));
      const signers = keys.map(({ key }) => key);
      const of = (wallet: Wallet) => keys.find((one) => isSame(one.wallet, wallet))?.key ?? keyOf(spending, wallet);
      checkReading(reading, { signed, intent, network, keys: { payer, signers, of } });
      return signed;
    } finally {
      for (const { secret } of keys) secret.fill(0);
    }
  }

  /** @throws Fault `signer_refused_nonce` */
  function checkNonce(nonce: number | null, payer: string, { intent, generation }: SignRequest): void {
    const use = nonce === null ? null : journal.nonceUse(intent.network, payer, nonce);
    if (!use || (use.intentId === intent.id && use.generation === generation)) return;
    const text = `sequence number ${nonce} of ${payer} was used for ${use.intentId} (generation ${use.generation})`;
    throw refused('nonce', `${text}: the database is behind the signer. Run \`quayside payouts adopt\``);
  }

  function checkIntent({ policy: { family, spend } }: Place, intent: Intent): void {
    if (intent.kind === 'gas') return;
    if (!spend.tokens.some(({ symbol }) => symbol === intent.currency)) {
      throw refused('policy', `the policy has no ${intent.currency} on ${intent.network}`);
    }
    if (intent.kind === 'refund') {
      checkMac(intent.mac, intentMac(macKey, intent));
      return;
    }
    const { sweepOwnersMax } = chains[family].spendRules;
    const indices = new Set(intent.from.map(({ index }) => index));
    if (indices.size < intent.from.length || indices.size > sweepOwnersMax) {
      throw refused('intent', `a sweep on this network must have 1 to ${sweepOwnersMax} different addresses`);
    }
  }

  /** Checks the caps for the first signature of an intent, and returns how much it uses of them. */
  function grant({ policy: network }: Place, { intent, approval }: SignRequest, nowMs: number): Grant {
    const { hourMs, dayMs } = capWindows(nowMs);
    const since = (cap: string, ms: number) => journal.usedSince(network.key, cap, ms);
    if (intent.kind === 'refund') {
      const used = { hourUnits: since(intent.currency, hourMs), dayUnits: since(intent.currency, dayMs) };
      return grantRefund({ refund: intent, approval, network, approvers: policy.approvers, used, nowMs });
    }
    if (intent.kind === 'gas' && intent.form === 'transfer') {
      return grantGas(intent.units, network, since('gas', dayMs), chains[network.family].spendRules.nativeDecimals);
    }
    return NO_GRANT;
  }

  function sign(request: SignRequest): SignedSpend {
    const { intent, generation, attempt, terms, fence, proof } = request;
    const { id, network } = intent;
    const place = placeOf(network);
    const nowMs = clock.nowMs();
    const highest = journal.fence(network);
    checkFence(fence, highest);
    if (fence > highest) journal.raiseFence(network, fence, nowMs);
    const stored = journal.find(id, generation, attempt);
    if (stored) return stored;

    checkIntent(place, intent);
    const rules = chains[place.policy.family].spendRules;
    const nonce = nonceOf(rules.lane, terms);
    const known = journal.intent(id);
    checkOrder({ request, content: canonicalIntent(intent), known, lane: rules.lane, nonce });
    const payer = keyOf(place.wallets, rules.payer(intent));
    checkNonce(nonce, payer, request);
    const { capUse, approval } = known ? NO_GRANT : grant(place, request, nowMs);
    const signed = signChecked(place, { network: place.policy.spend, intent, terms }, payer);
    const entry = { intent, generation, attempt, proof, terms, payer, nonce, fence, capUse, approval, signed };
    journal.record({ ...entry, atMs: nowMs });
    log.info({ intent: id, network, generation, attempt, tx: signed.tx, approver: approval?.approver }, 'signed');
    return signed;
  }

  return {
    sign,
    wallets(network) {
      const place = placeOf(network);
      const { treasury } = place.policy.spend;
      return {
        refund: keyOf(place.wallets, { role: 'refund' }),
        gas: keyOf(place.wallets, { role: 'gas' }),
        treasury,
      };
    },
    addresses(network, indices) {
      const place = placeOf(network);
      return indices.map((index) => keyOf(place.wallets, { role: 'collection', index }));
    },
    journal(network, after, limit) {
      placeOf(network);
      return journal.entries(network, after, limit);
    },
    fence(network) {
      placeOf(network);
      return journal.fence(network);
    },
    close: () => void seed.fill(0),
  };
}

const isSame = (one: Wallet, other: Wallet): boolean =>
  one.role === other.role && (one.role !== 'collection' || (other.role === 'collection' && one.index === other.index));

/** @throws Fault `signer_refused_mac` */
function checkMac(given: string, expected: string): void {
  if (timingSafeEqual(Buffer.from(given, 'hex'), Buffer.from(expected, 'hex'))) return;
  throw refused(
    'mac',
    'the refund was altered after its destination was set, or created with another secret key; it will not be paid',
  );
}

/** Turns a family's faults into refusals. Other errors of its library are not quoted: they may contain a key. */
function guarded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof Fault && error.code === 'spend_intent_invalid') throw refused('intent', error.message);
    if (error instanceof Fault && error.code === 'spend_terms_invalid') throw refused('terms', error.message);
    if (error instanceof Fault && error.code === 'spend_bytes_unknown') throw refused('check', error.message);
    throw refused('terms', 'the chain’s library refused to sign these terms');
  }
}
