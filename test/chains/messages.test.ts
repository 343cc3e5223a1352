/** The messages of node clients name settings that exist. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { networkSettings } from '../../src/config/schema.ts';
import { readSources, withoutComments } from '../tidy/source-tree.ts';

test('every setting that a message about a node names exists', () => {
  const known = new Set(Object.keys(networkSettings(['tron'], true).shape));
  const named = [...readSources()]
    .filter(([path]) => /^(src\/chains|indexers)\//.test(path))
    .flatMap(([path, text]) =>
      [...withoutComments(text).matchAll(/\b[a-z]+_url\b(?!:)/g)].map(([name]) => ({ path, name })),
    );
  assert.ok(named.some(({ path }) => path === 'src/chains/tron/node/payout-node.ts'));
  assert.equal(
    named.filter(({ name }) => !known.has(name)),
    [],
  );
});

test.run();
