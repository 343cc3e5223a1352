/**
 * Fetches a node's database from a publisher, so that it need not read the whole chain.
 * @module
 */
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DAY_MS, systemClock } from '../../src/lib/clock.ts';
import { readRoom } from '../nodes/disk-forecast.ts';
import { readClients } from '../nodes/recipe.ts';
import { type Checksum, fetchSnapshot, findChecksum, readChecksum, type SnapshotProgress } from '../nodes/snapshot.ts';
import { isThere } from '../nodes/snapshot-source.ts';
import { roughly } from '../nodes/sync-estimate.ts';
import { type Input, type OfflineCommand, textOption, usage, wholeOption } from './command.ts';
import { openProgressLine } from './progress.ts';

const GIB = 1 << 30;
const MIB = 1 << 20;
const STRIP_MAX = 8;
/** Publishers keep the newest only. */
const DAYS_MAX = 14;

export const nodeSnapshot: OfflineCommand = {
  name: 'node snapshot',
  args: ['source'],
  summary: 'Download a node’s database, check it, and unpack it while it arrives.',
  options: {
    into: { value: 'DIR', help: 'the data folder that is made of it; must not exist, or be empty' },
    strip: { value: 'N', help: 'leave out so many leading folders of each path (0, or as the recipe says)' },
    keep: { help: 'download all of it first: an ended command goes on with the next run; takes room for both' },
    mirror: { value: 'URL', help: 'another server with the same paths, instead of the recipe’s (with a network)' },
    sha256: { value: 'HEX', help: 'what the publisher says its SHA-256 is' },
    md5: { value: 'HEX', help: 'what the publisher says its MD5 is: shows damage, keeps no attacker out' },
    'without-checksum': { help: 'accept a file for which no checksum is found' },
  },
  notes: [
    'The source is a URL, or a network whose recipe knows where its publisher has them: the newest of the last two weeks',
    'is taken. Formats: .tar, .tar.gz, .tgz, .tar.zst (needs zstd), .tar.lz4 (needs lz4). Without --sha256 and --md5, looks for',
    'URL.sha256, .sha256sum, .md5sum and .md5. A connection that is cut goes on where it was, if the server can; a command',
    'that is ended starts again, unless it has --keep. Only files and folders are unpacked: anything else in the archive is refused.',
    'Exit codes: 0 the folder is complete; 1 it is not there, and nothing was kept; 2 wrong usage.',
  ],
  async runOffline(input) {
    const { url, strip: usualStrip } = await readSource(input);
    const into = textOption(input, 'into');
    if (into === undefined) throw usage('--into is missing: the data folder of the node');
    const folder = resolve(input.cwd, into);
    const strip = wholeOption(input, 'strip', 0, STRIP_MAX, usualStrip);
    const isKept = input.options.keep === true;
    const checksum = await readOrFind(input, url);
    const disk = existing(folder);
    const progress = openProgressLine(process.stderr);
    try {
      const readFree = async () => (await readRoom(disk, systemClock.nowMs())).freeBytes;
      const onProgress = (now: SnapshotProgress) => progress.show(progressText(now));
      const wanted = { url, folder, strip, checksum, isKept };
      const fetched = await fetchSnapshot({ ...wanted, clock: systemClock, readFree, onProgress });
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

const isHttp = (url: string): boolean => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);

/** Returns the URL that is given, or the newest that a network's recipe leads to. @throws Fault permanent `usage` */
async function readSource(input: Input): Promise<Readonly<{ url: string; strip: number }>> {
  const given = String(input.args[0]);
  if (given.includes('://')) {
    if (!isHttp(given)) throw usage('the URL is not http:// or https://');
    return { url: given, strip: 0 };
  }
  const [known] = readClients(given).flatMap(({ snapshots = [] }) => snapshots);
  if (!known) throw usage(`no recipe knows snapshots of "${given}": give a URL`);
  const mirror = textOption(input, 'mirror');
  if (mirror !== undefined && !isHttp(mirror)) throw usage('--mirror is not an http:// or https:// URL');
  const template = mirror ? known.url.replace(/^https?:\/\/[^/]+/, mirror.replace(/\/+$/, '')) : known.url;
  for (let day = 0; day < DAYS_MAX; day += 1) {
    const date = new Date(systemClock.nowMs() - day * DAY_MS).toISOString().slice(0, 10).replaceAll('-', '');
    const url = template.replaceAll('{date}', date);
    if (await isThere(url)) return { url, strip: known.strip };
  }
  const { host } = new URL(template);
  throw usage(`${host} has no snapshot of ${given} of the last ${DAYS_MAX} days, or cannot be reached: give a URL`);
}

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
