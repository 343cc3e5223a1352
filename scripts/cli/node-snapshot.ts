/**
 * Fetches a node's database from a publisher, so that it need not read the whole chain.
 * @module
 */
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { systemClock } from '../../src/lib/clock.ts';
import { readRoom } from '../nodes/disk-forecast.ts';
import { type Checksum, fetchSnapshot, findChecksum, readChecksum, type SnapshotProgress } from '../nodes/snapshot.ts';
import { roughly } from '../nodes/sync-estimate.ts';
import { type Input, type OfflineCommand, textOption, usage, wholeOption } from './command.ts';
import { openProgressLine } from './progress.ts';

const GIB = 1 << 30;
const MIB = 1 << 20;
const STRIP_MAX = 8;

export const nodeSnapshot: OfflineCommand = {
  name: 'node snapshot',
  args: ['url'],
  summary: 'Download a node’s database, check it, and unpack it while it arrives.',
  options: {
    into: { value: 'DIR', help: 'the data folder that is made of it; must not exist, or be empty' },
    strip: { value: 'N', help: 'leave out so many leading folders of each path (0)' },
    sha256: { value: 'HEX', help: 'what the publisher says its SHA-256 is' },
    md5: { value: 'HEX', help: 'what the publisher says its MD5 is: shows damage, keeps no attacker out' },
    'without-checksum': { help: 'accept a file for which no checksum is found' },
  },
  notes: [
    'Formats: .tar, .tar.gz, .tgz, .tar.zst (needs zstd), .tar.lz4 (needs lz4). Without --sha256 and --md5, looks for',
    'URL.sha256, .sha256sum, .md5sum and .md5. A connection that is cut goes on where it was, if the server can; a command',
    'that is ended starts again. Only files and folders are unpacked: anything else in the archive is refused.',
    'Exit codes: 0 the folder is complete; 1 it is not there, and nothing was kept; 2 wrong usage.',
  ],
  async runOffline(input) {
    const url = String(input.args[0]);
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
      throw usage('the URL is not http:// or https://');
    const into = textOption(input, 'into');
    if (into === undefined) throw usage('--into is missing: the data folder of the node');
    const folder = resolve(input.cwd, into);
    const strip = wholeOption(input, 'strip', 0, STRIP_MAX, 0);
    const checksum = await readOrFind(input, url);
    const disk = existing(folder);
    const progress = openProgressLine(process.stderr);
    try {
      const readFree = async () => (await readRoom(disk, systemClock.nowMs())).freeBytes;
      const onProgress = (now: SnapshotProgress) => progress.show(progressText(now));
      const fetched = await fetchSnapshot({ url, folder, strip, checksum, clock: systemClock, readFree, onProgress });
      const { received, files, unpackedBytes, sha256, cuts } = fetched;
      const proof = checksum
        ? `its ${checksum.kind} is what ${checksum.from} says${trust(url, checksum)}`
        : 'no checksum was known: whether it is what its publisher made is not proved';
      return {
        json: { folder, ...fetched, checksum },
        lines: [
          `${folder}: ${files} files, ${(unpackedBytes / GIB).toFixed(2)} GiB, from ${(received / GIB).toFixed(2)} GiB with ${cuts} cut connections`,
          `sha256 ${sha256}; ${proof}`,
          `where it comes from is in ${folder}.source.json. Start the node, then let \`quayside node check\` look at it`,
        ],
      };
    } finally {
      progress.end();
    }
  },
};

const trust = (url: string, { from, kind }: Checksum): string => {
  if (from.startsWith('--')) return kind === 'md5' ? ', which shows damage but keeps no attacker out' : '';
  return url.startsWith('https:')
    ? ', from the same server: that shows damage, not who made it'
    : ', by plain http: whoever is on the way can change both';
};

/** @throws Fault permanent `usage` */
async function readOrFind(input: Input, url: string): Promise<Checksum | null> {
  for (const kind of ['sha256', 'md5'] as const) {
    const text = textOption(input, kind);
    if (text === undefined) continue;
    const hex = readChecksum(kind, text);
    if (hex === null || hex !== text.toLowerCase()) throw usage(`--${kind} is no ${kind} in hex digits`);
    return { kind, hex, from: `--${kind}` };
  }
  const found = await findChecksum(url);
  if (found === null && !input.options['without-checksum']) {
    throw usage(
      'this source has no checksum beside the file: give --sha256 or --md5, or accept that with --without-checksum',
    );
  }
  return found;
}

/** Returns the nearest folder that exists: the disk that will be written to. */
const existing = (folder: string): string => (existsSync(folder) ? folder : existing(dirname(folder)));

function progressText({ received, bytes, written, cuts, bytesPerS }: SnapshotProgress): string {
  const gib = (count: number): string => `${(count / GIB).toFixed(2)} GiB`;
  const left =
    bytes === null || bytesPerS === 0 ? '' : `, about ${roughly(((bytes - received) * 1000) / bytesPerS)} left`;
  const share = bytes === null ? '' : ` (${((received * 100) / bytes).toFixed(1)} %)`;
  const cut = cuts > 0 ? `, ${cuts} cuts` : '';
  return `${gib(received)} of ${bytes === null ? 'unknown' : gib(bytes)}${share}, unpacked ${gib(written)}, ${(bytesPerS / MIB).toFixed(1)} MiB/s${left}${cut}`;
}
