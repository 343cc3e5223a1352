/**
 * Tries a node and this release on a network without an installation: follows it for a while and compares every block
 * with a second reading. Nothing of an installation is opened or changed.
 * @module
 */
import { resolve } from 'node:path';
import { chains } from '../../src/chains/index.ts';
import type { NetworkConfig } from '../../src/config/network.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { Progress } from '../shadow/shadow.ts';
import { type Answer, type Input, type OfflineCommand, textOption, usage, wholeOption } from './command.ts';
import { openProgressLine } from './progress.ts';
import { readSpan } from './since.ts';

const ADDRESSES = 1_000;
const ADDRESSES_MAX = 20_000;
const SAMPLE = 10;
const SAMPLE_MAX = 1_000_000;
const DURATION = '30m';
const DURATION_MS_MAX = 7 * 86_400_000;

export const shadow: OfflineCommand = {
  name: 'shadow',
  args: ['network'],
  summary: 'Follow a network for a while and compare every block with a second reading. Changes nothing.',
  options: {
    url: { value: 'URL', help: 'the node to follow (default: the configured one)' },
    'second-url': { value: 'URL', help: 'a second node to compare with (default: other requests to the same node)' },
    for: { value: 'TIME', help: `how long, such as 90s, 30m or 2h (${DURATION}); Ctrl-C ends it earlier` },
    xpub: { value: 'XPUB', help: 'watch the addresses of this xpub (default: the configured one)' },
    addresses: { value: 'N', help: `how many addresses of the xpub (${ADDRESSES}), at most ${ADDRESSES_MAX}` },
    'address-file': { value: 'FILE', help: 'watch these addresses instead: one on each line, or a derived list' },
    sample: {
      value: 'N',
      help: `also watch whoever is paid in every Nth block; 0: nobody (${SAMPLE} without xpub and file, otherwise 0)`,
    },
    save: { value: 'DIR', help: 'save the raw requests and answers of whatever was doubted or differs' },
  },
  notes: [
    'All transfers of the configured tokens are compared, whoever is paid; what is watched also goes through matching',
    'and confirmation. Exit codes: 0 no difference; 1 a difference, a halt, or blocks that could not be compared;',
    '2 wrong usage, or a node that does not answer or is of another chain.',
  ],
  async runOffline(input) {
    const { readNetwork } = await import('../shadow/network.ts');
    const network = readNetwork(input, String(input.args[0]), urlOption(input, 'url'));
    return run(input, network);
  },
};

async function run(input: Input, network: NetworkConfig): Promise<Answer> {
  const [{ runShadow }, { openEvidence }, { reportOf }] = await Promise.all([
    import('../shadow/shadow.ts'),
    import('../shadow/evidence.ts'),
    import('./shadow-text.ts'),
  ]);
  const secondUrl = urlOption(input, 'second-url') ?? null;
  const durationMs = readSpan(input, 'for', DURATION_MS_MAX, DURATION);
  const keys = await readAddresses(input, network);
  const sampleEvery = wholeOption(input, 'sample', 0, SAMPLE_MAX, keys.length === 0 ? SAMPLE : 0);
  const folder = textOption(input, 'save');
  const urls = [network.url, network.rpcUrl, network.finalityUrl, secondUrl].filter((url) => typeof url === 'string');
  const evidence = openEvidence(folder ? resolve(input.cwd, folder) : null, urls, systemClock.nowMs());
  const progress = openProgressLine(process.stderr);
  const interrupted = interrupts();
  try {
    const findings = await runShadow(
      {
        network,
        secondUrl,
        keys,
        sampleEvery,
        durationMs,
        evidence,
        clock: systemClock,
        random: () => 0.5,
        onProgress: (now) => progress.show(progressLine(network, durationMs, now)),
      },
      interrupted.once,
      interrupted.twice,
    );
    return reportOf(findings);
  } finally {
    progress.end();
    interrupted.release();
  }
}

function progressLine({ key }: NetworkConfig, durationMs: number, now: Progress): string {
  const { elapsedMs, state, head, read, transfers, faults, differences } = now;
  const behind = head === null || read === null ? '-' : Math.max(0, head - read);
  const seconds = `${Math.floor(elapsedMs / 1000)}/${Math.ceil(durationMs / 1000)} s`;
  const place = `head ${head ?? '-'}, read ${read ?? '-'}, behind ${behind}`;
  const bad = differences > 0 ? `, ${differences} DIFFERENCE(S)` : '';
  return `${key} ${seconds} ${state}: ${place}, ${transfers} transfers, ${faults} faults${bad}`;
}

/** The first Ctrl-C ends the run with its report, the second ends the comparisons that are still under way. */
function interrupts() {
  const [once, twice] = [new AbortController(), new AbortController()];
  const signals = ['SIGINT', 'SIGTERM'] as const;
  const stop = () => (once.signal.aborted ? twice : once).abort();
  for (const signal of signals) process.on(signal, stop);
  return {
    once: once.signal,
    twice: twice.signal,
    release() {
      for (const signal of signals) process.off(signal, stop);
    },
  };
}

async function readAddresses(input: Input, network: NetworkConfig): Promise<string[]> {
  const { deriveKeys, readKeys } = await import('../shadow/addresses.ts');
  const chain = chains[network.family];
  const file = textOption(input, 'address-file');
  const given = textOption(input, 'xpub');
  if (file !== undefined && given !== undefined) throw usage('--xpub and --address-file cannot be combined');
  const count = wholeOption(input, 'addresses', 1, ADDRESSES_MAX, ADDRESSES);
  if (file !== undefined) return readKeys(chain.address, resolve(input.cwd, file));
  const xpub = given ?? network.xpub;
  return xpub === null ? [] : deriveKeys(chain, xpub, count);
}

/** @throws Fault permanent `usage` */
function urlOption(input: Input, name: string): string | undefined {
  const text = textOption(input, name);
  if (text === undefined) return undefined;
  if (URL.canParse(text) && /^(ws|http)s?:$/.test(new URL(text).protocol)) return text;
  throw usage(`--${name} is not a ws://, wss://, http:// or https:// URL`);
}
