import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { installationFolder } from '../../src/lib/installation.ts';
import { openSourceMap } from '../../src/lib/source-map.ts';
import '../support/built.ts';

/** One map by `tsc`, and one of a joined program, whose packages have no mappings. */
for (const file of ['src/lib/log.js', 'src/sandbox/main.js']) {
  test(`finds what Node's own SourceMap finds at every place: ${file}`, () => {
    const path = join(installationFolder, 'dist', file);
    const text = readFileSync(`${path}.map`, 'utf8');
    const find = openSourceMap(text);
    const map = new SourceMap(JSON.parse(text));
    let mapped = 0;
    for (const [row, line] of readFileSync(path, 'utf8').split('\n').entries()) {
      for (let column = 0; column < line.length; column += 5) {
        const entry = map.findEntry(row, column);
        const found = find(row, column);
        // Node goes on with the last line that has a mapping, which is another place.
        if (!('originalSource' in entry) || entry.generatedLine !== row) {
          assert.is(found, null, `${row}:${column}`);
          continue;
        }
        const { originalSource: source, originalLine, originalColumn } = entry;
        assert.equal([found?.source, found?.row, found?.column], [source, originalLine, originalColumn]);
        mapped++;
      }
    }
    assert.ok(mapped > 100);
    assert.is(find(1e6, 0), null);
  });
}

test.run();
