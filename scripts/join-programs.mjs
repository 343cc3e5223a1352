/**
 * Joins the modules of each program of a build into few files. Node needs about a millisecond to find and load one
 * module; the server alone has 600 of them.
 *
 * `tsc` has written the JavaScript, and every module of it stays: the signer runs from them, so that each file in the
 * process with the keys can be named. This replaces the programs that `npm start` runs, and the tools, and adds
 * `chunks/`, which they share. Packages with native code or with threads of their own stay in `node_modules`, and so do
 * the SDKs, which are loaded where a payout needs them.
 */
import { readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';

/** From the build's folder, without extension: the tools, what `npm start` runs, and the worker threads of these. */
const PROGRAMS = [
  'scripts/quayside',
  'scripts/quayside-signer',
  'src/main',
  'src/server',
  'src/sandbox/main',
  'src/webhooks/main',
  'src/addresses/derive-worker',
  'indexers/evm',
  'indexers/solana',
  'indexers/tron',
  'indexers/nightly',
  'indexers/follower/matcher-worker',
];

const PACKAGES_LEFT_ALONE = ['@solana/web3.js', 'better-sqlite3', 'ethers', 'piscina', 'tronweb'];

/** Begins each file: CommonJS packages need `require`, and modules ask where they had been. */
const PREAMBLE = `import { createRequire as createRequireHere } from 'node:module';
const require = createRequireHere(import.meta.url);
const builtFolder = import.meta.url.slice(0, import.meta.url.lastIndexOf('/dist/') + '/dist/'.length);`;

/** A source map that says nothing, for packages: traces lead through our own sources. */
const NO_MAP = `\n//# sourceMappingURL=data:application/json;base64,${btoa('{"version":3,"sources":[""],"mappings":"A"}')}`;

/** The parts of undici that the programs use. Its own index loads fetch, caches and mocks too: 5 MB in each process. */
const UNDICI = `
const Dispatcher = require('./lib/dispatcher/dispatcher');
Object.assign(Dispatcher.prototype, require('./lib/api'));
module.exports = {
  Agent: require('./lib/dispatcher/agent'),
  Pool: require('./lib/dispatcher/pool'),
  buildConnector: require('./lib/core/connect'),
  errors: require('./lib/core/errors'),
};`;

/** Lets a module find its files, workers and programs as before, whichever file it ends up in. */
const placesOf = (folder) => ({
  name: 'places',
  setup({ onLoad }) {
    onLoad({ filter: /\.[cm]?js$/ }, ({ path }) => {
      if (path.endsWith(join('node_modules', 'undici', 'index.js')))
        return { contents: UNDICI + NO_MAP, resolveDir: dirname(path) };
      const text = readFileSync(path, 'utf8');
      if (!path.startsWith(folder + sep)) return { contents: text + NO_MAP };
      const place = JSON.stringify(relative(folder, path));
      return {
        contents: text.replaceAll('import.meta.url', `new URL(${place}, builtFolder).href`),
        resolveDir: dirname(path),
      };
    });
  },
});

/**
 * Joins the programs in a build.
 * @param folder what `tsc` has written; it runs as `dist/`
 */
export async function joinPrograms(folder) {
  const { build } = await import('esbuild');
  await build({
    entryPoints: Object.fromEntries(PROGRAMS.map((name) => [name, join(folder, `${name}.js`)])),
    outdir: folder,
    allowOverwrite: true,
    bundle: true,
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    format: 'esm',
    platform: 'node',
    target: 'node22',
    external: PACKAGES_LEFT_ALONE,
    banner: { js: PREAMBLE },
    // A process keeps the text of all its programs in memory, and the place of each line.
    minifyWhitespace: true,
    minifySyntax: true,
    sourcemap: true,
    sourcesContent: false,
    legalComments: 'none',
    logLevel: 'warning',
    plugins: [placesOf(folder)],
  });
}
