/**
 * The architecture as a test: who may import whom, what may be called where, and what a file may look like. Each finding says what
 * to do about it.
 */
import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { importsOf, reachable, readSources, type Sources, withoutComments } from './support/source-tree.ts';

// ── Who may import whom ──────────────────────────────────────────────────────────────────────────────────────────────

type Room = Readonly<{ name: string; files: RegExp; may: readonly RegExp[]; pure?: true }>;

const core = /^src\/core\//;
const lib = /^src\/lib\//;
const config = /^src\/config\//;
/** The port: what other rooms see of the database. */
const port = /^src\/database\/[\w-]+\.ts$/;
/** Everything in `src/chains` that opens no socket. */
const codecs = /^src\/chains\/(?!transport\/|\w+\/node\/)/;
const chains = /^src\/chains\//;
const rates = /^src\/rates\//;
const payments = /^src\/payments\//;
/** How other processes talk to the signer. */
const signerClient = /^src\/signer\/(signer|protocol|client)\.ts$/;
const cryptography = /^@(noble|scure)\//;
const node = /^node:/;

/** The first room that a file fits is its own; every room may import itself, `src/core` and `src/lib`. */
const rooms: readonly Room[] = [
  {
    name: 'programs',
    files: /^(src\/(main|server)\.ts|src\/\w+\/main\.ts|indexers\/(evm|tron|solana)\.ts|scripts\/[\w-]+\.(ts|mjs))$/,
    may: [/./],
  },
  { name: 'scripts', files: /^scripts\//, may: [/./] },
  { name: 'src/core', files: core, may: [/^@noble\/hashes\//], pure: true },
  { name: 'src/lib', files: lib, may: [node, /^(pino|piscina|ipaddr\.js|p-queue|undici)$/] },
  { name: 'the table of chains', files: /^src\/chains\/index\.ts$/, may: [chains] },
  {
    name: 'spending, until its encoders are our own',
    files: /^src\/chains\/\w+\/spend\.ts$/,
    may: [codecs, cryptography, /^(ethers|tronweb|@solana\/web3\.js)$/],
    pure: true,
  },
  { name: 'chain codecs', files: codecs, may: [cryptography], pure: true },
  { name: 'chain nodes and transports', files: chains, may: [chains, node, /^(ws|undici|p-queue)$/] },
  { name: 'the database port', files: port, may: [] },
  { name: 'src/database', files: /^src\/database\//, may: [node, /^(drizzle-orm|better-sqlite3)/] },
  { name: 'src/config', files: config, may: [codecs, node, /^config\/[\w-]+\.json$/, /^(zod|node-cron|ipaddr\.js)$/] },
  { name: 'src/addresses', files: /^src\/addresses\//, may: [port, codecs, config, node, /^zod$/] },
  { name: 'src/payments', files: payments, may: [port, codecs, config] },
  { name: 'src/rates', files: rates, may: [node, /^config\/currencies\.json$/, /^(node-cron|undici|zod)$/] },
  {
    name: 'src/api',
    files: /^src\/api\//,
    may: [
      port,
      rates,
      payments,
      codecs,
      config,
      /^node:(crypto|fs|http|zlib)$/,
      /^package\.json$/,
      /^(express|helmet|ipaddr\.js|zod|@asteasolutions\/zod-to-openapi)$/,
    ],
  },
  {
    name: 'src/checkout',
    files: /^src\/checkout\//,
    may: [port, rates, payments, codecs, config, /^node:(crypto|fs|path|zlib)$/, /^(express|uqr)$/],
  },
  { name: 'src/webhooks', files: /^src\/webhooks\//, may: [port, node, /^(undici|p-queue)$/] },
  { name: 'the signer’s client', files: signerClient, may: [codecs, config, signerClient, node, /^(zod|undici)$/] },
  { name: 'src/signer', files: /^src\/signer\//, may: [codecs, cryptography, node, /^(better-sqlite3|zod)$/] },
  {
    name: 'src/sandbox',
    files: /^src\/sandbox\/(?!operator\/)/,
    may: [codecs, cryptography, node, /^(ws|zod)$/],
  },
  { name: 'indexers', files: /^indexers\//, may: [port, chains, config, signerClient, node, /^p-queue$/] },
  {
    name: 'src/app',
    files: /^src\/(app|sandbox\/operator)\//,
    may: [/^src\//, /^config\/[\w-]+\.json$/, node, /^(zod|prom-client)$/],
  },
  { name: 'tests', files: /^test\//, may: [/./] },
];

const isProgram = (path: string) => rooms[0]?.files.test(path) === true;

function layerFindings(sources: Sources): string[] {
  const findings: string[] = [];
  for (const [path, text] of sources) {
    if (path.endsWith('.sql')) continue;
    const room = rooms.find(({ files }) => files.test(path));
    if (!room) {
      findings.push(
        `${path} is in no room: put it where it belongs, or add its room to the table in test/tidy.test.ts`,
      );
      continue;
    }
    for (const target of importsOf(path, text)) {
      const always = room.pure ? [room.files, core] : [room.files, core, lib];
      if (![...always, ...room.may].some((allowed) => allowed.test(target))) {
        findings.push(
          `${path} (${room.name}) imports ${target}: pass what it needs from the program, or move the code`,
        );
      }
      if (isProgram(target) && !path.endsWith('.mjs')) {
        findings.push(`${path} imports the program ${target}: move what it needs into a room`);
      }
    }
  }
  return findings;
}

// ── What may be said and called where ────────────────────────────────────────────────────────────────────────────────

type Ban = Readonly<{ pattern: RegExp; except: RegExp; todo: string }>;

const nowhere = /^$/;
const bans: readonly Ban[] = [
  { pattern: /\bDate\.now\(|\bnew Date\(\)/, except: /^src\/lib\/clock\.ts$/, todo: 'take a Clock' },
  { pattern: /\bMath\.random\(/, except: nowhere, todo: 'take the random source as an argument, or use src/lib/id.ts' },
  {
    pattern: /(?<![.\w])set(Timeout|Interval)\((?!ms)|node:timers/,
    except: /^(src\/lib\/clock|scripts\/test)\.ts$/,
    todo: 'wait with Clock.sleep; limit a request with AbortSignal.timeout',
  },
  { pattern: /\bconsole\./, except: nowhere, todo: 'log with src/lib/log.ts; programs write to process.stdout' },
  {
    pattern: /\bprocess\.exit\(/,
    except: /^src\/(server|sandbox\/main)\.ts$/,
    todo: 'set process.exitCode and let the program end',
  },
  { pattern: /\bparseFloat\(/, except: nowhere, todo: 'money and rates are exact: use core/money or core/rate' },
  {
    pattern: /\bNumber\([^)]*(units|amount|par)\b|\bNumber\([^)]*Minor\b/i,
    except: /^src\/(core\/event|api\/session-view)\.ts$/,
    todo: 'money is a bigint until it is shown; only the API’s JSON has it as a number',
  },
  {
    pattern: /(?<![a-z])(tron|ethereum|bsc|solana|evm)(?![a-z])/i,
    except:
      /^(src\/(chains|sandbox)\/|indexers\/(evm|tron|solana)\.ts|scripts\/(bench(\/[\w-]+)?|cli\/tool|(cli\/)?tron-ws)\.ts)/,
    todo: 'a chain’s name stays in its folder, the configuration and the sandbox: ask the configuration',
  },
  { pattern: /^export default\b/, except: nowhere, todo: 'export by name' },
  {
    pattern: /\bON DELETE CASCADE\b/i,
    except: nowhere,
    todo: 'delete row by row: nothing about money vanishes by itself',
  },
];

/** Single lines that may stay, with the reason. */
const allowedLines: readonly string[] = [
  // The reference shows a network's name in its examples.
  "network: z.string().meta({ example: 'ethereum' }),",
];

function banFindings(sources: Sources): string[] {
  const findings: string[] = [];
  for (const [path, text] of sources) {
    if (path.startsWith('test/')) continue;
    for (const [at, line] of withoutComments(text).split('\n').entries()) {
      if (allowedLines.includes(line.trim())) continue;
      for (const { pattern, except, todo } of bans) {
        if (pattern.test(line) && !except.test(path)) findings.push(`${path}:${at + 1} ${line.trim()}: ${todo}`);
      }
    }
  }
  return findings;
}

// ── What a file is ───────────────────────────────────────────────────────────────────────────────────────────────────

const LINES_MAX = 400;
const TEST_LINES_MAX = 600;

function sizeFindings(sources: Sources): string[] {
  return [...sources].flatMap(([path, text]) => {
    const lines = text.split('\n').length - 1;
    const max = path.startsWith('test/') ? TEST_LINES_MAX : LINES_MAX;
    return lines > max ? [`${path} has ${lines} lines, more than ${max}: it is two nouns, split it`] : [];
  });
}

function orphanFindings(sources: Sources): string[] {
  const paths = [...sources.keys()].filter((path) => !path.endsWith('.sql'));
  const used = reachable(sources, paths.filter(isProgram));
  const tested = reachable(
    sources,
    paths.filter((path) => path.endsWith('.test.ts')),
  );
  return paths
    .filter((path) => !used.has(path) && !(path.startsWith('test/') && tested.has(path)))
    .map((path) => `${path} is used by no program${path.startsWith('test/') ? ' and no test' : ''}: delete it`);
}

function barrelFindings(sources: Sources): string[] {
  return [...sources].flatMap(([path, text]) => {
    const statements = withoutComments(text).trim();
    const isBarrel = statements !== '' && /^(\s*(import|export)\b[^;]*\bfrom\s+'[^']+';)+\s*$/.test(statements);
    return isBarrel ? [`${path} only passes on what other files export: import from those`] : [];
  });
}

type Manifest = Readonly<{
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  scripts: Record<string, string>;
}>;

function manifestFindings({ dependencies, devDependencies, scripts }: Manifest, sources: Sources): string[] {
  const inexact = Object.entries({ ...dependencies, ...devDependencies })
    .filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))
    .map(([name, version]) => `package.json: ${name} is "${version}": write the exact version`);
  const missing = Object.entries(scripts).flatMap(([name, command]) =>
    (command.match(/[\w./-]+\.(ts|mjs)\b/g) ?? [])
      .filter((file) => !sources.has(file))
      .map((file) => `package.json: the script "${name}" runs ${file}, which does not exist`),
  );
  const undeclared = [...sources].flatMap(([path, text]) =>
    importsOf(path, text)
      .filter((target) => !/^(node:|src\/|indexers\/|scripts\/|test\/|config\/|package\.json)/.test(target))
      .map((target) =>
        target
          .split('/')
          .slice(0, target.startsWith('@') ? 2 : 1)
          .join('/'),
      )
      .filter((name) => !(name in dependencies) && !(path.startsWith('test/') && name in devDependencies))
      .map((name) => `${path} imports ${name}: add it to the dependencies in package.json`),
  );
  return [...inexact, ...missing, ...undeclared];
}

// ── The project keeps them ───────────────────────────────────────────────────────────────────────────────────────────

const sources = readSources();
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest;

const rules: readonly (readonly [string, (sources: Sources) => string[]])[] = [
  ['imports stay within their layers', layerFindings],
  ['banned calls and names stay away', banFindings],
  ['files stay short', sizeFindings],
  ['no file is left over', orphanFindings],
  ['no file only passes things on', barrelFindings],
  ['the manifest is exact and complete', (all) => manifestFindings(manifest, all)],
];

for (const [name, findings] of rules) {
  test(name, () => {
    const found = findings(sources);
    assert.is(found.length, 0, `\n  ${found.join('\n  ')}\n`);
  });
}

// ── The rules themselves catch what they should ──────────────────────────────────────────────────────────────────────

const caught: readonly (readonly [string, (sources: Sources) => string[], string, string])[] = [
  ['core that reads files', layerFindings, 'src/core/a.ts', "import { readFileSync } from 'node:fs';"],
  [
    'core that knows the database',
    layerFindings,
    'src/core/a.ts',
    "import type { Database } from '../store/store.ts';",
  ],
  ['a codec with a socket', layerFindings, 'src/chains/mychain/wire.ts', "import { WebSocket } from 'ws';"],
  ['an API that asks a node', layerFindings, 'src/api/a.ts', "import { openNode } from '../chains/evm/node/node.ts';"],
  ['an API on a certain database', layerFindings, 'src/api/a.ts', "import { x } from '../database/sqlite/open.ts';"],
  ['an API that imports webhooks later', layerFindings, 'src/api/a.ts', "await import('../webhooks/sender.ts');"],
  [
    'a dispatcher that knows chains',
    layerFindings,
    'src/webhooks/a.ts',
    "import { chains } from '../chains/index.ts';",
  ],
  ['an imported program', layerFindings, 'test/a.test.ts', "import '../src/main.ts';"],
  ['a file outside every room', layerFindings, 'src/misc/a.ts', ''],
  ['a clock of one’s own', banFindings, 'src/api/a.ts', 'const now = Date.now();'],
  ['dice', banFindings, 'src/api/a.ts', 'if (Math.random() < 0.5) return;'],
  ['a wait', banFindings, 'src/api/a.ts', 'setTimeout(go, 10);'],
  ['a number for money', banFindings, 'src/api/a.ts', 'const cents = Number(payment.units);'],
  ['a chain by name', banFindings, 'src/api/a.ts', "if (network === 'bsc') return 18;"],
  ['rows that vanish', banFindings, 'src/database/sqlite/migrations/9.sql', 'REFERENCES a(id) on delete cascade'],
  ['a long file', sizeFindings, 'src/a.ts', '\n'.repeat(LINES_MAX + 1)],
  ['a file without a user', orphanFindings, 'src/api/a.ts', 'export const a = 1;'],
  ['support without a test', orphanFindings, 'test/support/a.ts', 'export const a = 1;'],
  ['a barrel', barrelFindings, 'src/api/index.ts', "export { a } from './a.ts';\nexport type { B } from './b.ts';\n"],
  [
    'a package that is not declared',
    (all) => manifestFindings(manifest, all),
    'src/api/a.ts',
    "import x from 'left-pad';",
  ],
];

for (const [what, findings, path, text] of caught) {
  test(`caught: ${what}`, () => {
    const before = findings(new Map()).length;
    assert.is(findings(new Map([[path, text]])).length, before + 1);
  });
}

test('caught: an inexact version and a script that runs nothing', () => {
  const wrong = { dependencies: { a: '^1.0.0' }, devDependencies: {}, scripts: { x: 'tsx scripts/none.ts' } };
  assert.is(manifestFindings(wrong, new Map()).length, 2);
});

test('comments may say anything', () => {
  assert.equal(banFindings(new Map([['src/api/a.ts', '// Date.now() on bsc\n/* Math.random() */']])), []);
});

test.run();
