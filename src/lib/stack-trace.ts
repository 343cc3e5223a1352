/**
 * Stack traces that name the sources, although JavaScript from `dist/` runs. A source map is read when a trace first
 * leads through its file: with `--enable-source-maps`, Node would read all of them at each start.
 */
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { isBuilt } from './installation.ts';

const PLACE = /(file:\/\/[^\s()]+\.js):(\d+):(\d+)/;

/** A decoded map takes ten megabytes, so that it is kept only until memory is collected. */
const maps = new Map<string, WeakRef<SourceMap> | null>();

/** From now on, the stack of every error names files and lines of the sources. Does nothing if the sources run. */
export function nameSources(): void {
  if (!isBuilt) return;
  // https://v8.dev/docs/stack-trace-api: called when a stack is first read.
  Error.prepareStackTrace = (error, frames) =>
    [Error.prototype.toString.call(error), ...frames.map((frame) => `    at ${sourceOf(String(frame))}`)].join('\n');
}

/** Replaces the place in a line of a stack. Lines of packages and of Node stay as they are. */
function sourceOf(line: string): string {
  const [place, file = '', row = '', column = ''] = PLACE.exec(line) ?? [];
  if (place === undefined || file.includes('/node_modules/')) return line;
  const found = mapOf(file)?.findEntry(+row - 1, +column - 1);
  // Node goes on with the last line that has a mapping, which is another place.
  if (!found || !('originalSource' in found) || found.generatedLine !== +row - 1 || !found.originalSource) return line;
  const source = new URL(found.originalSource, file).href;
  return line.replace(place, `${source}:${found.originalLine + 1}:${found.originalColumn + 1}`);
}

function mapOf(file: string): SourceMap | null {
  const known = maps.get(file);
  if (known === null) return null;
  const kept = known?.deref();
  if (kept) return kept;
  const map = readMap(file);
  maps.set(file, map && new WeakRef(map));
  return map;
}

/** @returns null if there is none, or none of our own sources is in it: the trace then names the built file */
function readMap(file: string): SourceMap | null {
  try {
    const map = JSON.parse(readFileSync(new URL(`${file}.map`), 'utf8'));
    const isOwn = map.sources.some((source: string) => !source.includes('node_modules/'));
    return isOwn ? new SourceMap(map) : null;
  } catch {
    return null;
  }
}
