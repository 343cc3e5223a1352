/**
 * Makes the certificate of a range of final blocks: reads them again from the node, compares them with the database,
 * and signs what was found.
 *
 * Balances come first, because a node keeps the state of the range's last block for minutes only. Then the payouts,
 * then the blocks, part by part; nothing but sums stays in memory.
 *
 * @module
 */
import type { Node } from '../../src/chains/chain.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import type { BlockRef } from '../../src/core/block.ts';
import { permanent, transient } from '../../src/core/fault.ts';
import type { Database } from '../../src/database/database.ts';
import type { NumberRange } from '../../src/database/evidence.ts';
import { type Archive, dropDraft, type Kept } from '../../src/evidence/archive.ts';
import { type ListWriter, openListWriter } from '../../src/evidence/block-list.ts';
import { type Certificate, FORMAT } from '../../src/evidence/certificate.ts';
import type { SigningKey } from '../../src/evidence/signing-key.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { Watch } from '../follower/address-watch.ts';
import { rangeFrom } from '../follower/after-gap.ts';
import { createIdentityProof } from '../follower/identity.ts';
import type { Matcher } from '../follower/matcher.ts';
import { patiently, readChainRange } from '../follower/range-reader.ts';
import { readBalances, whyLeftOut } from './balances.ts';
import { compareBlocks } from './comparison.ts';
import { createDifferenceList, type Difference } from './difference.ts';
import { checkPayouts } from './payouts.ts';

/** How long a node may fail before the certificate is given up. */
const PATIENCE_MS = 600_000;

export type EvidenceParts = Readonly<{
  network: NetworkConfig;
  node: Node;
  matcher: Pick<Matcher, 'match'>;
  watch: Watch;
  database: Pick<
    Database,
    'listNetworks' | 'listGaps' | 'firstBlockFrom' | 'recordedRange' | 'holders' | 'accounts' | 'settledPayouts'
  >;
  archive: Archive;
  key: SigningKey;
  /** Whether this installation's signer sweeps the network's deposit addresses. */
  hasSigner: boolean;
  /** This program's version. */
  release: string;
  clock: Clock;
  /** Waits between two parts, so that others get their turn. @param tookMs how long the part took */
  rest(tookMs: number, signal?: AbortSignal): Promise<void>;
  onProgress?(number: number, range: NumberRange): void;
  patienceMs?: number;
}>;

type Ends = Readonly<{ first: BlockRef; last: BlockRef }>;

/**
 * Returns the range that comes next: from the block after the last certificate, or from a day ago, to the last final
 * block that was read. Null if there is none.
 * @param blocksMax the range has at most so many numbers
 */
export async function nextRange(
  { network, database, archive }: Pick<EvidenceParts, 'network' | 'database' | 'archive'>,
  blocksMax: number,
): Promise<NumberRange | null> {
  const to = await finalNumber({ network, database });
  if (to === null) return null;
  const before = archive.latest();
  const dayAgo = Math.max(0, to - Math.ceil(DAY_MS / network.blockTimeMs));
  const from = before ? before.certificate.certified_through + 1 : await database.firstBlockFrom(network.key, dayAgo);
  return from === null || from > to ? null : { from, to: Math.min(to, from + blocksMax - 1) };
}

const DAY_MS = 86_400_000;

/** Returns the highest number that was read and is final; null before the first. */
async function finalNumber({ network, database }: Pick<EvidenceParts, 'network' | 'database'>): Promise<number | null> {
  const status = (await database.listNetworks()).find((one) => one.network === network.key);
  if (!status?.cursor) return null;
  return status.floor > 0 ? Math.min(status.floor, status.cursor.number) : null;
}

/**
 * Makes a certificate and keeps it.
 * @throws Fault permanent `usage` if the range is not final yet; `evidence_stopped` when the signal aborts; transient
 * `node_*` if the node fails for ten minutes
 */
