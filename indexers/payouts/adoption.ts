/**
 * Brings a database that was restored from a backup up to date with the signer's journal. The operator asks for it
 * after making sure that no other installation uses the signer.
 */
import type { SpendRules } from '../../src/chains/spend.ts';
import type { NetworkKey } from '../../src/core/transfer.ts';
import type { Database } from '../../src/database/database.ts';
import type { Adoption } from '../../src/database/money-out.ts';
import type { Signer } from '../../src/signer/signer.ts';

/** How many signatures are read from the signer at a time, and saved in one write transaction. */
const PAGE = 100;
/** Why an engine does nothing after the database was restored from a backup. */
export const NOT_ADOPTED = 'payouts_not_adopted';

type Parts = Readonly<{
  network: NetworkKey;
  rules: SpendRules;
  signer: Pick<Signer, 'fence' | 'journal'>;
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
 * @throws Fault those of the signer and the database
 */
export async function adoptPayouts(parts: Parts): Promise<Readonly<{ signatures: number; added: number }>> {
  const { network, rules, signer, database, nowMs, onProgress, page = PAGE } = parts;
  const servedFence = await signer.fence(network);
  let signatures = 0;
  let added = 0;
  let entries = await signer.journal(network, 0, page);
  for (let isContinued = false; ; isContinued = true) {
    const last = entries.at(-1);
    // Only the last page, which may be empty if it is the first, ends the adoption.
    const next = last ? await signer.journal(network, last.id, page) : [];
    added += await database.adopt(network, {
      signatures: entries.map((entry): Adoption => ({ ...entry, payerRole: rules.payer(entry.intent).role })),
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
