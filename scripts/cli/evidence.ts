/**
 * Certificates that nothing was missed: makes and verifies them, and shows the key that signs them.
 * @module
 */
import { copyFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { reportCertificates } from '../../indexers/evidence/alarms.ts';
import { makeCertificate, nextRange } from '../../indexers/evidence/maker.ts';
import { openEvidence } from '../../indexers/evidence/open.ts';
import { coinText } from '../../src/chains/coin-text.ts';
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { listFileOf } from '../../src/evidence/archive.ts';
import { BLOCKS_MAX, type Certificate } from '../../src/evidence/certificate.ts';
import { openSigningKey } from '../../src/evidence/signing-key.ts';
import { spanText, verifyEvidence } from '../../src/evidence/verify.ts';
import {
  type Answer,
  type Command,
  type Input,
  notFound,
  type OfflineCommand,
  textOption,
  usage,
  wholeOption,
} from './command.ts';
import { networkOf } from './network-name.ts';
import { openProgressLine } from './progress.ts';

const NUMBER_MAX = Number.MAX_SAFE_INTEGER;
const SHOWN_MAX = 20;

export const evidence: Command = {
  name: 'evidence',
  args: ['network'],
  summary: 'Prove that nothing was missed in a range of final blocks: read it again and sign what was found.',
  options: {
    from: { value: 'BLOCK', help: 'the first block (default: the one after the last certificate, or a day ago)' },
    to: { value: 'BLOCK', help: 'the last block (default: the last final one)' },
    out: { value: 'FILE', help: 'also copy the certificate to this file, and its list beside it' },
  },
  notes: [
    'The certificate is kept in data/evidence/, and each has the hash of the one before it. Exit code 1 if the database',
    'and the chain differ. Every block is read from the node again: a day takes minutes, of Solana more than an hour.',
  ],
  needsSandbox: true,
  async run(input, installation) {
    const { config, database, clock } = installation;
    const network = networkOf(installation.config.networks, input.args[0] ?? '');
    const hasSigner = config.signer !== null;
    const { dataDir } = config;
    const open = await openEvidence({ network, chain: chains[network.family], database, dataDir, hasSigner, clock });
    const line = openProgressLine(process.stderr);
    try {
      const parts = {
        ...open,
        rest: async () => {},
        onProgress: (number: number, { from, to }: Range) =>
          line.show(`block ${number}, ${to - number} of ${to - from + 1} to go`),
      };
      const range = await rangeOf(input, parts);
      const { certificate, file } = await makeCertificate(parts, range);
      await reportCertificates({ network, database, archive: open.archive, clock });
      const out = textOption(input, 'out');
      if (out !== undefined) copy(file, resolve(input.cwd, out));
      return answerOf(certificate, file, config.networks);
    } finally {
      line.end();
      await open.close();
    }
  },
};

type Range = Readonly<{ from: number; to: number }>;

async function rangeOf(input: Input, parts: Parameters<typeof nextRange>[0]): Promise<Range> {
  const next = await nextRange(parts, BLOCKS_MAX);
  const given = (name: string) => textOption(input, name) !== undefined;
  if (!next && !(given('from') && given('to'))) {
    throw usage(`${parts.network.key} has no final block that no certificate has: name a range with --from and --to`);
  }
  const from = wholeOption(input, 'from', 0, NUMBER_MAX, next?.from ?? 0);
  const to = wholeOption(input, 'to', from, NUMBER_MAX, next?.to ?? from);
  if (to - from >= BLOCKS_MAX)
    throw usage(`--from ${from} --to ${to} are more than ${BLOCKS_MAX} blocks: make several`);
  return { from, to };
}

function copy(file: string, to: string): void {
  copyFileSync(file, to);
  copyFileSync(listFileOf(file), listFileOf(to));
}

function answerOf(certificate: Certificate, file: string, networks: readonly NetworkConfig[]): Answer {
  const { network, sequence, range, transfers, payouts, balances, differences, stored_blocks: stored } = certificate;
  const sums = (all: Readonly<Record<string, string>>): string =>
    Object.entries(all)
      .map(([asset, units]) => coinText(networks, network, asset as 'USDT' | 'native', BigInt(units)))
      .join(', ') || 'none';
  const { listed, count } = differences;
  return {
    json: { file, certificate },
    lines: [
      `${network}: certificate ${sequence} of blocks ${range.from} to ${range.to}`,
      `blocks: ${range.blocks}, linked by parent hashes; ${stored} of them still in the database`,
      `transfers to our addresses: ${transfers.count} (${sums(transfers.units)}), ${transfers.unconfirmed} not credited yet, ${transfers.dust} dust`,
      `payouts: ${payouts.count} (${sums(payouts.units)})`,
      balances.state === 'read'
        ? `balances at block ${spanText(balances)}: ${balances.addresses} address(es), ${sums(balances.on_chain)} on the chain, ${sums(balances.in_ledger)} by the ledger`
        : `balances: left out, ${balances.why}`,
      `file: ${file}`,
      '',
      ...(count === 0 ? ['complete: the chain and the database agree'] : [`${count} DIFFERENCE(S):`]),
      ...listed.slice(0, SHOWN_MAX).map(({ code, message }) => `  ${code}: ${message}`),
      ...(count > SHOWN_MAX ? [`  and ${count - Math.min(SHOWN_MAX, listed.length)} more`] : []),
    ],
    isBad: count > 0,
  };
}

export const evidenceVerify: OfflineCommand = {
  name: 'evidence verify',
  args: ['file'],
  summary: 'Check a certificate: signature, canonical form, chain, parent links and sums. Needs no installation.',
  options: {
    previous: { value: 'FILE', help: 'the certificate before it (default: the file with the number before)' },
    key: { value: 'HEX', help: 'the public key that must have signed it' },
  },
  notes: ['Exit code 0 if all is well, 1 if anything is wrong or the certificate itself has differences.'],
  async runOffline(input) {
    const file = resolve(input.cwd, input.args[0] ?? '');
    const previous = textOption(input, 'previous');
    const publicKey = textOption(input, 'key');
    const found = await verifyEvidence({
      file,
      ...(previous !== undefined && { previous: resolve(input.cwd, previous) }),
      ...(publicKey !== undefined && { publicKey }),
    }).catch(refuseMissing);
    const { certificate, proved, unproved, problems } = found;
    const { network, sequence, range, public_key, made_at } = certificate;
    const list = (title: string, all: readonly string[]) =>
      all.length ? ['', title, ...all.map((one) => `  ${one}`)] : [];
    return {
      json: { valid: problems.length === 0, network, sequence, range, public_key, made_at, proved, unproved, problems },
      lines: [
        `${network}: certificate ${sequence} of blocks ${range.from} to ${range.to}, made ${made_at}`,
        ...list('Proved:', proved),
        ...list('Not proved:', unproved),
        ...list('PROBLEMS:', problems),
        '',
        problems.length === 0 ? 'valid: no difference, no problem' : 'NOT VALID, or not complete',
      ],
      isBad: problems.length > 0,
    };
  },
};

function refuseMissing(error: unknown): never {
  if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'EISDIR')) {
    throw notFound(`no such file: ${'path' in error ? error.path : error.message}`);
  }
  throw error;
}

export const evidenceKey: Command = {
  name: 'evidence key',
  args: [],
  summary: 'Show the public key of this installation, with which its certificates are verified.',
  options: {},
  async run(_input, { config }) {
    const { publicKey } = openSigningKey(config.dataDir);
    return { json: { public_key: publicKey }, lines: [publicKey] };
  },
};