export async function makeCertificate(parts: EvidenceParts, range: NumberRange, signal?: AbortSignal): Promise<Kept> {
  const { network, archive, clock } = parts;
  const final = await finalNumber(parts);
  if (final === null || range.to > final) {
    const known = final === null ? 'no block is final yet' : `the last final block is ${final}`;
    throw permanent('usage', `block ${range.to} of ${network.key} is not final: ${known}`);
  }
  const identity = createIdentityProof(network, parts.node, clock);
  await inPatience(parts, signal)(() => identity.renew(0, final));
  await parts.watch.load(true);
  const ends = await readEnds(parts, range, signal);
  const differences = createDifferenceList();
  differences.add(checkBeginning(archive, range, ends.first));
  differences.add(await openGaps(parts, range));
  const open = { list: openListWriter(archive.draftFile) };
  try {
    const balances = await addBalances(parts, range, ends, open, differences.add, signal);
    await addPayouts(parts, range, ends, open.list, differences.add, signal);
    const stored = await addBlocks(parts, range, final, open.list, differences.add, signal);
    const totals = await open.list.close();
    const { first, last } = totals;
    if (!first || !last) throw permanent('usage', `${network.key} has no block from ${range.from} to ${range.to}`);
    checkEnd(range, ends.last, last);
    const found = differences.all();
    const { addresses, onChain: on_chain, inLedger: in_ledger } = totals;
    return archive.keep(
      {
        format: FORMAT,
        release: parts.release,
        network: network.key,
        chain_id: network.chainId,
        node: new URL(network.url).host,
        made_at: new Date(clock.nowMs()).toISOString(),
        range: { ...range, blocks: totals.blocks, first, last },
        stored_blocks: stored,
        transfers: totals.transfers,
        payouts: totals.payouts,
        balances: balances.state === 'read' ? { ...balances, addresses, on_chain, in_ledger } : balances,
        list: totals.list,
        differences: found,
        result: found.count === 0 ? 'complete' : 'differences',
      },
      parts.key,
    );
  } catch (error) {
    open.list.abandon();
    dropDraft(archive);
    throw error;
  }
}

const inPatience =
  ({ clock, patienceMs = PATIENCE_MS }: EvidenceParts, signal?: AbortSignal) =>
  <T>(read: () => Promise<T>): Promise<T> =>
    patiently({ clock, patienceMs }, signal, read);

/**
 * Returns the blocks at the ends, or the next ones above them where these numbers have none.
 * @throws Fault transient `node_block_missing` if the node has lost the beginning
 */
async function readEnds(parts: EvidenceParts, { from, to }: NumberRange, signal?: AbortSignal): Promise<Ends> {
  const { node } = parts;
  const at = inPatience(parts, signal);
  const [first] = await at(() => rangeFrom(node, from, from));
  const [last] = await at(() => node.range(to, to));
  if (first && last) return { first, last };
  throw transient('node_range_broken', `${parts.network.key}: the node has no block from ${from} or from ${to} on`);
}

/** Compares the block below the range with the last one that was certified, if that is the one. */
function checkBeginning(archive: Archive, { from }: NumberRange, first: BlockRef): Difference[] {
  const before = archive.latest()?.certificate;
  if (!before || before.range.to + 1 !== from || before.range.last.hash === first.parent) return [];
  const { number, hash } = before.range.last;
  const message = `block ${first.number} names ${first.parent} as its parent, but certificate ${before.sequence} ends with block ${number} ${hash}: blocks that were final have been replaced, or the node is on another chain`;
  return [{ code: 'certified_block_replaced', message }];
}

/** Returns the blocks of the range that were skipped and not read since: nothing is credited in them. */
async function openGaps({ network, database }: EvidenceParts, range: NumberRange): Promise<Difference[]> {
  const gaps = await database.listGaps(network.key);
  return gaps
    .filter(({ from, to, closedAtMs }) => closedAtMs === null && from <= range.to && to >= range.from)
    .map(({ from, to, because }) => ({
      code: 'gap_open',
      message:
        `blocks ${from} to ${to} were skipped (${because}) and payments in them are not covered: ` +
        `\`quayside networks reread ${network.key} --from ${from} --to ${to}\``,
    }));
}

