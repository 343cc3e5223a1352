/**
 * The signing service. It checks, signs, reads back, journals and answers each request before the next. All of it is
 * synchronous, so that requests cannot interleave.
 */
import { timingSafeEqual } from 'node:crypto';
import type { Family } from '../chains/chain.ts';
import { chains } from '../chains/index.ts';
import type { SignedSpend, Spending, SpendKey, SpendOrder, WalletKeys } from '../chains/spend.ts';
import { Fault } from '../core/fault.ts';
import {
  createIntentMac,
  type HotRole,
  hotRoles,
  type Intent,
  type IntentMac,
  isPayback,
  type PaybackIntent,
  type Wallet,
} from '../core/intent.ts';
import type { NetworkKey } from '../core/transfer.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { sealBackup } from './backup.ts';
import { type CapUses, capWindows, checkCount, type Grant, grantFee, grantGas, grantRefund } from './caps.ts';
import { openFreezing } from './freeze.ts';
import { type CapUse, canonicalIntent, isSameContent, type Journal } from './journal.ts';
import type { NetworkPolicy, Policy } from './policy.ts';
import type { JournalEntry, SignerWallets, SignRequest } from './protocol.ts';
import { checkFence, checkOrder, nonceOf, refused } from './rules.ts';
import { checkReading } from './self-check.ts';

type SigningServiceOptions = Readonly<{
  /** 64 bytes; wiped by `close`. */
  seed: Uint8Array;
  /** The installation's secret key, which checks the MACs of refunds. */
  secretKey: Uint8Array;
  policy: Policy;
  /** The text of `policy.json`, for backups. */
  policyText: string;
  journal: Journal;
  /** The signing halves of the policy's families. */
  spendings: ReadonlyMap<Family, Spending>;
  clock: Pick<Clock, 'nowMs'>;
  log: Log;
}>;

/** The signer without its socket. Calls are synchronous. Every refusal is a Fault. */
export type SigningService = ReturnType<typeof openSigningService>;

/** A network that the policy allows, with its family's signing half. */
type Place = Readonly<{ policy: NetworkPolicy; spending: Spending }>;

type Payer = Readonly<{ wallet: Wallet; key: string }>;

const NO_GRANT: Grant = { capUse: null, approval: null };

