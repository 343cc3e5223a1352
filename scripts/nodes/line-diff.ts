/**
 * What changes in a text file, line by line.
 * @module
 */

/**
 * Returns the lines that go, marked `-`, and those that come, marked `+`, with up to `context` unchanged lines around
 * them. Takes time in proportion to the product of both lengths: for files that people write.
 */
export function lineDiff(before: string, after: string, context = 2): string[] {
  const [old, now] = [before, after].map((text) => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))) as [
    string[],
    string[],
  ];
  // lengths[a][b]: how many lines the rests from a and b have in common.
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1));
  const at = (a: number, b: number): number => lengths[a]?.[b] ?? 0;
  for (let a = old.length - 1; a >= 0; a--) {
    for (let b = now.length - 1; b >= 0; b--) {
      const row = lengths[a];
      if (row) row[b] = old[a] === now[b] ? at(a + 1, b + 1) + 1 : Math.max(at(a + 1, b), at(a, b + 1));
    }
  }
  const all: string[] = [];
  let [a, b] = [0, 0];
  while (a < old.length || b < now.length) {
    if (a < old.length && b < now.length && old[a] === now[b]) {
      all.push(`  ${old[a]}`);
      a += 1;
      b += 1;
    } else if (a < old.length && (b === now.length || at(a + 1, b) >= at(a, b + 1))) {
      all.push(`- ${old[a]}`);
      a += 1;
    } else {
      all.push(`+ ${now[b]}`);
      b += 1;
    }
  }
  const isNear = (line: number): boolean =>
    all.slice(Math.max(0, line - context), line + context + 1).some((one) => !one.startsWith('  '));
  return all.filter((_, line) => isNear(line));
}