/** @throws Fault transient `node_block_missing` if what is above the range does not follow what was read last */
function checkEnd({ to }: NumberRange, above: BlockRef, last: Certificate['range']['last']): void {
  const expected = above.number > to ? above.parent : above.hash;
  if (last.hash === expected) return;
  throw transient(
    'node_block_missing',
    `the last block up to ${to} that the node returned is ${last.number} ${last.hash}, but ${expected} is the one before block ${above.number}: it has lost blocks`,
  );
}

type AddDifferences = ReturnType<typeof createDifferenceList>['add'];
type Read = Extract<Certificate['balances'], { state: 'read' }>;
type Balances =
  | Pick<Read, 'state' | 'from_block' | 'to_block' | 'swept_by'>
  | Extract<Certificate['balances'], { state: 'left_out' }>;

/** Adds all balances or, if the node does not have the state, none; the list is begun again then. */
async function addBalances(
  parts: EvidenceParts,
  range: NumberRange,
  { first, last }: Ends,
  open: { list: ListWriter },
  add: AddDifferences,
  signal?: AbortSignal,
): Promise<Balances> {
  const own = createDifferenceList();
  const patient = { ...parts, patiently: inPatience(parts, signal) };
  let [from, to] = [last.number, last.number];
  let isFirst = true;
  try {
    for await (const page of readBalances(patient, { ...range, fromMs: first.timeS * 1000 }, last)) {
      throwIfStopped(signal);
      for (const line of page.lines) await open.list.write(line);
      own.add(page.differences);
      from = isFirst ? page.states.from : Math.min(from, page.states.from);
      to = Math.max(isFirst ? 0 : to, page.states.to);
      isFirst = false;
    }
  } catch (error) {
    const why = whyLeftOut(error);
    if (why === null) throw error;
    open.list.abandon();
    open.list = openListWriter(parts.archive.draftFile);
    return { state: 'left_out', why };
  }
  const found = own.all();
  add(found.listed, found.count);
  return { state: 'read', from_block: from, to_block: to, swept_by: parts.hasSigner ? 'signer' : 'elsewhere' };
}

async function addPayouts(
  parts: EvidenceParts,
  range: NumberRange,
  { first, last }: Ends,
  list: ListWriter,
  add: AddDifferences,
  signal?: AbortSignal,
): Promise<void> {
  const times = { ...range, fromMs: first.timeS * 1000, toMs: last.timeS * 1000 };
  for await (const { line, differences } of checkPayouts({ ...parts, patiently: inPatience(parts, signal) }, times)) {
    throwIfStopped(signal);
    if (line) await list.write(line);
    add(differences);
  }
}

/** @returns how many of the blocks the database still has */
async function addBlocks(
  parts: EvidenceParts,
  range: NumberRange,
  final: number,
  list: ListWriter,
  add: AddDifferences,
  signal?: AbortSignal,
): Promise<number> {
  const { network, database, clock, patienceMs = PATIENCE_MS } = parts;
  const creditedThrough = final - network.reorgDepthMax;
  let stored = 0;
  let nextNumber = range.from;
  let startedMs = clock.nowMs();
  for await (const part of readChainRange({ ...parts, patienceMs }, range.from, range.to, signal)) {
    throwIfStopped(signal);
    const recorded = await database.recordedRange(network.key, { from: nextNumber, to: part.throughNumber });
    const compared = compareBlocks(network, part.blocks, recorded, creditedThrough);
    for (const line of compared.lines) await list.write(line);
    add(compared.differences);
    stored += compared.stored;
    nextNumber = part.throughNumber + 1;
    parts.onProgress?.(part.throughNumber, range);
    await parts.rest(clock.nowMs() - startedMs, signal);
    startedMs = clock.nowMs();
  }
  throwIfStopped(signal);
  return stored;
}

function throwIfStopped(signal?: AbortSignal): void {
  if (signal?.aborted) throw transient('evidence_stopped', 'stopped before the certificate was complete');
}