/** Returns the service over an open journal. */
export function openSigningService({
  seed,
  secretKey,
  policy,
  policyText,
  journal,
  spendings,
  clock,
  log,
}: SigningServiceOptions) {
  const macOf = createIntentMac(secretKey);
  const { refuseIfFrozen, ...freezing } = openFreezing({ policy, journal, clock, log });

  /** @throws Fault `signer_refused_policy` */
  function placeOf(network: NetworkKey): Place {
    const found = policy.networks.find(({ key }) => key === network);
    const spending = found && spendings.get(found.family);
    if (found && spending) return { policy: found, spending };
    throw refused(
      'policy',
      `the signer's policy has no network ${network}: run \`quayside-signer policy <network>\`, then restart the signer`,
    );
  }

  /** Address keys of refund and gas wallets, which engines request all the time. */
  const hotKeys = new Map<string, string>();
  const keyOf = (wallets: WalletKeys, wallet: Wallet): string => {
    const path = wallets.path(wallet);
    const known = hotKeys.get(path);
    if (known !== undefined) return known;
    const { key, secret } = wallets.derive(seed, wallet);
    secret.fill(0);
    if (wallet.role !== 'collection') hotKeys.set(path, key);
    return key;
  };

  /** Returns the refund or gas wallet that the policy names. */
  const current = ({ policy: { walletIndices } }: Place, role: HotRole): Wallet => ({
    role,
    index: walletIndices[role],
  });

  /**
   * Returns the wallet that pays the fee of a request. The policy names the refund and the gas wallet. The wallet must
   * be that of the transaction to replace and, for a refund with a lock, of the first generation.
   * @throws Fault `signer_refused_wallet`
   */
  function payerOf(place: Place, { intent, generation, attempt, payer: expected }: SignRequest): Payer {
    const rules = chains[place.policy.family].spendRules;
    const named = rules.payer(intent);
    const wallet = named.role === 'collection' ? named : current(place, named.role);
    const key = keyOf(place.spending, wallet);
    const signed = journal.payersOf(intent.id);
    const isLocked = rules.hasLocks === true && isPayback(intent);
    const bound = (attempt > 0 ? signed[generation] : isLocked ? signed[0] : undefined) ?? key;
    if (expected === key && bound === key) return { wallet, key };
    throw refused(
      'wallet',
      `the policy names ${key} to pay for ${intent.id} on ${intent.network}, ` +
        (bound === key
          ? `but the request expects ${expected}. The engine asks again by itself`
          : `but ${bound} has paid for it before. Let policy.json name ${bound} again until the payout has ended`),
    );
  }

  /**
   * Signs and checks an order, and wipes the keys. An order always gives the same bytes.
   * @returns with the highest fee of the transaction
   */
  function signChecked({ spending }: Place, order: SpendOrder, payer: Payer): SignedSpend & { feeUnitsMax: bigint } {
    const { intent, network } = order;
    const keys: SpendKey[] = [];
    try {
      const placed = (wallet: Wallet): Wallet =>
        wallet.role === payer.wallet.role && wallet.index === undefined ? payer.wallet : wallet;
      for (const wallet of spending.signers(intent)) keys.push(spending.derive(seed, placed(wallet)));
      const signed = guarded(() => spending.sign(order, keys));
      const reading = guarded(() => spending.read(signed.bytes, network));
      const signers = keys.map(({ key }) => key);
      const of = (wallet: Wallet) =>
        keys.find((one) => isSame(one.wallet, placed(wallet)))?.key ?? keyOf(spending, placed(wallet));
      checkReading(reading, { signed, intent, network, keys: { payer: payer.key, signers, of } });
      return { ...signed, feeUnitsMax: reading.feeUnitsMax };
    } finally {
      for (const { secret } of keys) secret.fill(0);
    }
  }

  /** @throws Fault `signer_refused_nonce` */
  function checkNonce(nonce: number | null, payer: string, { intent, generation }: SignRequest): void {
    const use = nonce === null ? null : journal.nonceUse(intent.network, payer, nonce);
    if (!use || (use.intentId === intent.id && use.generation === generation)) return;
    const text = `nonce ${nonce} of ${payer} was used for ${use.intentId} (generation ${use.generation})`;
    const adopt = `the database is behind the signer. Run \`quayside payout reconcile ${intent.network}\``;
    throw refused('nonce', `${text}: ${adopt}`);
  }

  function checkIntent({ policy: { family, spend } }: Place, intent: Intent): void {
    if (intent.kind === 'gas') return;
    if (!spend.tokens.some(({ symbol }) => symbol === intent.currency)) {
      throw refused('policy', `the policy has no ${intent.currency} on ${intent.network}`);
    }
    if (isPayback(intent)) {
      checkMac(intent, macOf);
      return;
    }
    const { sweepOwnersMax } = chains[family].spendRules;
    const indices = new Set(intent.from.map(({ index }) => index));
    if (indices.size < intent.from.length || indices.size > sweepOwnersMax) {
      throw refused('intent', `a sweep on this network must have 1 to ${sweepOwnersMax} different addresses`);
    }
  }

  function usesOf(network: NetworkKey, cap: string, nowMs: number): CapUses {
    const { hourMs, dayMs } = capWindows(nowMs);
    return { hourUnits: journal.usedSince(network, cap, hourMs), dayUnits: journal.usedSince(network, cap, dayMs) };
  }

  /** Checks the caps on amounts for a generation, and returns its use of them. */
  function grant({ policy: network }: Place, { intent, approval }: SignRequest, nowMs: number): Grant {
    if (isPayback(intent)) {
      const used = usesOf(network.key, intent.currency, nowMs);
      const usedApprovals = journal.usedApprovals(intent.id);
      return grantRefund({
        refund: intent,
        content: canonicalIntent(intent),
        approval,
        usedApprovals,
        network,
        approvers: policy.approvers,
        used,
        nowMs,
      });
    }
    if (intent.kind === 'gas' && intent.form === 'transfer') {
      const { dayUnits } = usesOf(network.key, 'gas', nowMs);
      return grantGas(intent.units, network, dayUnits, chains[network.family].spendRules.nativeDecimals);
    }
    return NO_GRANT;
  }

  /** Checks the fee of a transaction against the one that it replaces and against the caps. */
  function grantFeeOf(
    place: Place,
    { intent, generation, attempt }: SignRequest,
    units: bigint,
    nowMs: number,
  ): CapUse {
    const { key, family, feeCaps, spend } = place.policy;
    const replaced = attempt === 0 ? null : journal.find(intent.id, generation, attempt - 1);
    const replacedUnits = replaced ? guarded(() => place.spending.read(replaced.bytes, spend)).feeUnitsMax : 0n;
    if (replaced && units <= replacedUnits) {
      throw refused(
        'terms',
        `a replacement must offer a higher fee than the transaction that it replaces (at most ${replacedUnits})`,
      );
    }
    return grantFee(
      units - replacedUnits,
      feeCaps,
      usesOf(key, 'fee', nowMs),
      chains[family].spendRules.nativeDecimals,
    );
  }

  function checkCounts({ policy: { key, countCaps } }: Place, nowMs: number): void {
    const { hourMs, dayMs } = capWindows(nowMs);
    checkCount(countCaps, { hour: journal.countSince(key, hourMs), day: journal.countSince(key, dayMs) });
  }

  function sign(request: SignRequest): SignedSpend {
    const { intent, generation, attempt, terms, fence, proof } = request;
    const { id, network } = intent;
    const place = placeOf(network);
    refuseIfFrozen();
    const nowMs = clock.nowMs();
    const highest = journal.fence(network);
    checkFence(network, fence, highest);
    const content = canonicalIntent(intent);
    const known = journal.intent(id);
    const stored = journal.find(id, generation, attempt);
    if (stored) {
      // The fence rises only by a request whose intent was checked or is in the journal.
      const isChecked = known?.content === content || (isPayback(intent) && isMacRight(intent, macOf));
      if (fence > highest && known && isSameContent(known.content, content) && isChecked) {
        journal.raiseFence(network, fence, nowMs);
      }
      return stored;
    }

    checkIntent(place, intent);
    const rules = chains[place.policy.family].spendRules;
    const nonce = nonceOf(rules.lane, terms);
    checkOrder({ request, content, known, rules, nonce, nowMs });
    const payer = payerOf(place, request);
    checkNonce(nonce, payer.key, request);
    checkCounts(place, nowMs);
    const { capUse, approval } = attempt === 0 ? grant(place, request, nowMs) : NO_GRANT;
    const { feeUnitsMax, ...signed } = signChecked(place, { network: place.policy.spend, intent, terms }, payer);
    const feeUse = grantFeeOf(place, request, feeUnitsMax, nowMs);
    if (journal.hasSigned(network, signed.tx))
      throw refused(
        'duplicate',
        `the same transaction, ${signed.tx}, was signed for another request; ask with other terms`,
      );
    const capUses = capUse ? [capUse, feeUse] : [feeUse];
    const entry = {
      intent,
      generation,
      attempt,
      proof,
      terms,
      payer: payer.key,
      nonce,
      fence,
      capUses,
      approval,
      signed,
    };
    journal.record({ ...entry, atMs: nowMs });
    const approver = approval?.approver;
    log.info({ intent: id, network, generation, attempt, tx: signed.tx, approver }, 'signed');
    return signed;
  }

  return {
    ...freezing,
    sign,
    wallets(network: NetworkKey): SignerWallets {
      const place = placeOf(network);
      const { treasury, feeUnitsMax } = place.policy.spend;
      const [refund, gas] = hotRoles.map((role) => keyOf(place.spending, current(place, role))) as [string, string];
      return { refund, gas, treasury, feeUnitsMax };
    },
    addresses(network: NetworkKey, indices: readonly number[]): string[] {
      const place = placeOf(network);
      return indices.map((index) => keyOf(place.spending, { role: 'collection', index }));
    },
    refundLock(network: NetworkKey, id: string): string {
      const place = placeOf(network);
      const { spending } = place;
      if (!spending.refundLock) throw refused('request', `refunds have no lock on ${network}`);
      const payer = spending.derive(seed, current(place, 'refund'));
      try {
        return spending.refundLock(payer, id);
      } finally {
        payer.secret.fill(0);
      }
    },
    journal(network: NetworkKey, after: number, limit: number): JournalEntry[] {
      placeOf(network);
      return journal.entries(network, after, limit);
    },
    fence(network: NetworkKey): number {
      placeOf(network);
      return journal.fence(network);
    },
    /** Makes an encrypted backup. */
    backup: () => sealBackup(seed, { policy: policyText, journal, madeAtMs: clock.nowMs() }),
    /** Wipes the seed. */
    close: () => void seed.fill(0),
  };
}

const isSame = (one: Wallet, other: Wallet): boolean =>
  one.role === other.role && (one.index ?? 0) === (other.index ?? 0);

function isMacRight(intent: PaybackIntent, macOf: IntentMac): boolean {
  const given = Buffer.from(intent.mac);
  const expected = Buffer.from(macOf(intent));
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** @throws Fault `signer_refused_mac` */
function checkMac(intent: PaybackIntent, macOf: IntentMac): void {
  if (isMacRight(intent, macOf)) return;
  throw refused(
    'mac',
    'the refund was altered after its destination was set, or created with a secret key that the signer does not have. It ' +
      'will not be paid. After `quayside secret-key rotate`, give the signer the new key file and restart it',
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
