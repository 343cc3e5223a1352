/**
 * Brings a database that was restored from a backup up to date with the signer's journal. The operator runs it after
 * making sure that no other installation uses the signer.
 * @module
 */
import type { SpendRules } from '../../src/chains/spend.ts';
import { permanent } from '../../src/core/fault.ts';
import type { Wallet } from '../../src/core/intent.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import type { Adoption } from '../../src/database/money-out.ts';
import type { JournalEntry, Signer } from '../../src/signer/signer.ts';

const PAGE = 100;

/** Returns how many signatures the signer has made on the network, and how many attempts were added for them. */
export async function adoptPayouts(
  parts: Readonly<{
    network: NetworkKey;
    rules: SpendRules;
    signer: Signer;
    database: Pick<Database, 'adopt'>;
    nowMs: number;
  }>,
): Promise<Readonly<{ signatures: number; added: number }>> {
  const { network, rules, signer, database, nowMs } = parts;
  const servedFence = await signer.fence(network);
  const entries = await wholeJournal(network, signer);
  const keys = await walletKeys(
    network,
    signer,
    entries.map(({ intent }) => rules.payer(intent)),
  );
  const signatures = entries.map((entry): Adoption => {
    const payer = rules.payer(entry.intent);
    return { ...entry, payer: keys(payer), payerRole: payer.role };
  });
  const added = await database.adopt(network, { signatures, servedFence, nowMs });
  return { signatures: signatures.length, added };
}

async function wholeJournal(network: NetworkKey, signer: Signer): Promise<JournalEntry[]> {
  const entries: JournalEntry[] = [];
  for (;;) {
    const page = await signer.journal(network, entries.at(-1)?.id ?? 0, PAGE);
    if (page.length === 0) return entries;
    entries.push(...page);
  }
}

async function walletKeys(
  network: NetworkKey,
  signer: Signer,
  wallets: readonly Wallet[],
): Promise<(wallet: Wallet) => string> {
  const own = await signer.wallets(network);
  const indices = [...new Set(wallets.flatMap((wallet) => (wallet.role === 'collection' ? wallet.index : [])))];
  const depositAddresses = new Map<number, string>();
  for (let at = 0; at < indices.length; at += PAGE) {
    const page = indices.slice(at, at + PAGE);
    const found = await signer.addresses(network, page);
    for (const [n, index] of page.entries()) depositAddresses.set(index, found[n] ?? '');
  }
  return (wallet) => {
    const key = wallet.role === 'collection' ? depositAddresses.get(wallet.index) : own[wallet.role];
    if (key) return key;
    throw permanent(
      'signer_refused_address',
      `the signer did not return all of its wallets on ${network}; run the command again`,
    );
  };
}
