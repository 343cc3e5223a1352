/**
 * Saves raw requests and answers for a bug report: one folder for each case, bounded in number and size. Nothing that a
 * node's URL holds besides its host is written, not even where a node repeats it.
 * @module
 */
import { accessSync, constants, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Exchange } from '../../src/chains/chain.ts';
import type { BlockRef } from '../../src/core/block.ts';
import { permanent } from '../../src/core/fault.ts';

const CASES_MAX = 200;
const CASES_PER_CODE_MAX = 20;
const EXCHANGES_MAX = 500;
const BYTES_MAX = 256 * 1024 * 1024;
/** Shorter parts of a path are names such as `rpc` or `v3`. */
const SECRET_CHARS_MIN = 12;
const CENSOR = '***';

/** `about`: what is known of it, as JSON. */
export type Case = Readonly<{
  code: string;
  block: BlockRef | null;
  about: Readonly<Record<string, unknown>>;
  exchanges: readonly Exchange[];
}>;

export type EvidenceReport = Readonly<{
  folder: string | null;
  saved: number;
  skipped: number;
  problem: string | null;
}>;

export type Evidence = Readonly<{
  /** Saves a case, unless there is no folder or a limit is reached. @returns the name of its folder, or null */
  save(found: Case): string | null;
  /** Takes the secrets of the nodes' URLs out of a message. */
  censor(text: string): string;
  report(): EvidenceReport;
}>;

/**
 * @param folder null: nothing is saved
 * @param urls those of the nodes, whose secrets are replaced wherever they occur
 * @param startedAtMs distinguishes the cases of several runs
 * @throws Fault permanent `usage` if the folder cannot be written
 */
export function openEvidence(folder: string | null, urls: readonly string[], startedAtMs: number): Evidence {
  const secrets = urls.flatMap(secretsOf);
  const run = new Date(startedAtMs).toISOString().slice(0, 19).replaceAll(':', '');
  const perCode = new Map<string, number>();
  let saved = 0;
  let skipped = 0;
  let bytes = 0;
  let problem: string | null = null;
  if (folder !== null) prepare(folder);

  function write(path: string, content: Uint8Array): void {
    writeFileSync(path, censor(content, secrets));
  }

  function saveCase(into: string, name: string, { about, block, exchanges }: Case): void {
    const path = join(into, name);
    mkdirSync(path);
    write(join(path, 'about.json'), Buffer.from(`${JSON.stringify({ ...about, block }, writable, 2)}\n`));
    for (const [at, { request, answer }] of exchanges.slice(0, EXCHANGES_MAX).entries()) {
      write(join(path, `${at + 1}-request.txt`), Buffer.from(request));
      if (answer) write(join(path, `${at + 1}-answer.txt`), answer);
    }
  }

  return {
    save(found) {
      if (folder === null) return null;
      const { code, exchanges } = found;
      const size = exchanges.reduce((sum, { request, answer }) => sum + request.length + (answer?.byteLength ?? 0), 0);
      const before = perCode.get(code) ?? 0;
      if (saved >= CASES_MAX || before >= CASES_PER_CODE_MAX || bytes + size > BYTES_MAX) {
        skipped += 1;
        return null;
      }
      const name = `${run}-${String(saved + 1).padStart(4, '0')}-${code}`;
      try {
        saveCase(folder, name, found);
      } catch (error) {
        problem = error instanceof Error ? error.message : String(error);
        skipped += 1;
        return null;
      }
      perCode.set(code, before + 1);
      saved += 1;
      bytes += size;
      return name;
    },
    censor: (text) => censor(Buffer.from(text), secrets).toString(),
    report: () => ({ folder, saved, skipped, problem }),
  };
}

function prepare(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
  } catch (error) {
    const why = error instanceof Error ? error.message : error;
    throw permanent('usage', `--save is "${folder}", which is not a folder that can be written: ${why}`, error);
  }
}

const writable = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value);

/** Returns the parts of a URL that may be credentials, as written and decoded. */
function secretsOf(text: string): string[] {
  const url = new URL(text);
  const parts = [
    url.username,
    url.password,
    ...[...url.searchParams.values()],
    ...url.pathname.split('/').filter((part) => part.length >= SECRET_CHARS_MIN),
  ];
  return parts.flatMap((part) => (part === '' ? [] : [part, decoded(part)]));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function censor(content: Uint8Array, secrets: readonly string[]): Buffer {
  const buffer = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  if (!secrets.some((secret) => buffer.includes(secret))) return buffer;
  return Buffer.from(secrets.reduce((text, secret) => text.replaceAll(secret, CENSOR), buffer.toString()));
}
