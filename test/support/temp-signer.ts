/**
 * A signer in a folder of its own: the real service, journal, policy and keystore, over two EVM networks, with a
 * published seed.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Family } from '../../src/chains/chain.ts';
import { evmSpending } from '../../src/chains/evm/spend.ts';
import { chains } from '../../src/chains/index.ts';
import { solanaSpending } from '../../src/chains/solana/spend.ts';
import type { Spending } from '../../src/chains/spend.ts';
import { tronSpending } from '../../src/chains/tron/spend.ts';
import { createIntentMac, type Intent, type RefundIntent, type ReturnIntent } from '../../src/core/intent.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { openLog } from '../../src/lib/log.ts';
import { type ApprovalText, type PaidThrough, paybackText } from '../../src/signer/approval.ts';
import { signerFiles } from '../../src/signer/files.ts';
import { canonicalIntent, createJournal, type Journal, openJournal } from '../../src/signer/journal.ts';
import { createKeystore, fingerprintOf, seedOf } from '../../src/signer/keystore.ts';
import { loadPolicy, type PolicySettings } from '../../src/signer/policy.ts';
import type { SignRequest } from '../../src/signer/protocol.ts';
import { makeSigner } from '../../src/signer/setup.ts';
import { openSigningService, type SigningService } from '../../src/signer/signing-service.ts';
import { type HandClock, handClock } from './hand-clock.ts';
import { refusalOf } from './refusal.ts';

/** The first test vector of BIP-39: 24 words of an entropy of zeros. */
export const mnemonic = `${'abandon '.repeat(23)}art`;
/** Its seed; each service gets a copy, which it wipes. */
export const seed = seedOf(mnemonic);
export const passphrase = 'correct horse battery staple';
export const secretKey = new Uint8Array(32).fill(5);
export const treasury = '0x71C7656EC7ab88b098defB751B7401B5f6d8976F';
export const payer = 'b'.repeat(40);

const token = (decimals: number) =>
  ({ symbol: 'USDT', address: '0xdAC17F958D2ee523a2206206994597C13D831ec7', decimals }) as const;
const network = (chainId: string, decimals: number) => ({
  family: 'evm' as const,
  chain_id: chainId,
  tokens: [token(decimals)],
  treasury,
  fee_max: '0.02',
  caps: { USDT: { transaction: '100', hour: '250', day: '600' } },
  gas_caps: { transaction: '0.01', day: '0.025' },
});

export const policySettings: PolicySettings = {
  version: 1,
  approvers: [],
  networks: { 'test:one': network('31337', 6), 'test:two': network('31338', 18) },
};

/** EIP-1559 terms whose fee is far below the policy's. */
export const terms = (nonce: number, maxFeeGwei = 20): SignRequest['terms'] => ({
  nonce: String(nonce),
  gas_limit: '65000',
  max_fee_per_gas: String(maxFeeGwei * 1_000_000_000),
  max_priority_fee_per_gas: '1000000000',
});

/** A refund as the database writes it, its MAC included. */
export function refundOf(id: string, units: bigint, more: Partial<RefundIntent> = {}): RefundIntent {
  const session = { id: 'cs_1', amount: '1.00' };
  const plain = {
    kind: 'refund',
    id,
    network: 'test:one',
    currency: 'USDT',
    to: payer,
    units,
    session,
    ...more,
  } as const;
  return { ...plain, mac: more.mac ?? createIntentMac(secretKey)(plain) };
}

/** A return of held money as the database writes it. */
export function returnOf(id: string, units: bigint, more: Partial<ReturnIntent> = {}): ReturnIntent {
  const plain = { kind: 'return', id, network: 'test:one', currency: 'USDT', to: payer, units } as const;
  const bound = { ...plain, session: { id: 'cs_1', amount: '5.00' }, held: 'late', ...more } as const;
  return { ...bound, mac: more.mac ?? createIntentMac(secretKey)(bound) };
}

/** The text that approvers sign for a refund of the first network; `place` changes what the text says about it. */
export const approvalOf = (refund: RefundIntent, place: Partial<PaidThrough> = {}): ApprovalText =>
  paybackText(refund, canonicalIntent(refund), { family: 'evm', chainId: '31337', token: token(6), ...place });

const spendings = { evm: evmSpending, tron: tronSpending, solana: solanaSpending };
const families: Readonly<Record<string, keyof typeof spendings>> = { 'test:tron': 'tron', 'test:solana': 'solana' };

