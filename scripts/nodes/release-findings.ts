/**
 * Whether a client's version will do, now and after the next fork.
 */
import { DAY_MS } from '../../src/lib/clock.ts';
import { type Finding, failure, ok, warning } from './finding.ts';
import type { Release } from './recipe.ts';
import type { Software } from './software.ts';

/** Compares versions by their numbers: negative if `one` is older. */
export function compareVersions(one: string, other: string): number {
  const [left, right] = [one, other].map((text) => text.split('.').map(Number)) as [number[], number[]];
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Judges what a node says about itself by the releases of its network's recipe. */
export function releaseFindings(
  { client, version, text }: Pick<Software, 'client' | 'version' | 'text'>,
  releases: readonly Release[],
  nowMs: number,
): Finding[] {
  if (releases.length === 0) return [ok('version', text)];
  if (client === null || version === null) {
    const known = [...new Set(releases.map((release) => `${release.client} ${release.version_min}`))].join(', ');
    return [
      warning('version', `the version is not known: ${text}`, `look at it yourself; the oldest that will do: ${known}`),
    ];
  }
  const tooOld = releases.filter(
    (release) => release.client === client && compareVersions(version, release.version_min) < 0,
  );
  if (tooOld.length > 0) return tooOld.map((release) => judge(text, release, nowMs));
  const own = releases.filter((release) => release.client === client);
  return [
    own.length > 0
      ? ok('version', text)
      : warning('version', `${text} is no client whose versions are known here`, 'follow its releases yourself'),
  ];
}

function judge(text: string, { version_min, why, fork, from, is_advice, source }: Release, nowMs: number): Finding {
  const fromMs = from === undefined ? 0 : Date.parse(from);
  const days = Math.ceil((fromMs - nowMs) / DAY_MS);
  const due = fromMs > nowMs ? ` from ${from} on, in ${days} days` : '';
  const what = fork ? `${fork} needs ${version_min}${due}` : `${version_min} is needed${due}`;
  const finding = is_advice || fromMs > nowMs ? warning : failure;
  return finding(
    'version',
    `${text}: ${what}. ${why} (${source.text}, ${source.date})`,
    `upgrade it to ${version_min} or later`,
  );
}
