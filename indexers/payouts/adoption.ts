/**
 * Brings a database that was restored from a backup up to date with the signer's journal. The operator asks for it
 * after making sure that no other installation uses the signer.
 * @module
 */
import type { SpendRules } from '../../src/chains/spend.ts';
import { permanent } from '../../src/core/fault.ts';
import type { Wallet } from '../../src/core/intent.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import type { Adoption } from '../../src/database/money-out.ts';
import type { JournalEntry, Signer, SignerWallets } from '../../src/signer/signer.ts';

/** How many signatures are read from the signer at a time, and saved in one write transaction. */
const PAGE = 100;
/** Why an engine does nothing after the database was restored from a backup. */
export const NOT_ADOPTED = 'payouts_not_adopted';

type Parts = Readonly<{
  network: NetworkKey;
  rules: SpendRules;
  signer: Pick<Signer, 'fence' | 'journal' | 'wallets' | 'addresses'>;
  database: Pick<Database, 'adopt'>;
  nowMs: number;
  /** Called with the number of signatures that were compared so far. */
  onProgress?: (signatures: number) => void;
  /** Instead of 100 signatures in a page. */
  page?: number;
}>;

/**
 * Adopts the network's journal, page by page. Interrupted, it leaves payouts stopped until another call finishes it.
 * @returns how many signatures the signer has made on the network, and how many attempts were added for them
 * @throws Fault permanent `signer_refused_address`; faults of the signer and the database
 */
export async function adoptPayouts(parts: Parts): Promise<Readonly<{ signatures: number; added: number }>> {
  const { network, signer, database, nowMs, onProgress, page = PAGE } = parts;
  const servedFence = await signer.fence(network);
  const own = await signer.wallets(network);
  let signatures = 0;
  let added = 0;
  let entries = await signer.journal(network, 0, page);
  for (let isContinued = false; ; isContinued = true) {
    const last = entries.at(-1);
    // Only the last page, which may be empty if it is the first, ends the adoption.
    const next = last ? await signer.journal(network, last.id, page) : [];
    added += await database.adopt(network, {
      signatures: await withPayers(parts, own, entries),
      ...(isContinued && { isContinued }),
      servedFence: next.length === 0 ? servedFence : null,
      nowMs,
    });
    signatures += entries.length;
    onProgress?.(signatures);
    if (next.length === 0) return { signatures, added };
    entries = next;
  }
}

/** Returns whether the signer has signed on the network what this database does not know. */
export async function isBehindSigner(
  network: NetworkKey,
  database: Pick<Database, 'listEngines'>,
  signer: Pick<Signer, 'fence' | 'journal'>,
): Promise<boolean> {
  const engine = (await database.listEngines()).find((one) => one.network === network);
  const [unknown] = await signer.journal(network, engine?.journalId ?? 0, 1);
  if (unknown || engine?.reason?.code === NOT_ADOPTED) return true;
  return (await signer.fence(network)) > (engine?.fence ?? 0);
}

/** Returns the signatures of a page with the wallets that pay their fees. */
async function withPayers(
  { network, rules, signer }: Parts,
  own: SignerWallets,
  entries: readonly JournalEntry[],
): Promise<readonly Adoption[]> {
  const wallets = entries.map(({ intent }) => rules.payer(intent));
  const indices = [...new Set(wallets.flatMap((wallet) => (wallet.role === 'collection' ? wallet.index : [])))];
  const found = indices.length > 0 ? await signer.addresses(network, indices) : [];
  const depositAddresses = new Map(indices.map((index, n) => [index, found[n]]));
  const keyOf = (wallet: Wallet): string => {
    const key = wallet.role === 'collection' ? depositAddresses.get(wallet.index ?? 0) : own[wallet.role];
    if (key) return key;
    throw permanent(
      'signer_refused_address',
      `the signer did not return all of its wallets on ${network}; run the command again`,
    );
  };
  return entries.map((entry): Adoption => {
    const wallet = rules.payer(entry.intent);
    return { ...entry, payer: entry.payer ?? keyOf(wallet), payerRole: wallet.role };
  });
}