/** Returns the first wallet of the role that pays for an intent. */
function firstPayerOf(intent: Intent): string {
  const family = families[intent.network] ?? 'evm';
  return spendings[family].derive(seed, chains[family].spendRules.payer(intent)).key;
}

/** The first attempt of an intent. */
export const firstOf = (intent: Intent, nonce: number, more: Partial<SignRequest> = {}): SignRequest => ({
  fence: 1,
  intent,
  generation: 0,
  attempt: 0,
  proof: null,
  terms: terms(nonce),
  approval: null,
  payer: firstPayerOf(intent),
  ...more,
});

/** 12.5 USDT in the base units of `test:one`. */
export const usdt = (whole: number): bigint => BigInt(Math.round(whole * 100)) * 10_000n;

export type SignerFolder = Readonly<{ dir: string; remove(): void }>;

/**
 * Makes a folder with everything that `signer init` creates; slow because of scrypt, so only where a program needs it.
 */
export function makeSignerFolder(settings: PolicySettings = policySettings, withKeystore = true): SignerFolder {
  const dir = mkdtempSync(join(tmpdir(), 'quayside-signer-'));
  const files = signerFiles(dir);
  if (withKeystore) createKeystore(files.keystore, seed, Buffer.from(passphrase));
  createJournal(files.journal, fingerprintOf(seed));
  writeFileSync(files.policy, JSON.stringify(settings), { mode: 0o600 });
  return { dir, remove: () => rmSync(dir, { recursive: true, force: true }) };
}

/**
 * Makes the signer of an installation in `home`.
 * @returns its settings
 */
export function makeSignerIn(
  home: string,
  ownSeed: Uint8Array,
  networks: PolicySettings['networks'],
  approvers: PolicySettings['approvers'] = [],
) {
  const [dir, file] = [join(home, 'signer'), join(home, 'passphrase')];
  makeSigner(dir, ownSeed, Buffer.from(passphrase), { version: 1, approvers, networks });
  writeFileSync(file, passphrase, { mode: 0o600 });
  return { dir, unlock: { file } };
}

export type OpenSigningService = Readonly<{ service: SigningService; journal: Journal; close(): void }>;

/** Parts that a test replaces; `wrap` takes the journal. */
export type SignerParts = Readonly<{
  wrap?: (journal: Journal) => Journal;
  spendings?: ReadonlyMap<Family, Spending>;
  key?: Uint8Array;
}>;

/** Opens the service of a folder, as the program does at its start. */
export function openSigningServiceIn(
  dir: string,
  clock: Pick<Clock, 'nowMs'>,
  { wrap = (journal) => journal, spendings = new Map([['evm', evmSpending]]), key = secretKey }: SignerParts = {},
): OpenSigningService {
  const files = signerFiles(dir);
  const journal = openJournal(files.journal);
  const service = openSigningService({
    seed: new Uint8Array(seed),
    secretKey: key,
    policyText: readFileSync(files.policy, 'utf8'),
    policy: loadPolicy(files.policy),
    journal: wrap(journal),
    spendings,
    clock,
    log: openLog('test', 'silent'),
  });
  return {
    service,
    journal,
    close() {
      service.close();
      journal.close();
    },
  };
}

const made = new Set<() => void>();

/** Ends and removes every signer that `newSigner` has made. */
export function removeSigners(): void {
  for (const remove of made) remove();
  made.clear();
}

/** Makes a signer in a folder of its own, until `removeSigners` is called. */
export function newSigner({
  settings = policySettings,
  clock = handClock(),
  ...parts
}: SignerParts & Readonly<{ settings?: PolicySettings; clock?: HandClock }> = {}) {
  const { dir, remove } = makeSignerFolder(settings, false);
  let opened = openSigningServiceIn(dir, clock, parts);
  made.add(() => {
    opened.close();
    remove();
  });
  const sign = (request: SignRequest) => opened.service.sign(request);
  return {
    dir,
    clock,
    sign,
    service: () => opened.service,
    journal: () => opened.journal,
    /** Returns the rule that refuses a request; `none` if it is signed. */
    refusal: (request: SignRequest) => ruleOf(() => sign(request)),
    restart(other: SignerParts = parts): void {
      opened.close();
      opened = openSigningServiceIn(dir, clock, other);
    },
  };
}

/** Returns the rule of the signer that refuses something; `none` if it is not refused. */
export const ruleOf = (work: () => unknown): string => refusalOf(work).replace('signer_refused_', '');
