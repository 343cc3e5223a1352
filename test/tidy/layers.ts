/**
 * Imports that are allowed, by folder.
 */

import { families } from './networks.ts';
import type { Rule } from './rule.ts';
import { importsOf, packagesOf, type Sources, withoutComments } from './source-tree.ts';

/** `may` holds besides the room itself, `src/core` and `src/lib`; a `pure` room has no `src/lib`. `types`: for `import type` only. */
type Room = Readonly<{
  name: string;
  files: RegExp;
  may: readonly RegExp[];
  types?: readonly RegExp[];
  pure?: true;
}>;

const core = /^src\/core\//;
const lib = /^src\/lib\//;
const config = /^src\/config\//;
/** The part of the database that other rooms see: its repositories. */
const repositories = /^src\/database\/(?!engine\/|tables\.ts$)/;
/** Everything in `src/chains` that opens no socket. */
const codecs = /^src\/chains\/(?!transport\/|\w+\/node\/)/;
const chains = /^src\/chains\//;
const rates = /^src\/rates\//;
const acts = /^src\/acts\//;
const payments = /^src\/payments\//;
const web = /^src\/web\//;
/** How other processes talk to the signer. */
const signerClient = /^src\/signer\/(protocol|client)\.ts$/;
const cryptography = /^@(noble|scure)\//;
const node = /^node:/;
/** Everything of Node but sockets and other processes. */
const offlineNode = /^node:(?!(child_process|cluster|dgram|dns|http|http2|https|net|tls)(\/|$))/;
const files = /^node:(crypto|fs|path|url)$/;

/** The first room that a file fits is its own. */
const rooms: readonly Room[] = [
  {
    name: 'programs',
    files: new RegExp(
      `^(src/(main|server)\\.ts|src/\\w+/main\\.ts|indexers/(${families.join('|')}|nightly)\\.ts|scripts/[\\w-]+\\.(ts|mjs))$`,
    ),
    may: [/./],
  },
  { name: 'scripts/bench', files: /^scripts\/bench\//, may: [/./] },
  { name: 'scripts', files: /^scripts\//, may: [/^(?!test\/)/] },
  { name: 'src/core', files: core, may: [/^@noble\/hashes\//], pure: true },
  { name: 'src/lib', files: lib, may: [node, /^(age-encryption|piscina|ipaddr\.js|p-queue|undici|uqr)$/] },
  { name: 'the table of chains', files: /^src\/chains\/index\.ts$/, may: [chains], pure: true },
  { name: 'chain codecs', files: codecs, may: [cryptography], pure: true },
  {
    name: 'second opinions',
    files: /^src\/chains\/\w+\/node\/second-opinion\.ts$/,
    may: [chains, node, cryptography, /^(ethers|tronweb|@solana\/web3\.js)$/],
  },
  { name: 'chain nodes and transports', files: chains, may: [chains, node, /^(ws|undici|p-queue)$/] },
  {
    name: 'the database’s engine',
    files: /^src\/database\/engine\//,
    may: [
      files,
      /^src\/database\//,
      /^(drizzle-orm|better-sqlite3)/,
      /^(pg|node:async_hooks|node:crypto|node:module)$/,
    ],
  },
  { name: 'src/database', files: /^src\/database\//, may: [files, /^drizzle-orm(\/sqlite-core)?$/] },
  {
    name: 'src/config',
    files: config,
    may: [codecs, files, /^src\/rates\/source\.ts$/, /^config\/[\w-]+\.json$/, /^(zod|ipaddr\.js)$/],
  },
  { name: 'src/addresses', files: /^src\/addresses\//, may: [repositories, codecs, config, /^node:crypto$/, /^zod$/] },
  { name: 'src/payments', files: payments, may: [repositories, codecs, config] },
  { name: 'src/rates', files: rates, may: [/^config\/currencies\.json$/, /^zod$/] },
  {
    name: 'src/api',
    files: /^src\/api\//,
    may: [
      repositories,
      rates,
      payments,
      codecs,
      config,
      web,
      /^node:(crypto|fs|http)$/,
      /^package\.json$/,
      /^(express|zod)$/,
    ],
  },
  {
    name: 'src/checkout',
    files: /^src\/checkout\//,
    may: [repositories, rates, payments, codecs, config, web, files, /^express$/],
  },
  {
    name: 'src/doors',
    files: /^src\/doors\//,
    may: [repositories, rates, payments, codecs, config, web, /^node:(crypto|http)$/, /^express$/],
    types: [/^src\/webhooks\/format\.ts$/],
  },
  { name: 'src/web', files: web, may: [files, /^(node:zlib|express|helmet)$/] },
  {
    name: 'src/acts',
    files: acts,
    may: [repositories, config, payments, codecs, /^src\/rates\/currencies\.ts$/, /^zod$/],
  },
  {
    name: 'src/dashboard',
    files: /^src\/dashboard\//,
    may: [
      repositories,
      acts,
      web,
      rates,
      payments,
      codecs,
      config,
      files,
      /^node:net$/,
      /^(express|otpauth|@simplewebauthn\/server)$/,
    ],
  },
  { name: 'src/webhooks', files: /^src\/webhooks\//, may: [repositories, /^node:crypto$/, /^(undici|p-queue)$/] },
  {
    name: 'src/notifications',
    files: /^src\/notifications\//,
    may: [repositories, /^node:(crypto|net)$/, /^(undici|zod|nodemailer)$/],
  },
  { name: 'the signer’s client', files: signerClient, may: [codecs, node, /^(zod|undici)$/], types: [config] },
  {
    name: 'src/signer',
    files: /^src\/signer\//,
    may: [codecs, cryptography, /^node:(?!(cluster|dgram|dns|http2|https|tls)(\/|$))/, /^(better-sqlite3|zod)$/],
  },
  { name: 'src/sandbox', files: /^src\/sandbox\/(?!operator\/)/, may: [codecs, cryptography, node, /^(ws|zod)$/] },
  {
    name: 'indexers’ entry',
    files: /^indexers\/run\.ts$/,
    may: [repositories, chains, config, signerClient, /^indexers\//, /^src\/app\//, offlineNode],
  },
  {
    name: 'indexers',
    files: /^indexers\//,
    may: [repositories, chains, signerClient, offlineNode, /^p-queue$/],
    types: [config],
  },
  {
    name: 'src/app',
    files: /^src\/(app|sandbox\/operator)\//,
    may: [/^src\/(?!chains\/(transport|\w+\/node)\/)/, /^config\/[\w-]+\.json$/, node, /^(zod|prom-client|node-cron)$/],
  },
  { name: 'tests', files: /^test\//, may: [/./] },
];

/** Nobody imports a program. */
export const isProgram = (path: string): boolean => rooms[0]?.files.test(path) === true;

function layerFindings(sources: Sources): string[] {
  const findings: string[] = [];
  for (const [path, text] of sources) {
    if (path.endsWith('.sql')) continue;
    const room = rooms.find(({ files }) => files.test(path));
    if (!room) {
      findings.push(`${path} is in no room: put it where it belongs, or add its room to test/tidy/layers.ts`);
      continue;
    }
    const allowed = [room.files, core, ...(room.pure ? [] : [lib]), ...room.may];
    const typesOnly = importsOf(path, text.replace(VALUE_IMPORT, ''));
    for (const target of importsOf(path, text)) {
      const types = typesOnly.includes(target) ? (room.types ?? []) : [];
      if (![...allowed, ...types].some((pattern) => pattern.test(target))) {
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

const VALUE_IMPORT = /^import (?!type\b)[^;]*;/gm;

/** A file of `src/lib` wraps one library at most. */
function libraryFindings(sources: Sources): string[] {
  return [...sources].flatMap(([path, text]) => {
    if (!lib.test(path)) return [];
    const packages = new Set(packagesOf(path, text));
    const allowed = librariesMax.get(path) ?? 1;
    if (packages.size > allowed) return [`${path} imports ${[...packages].join(' and ')}: split it by library`];
    if (packages.size < allowed && librariesMax.has(path))
      return [`${path} needs no exception any more: delete it in test/tidy/layers.ts`];
    return [];
  });
}

/** Files of `src/lib` with more than one library; the list only shrinks. */
const librariesMax: ReadonlyMap<string, number> = new Map([['src/lib/guard.ts', 2]]);

function barrelFindings(sources: Sources): string[] {
  return [...sources].flatMap(([path, text]) => {
    const statements = withoutComments(text).trim();
    const isBarrel = statements !== '' && /^(\s*(import|export)\b[^;]*\bfrom\s+'[^']+';)+\s*$/.test(statements);
    return isBarrel ? [`${path} only passes on what other files export: import from those`] : [];
  });
}

export const layerRules: readonly Rule[] = [
  {
    name: 'imports stay within their layers',
    find: layerFindings,
    caught: [
      ['core that reads files', { 'src/core/a.ts': "import { readFileSync } from 'node:fs';" }],
      ['core that uses lib', { 'src/core/a.ts': "import { newId } from '../lib/id.ts';" }],
      ['core that knows the database', { 'src/core/a.ts': "import type { Database } from '../database/database.ts';" }],
      ['a repository that knows the driver', { 'src/database/a.ts': "import Sqlite from 'better-sqlite3';" }],
      ['a codec with a socket', { 'src/chains/mychain/wire.ts': "import { WebSocket } from 'ws';" }],
      ['an API that asks a node', { 'src/api/a.ts': "import { openNode } from '../chains/evm/node/node.ts';" }],
      ['an app that uses a transport', { 'src/app/a.ts': "import { x } from '../chains/transport/http.ts';" }],
      ['an API on a certain database', { 'src/api/a.ts': "import { x } from '../database/engine/open.ts';" }],
      ['an API that imports webhooks later', { 'src/api/a.ts': "await import('../webhooks/sender.ts');" }],
      ['a dispatcher that knows chains', { 'src/webhooks/a.ts': "import { chains } from '../chains/index.ts';" }],
      ['a follower with a socket', { 'indexers/follower/a.ts': "import { connect } from 'node:net';" }],
      ['an engine in the signer', { 'indexers/payouts/a.ts': "import { x } from '../../src/signer/journal.ts';" }],
      [
        'a follower that loads settings',
        { 'indexers/follower/a.ts': "import { x } from '../../src/config/config.ts';" },
      ],
      ['a command that uses tests', { 'scripts/cli/a.ts': "import { x } from '../../test/support/until.ts';" }],
      ['a signer that goes to the Internet', { 'src/signer/a.ts': "import { get } from 'node:https';" }],
      ['an imported program', { 'test/a.test.ts': "import '../src/main.ts';" }],
      ['a file outside every room', { 'src/misc/a.ts': '' }],
    ],
    passed: [
      [
        'settings’ types',
        { 'indexers/follower/a.ts': "import type { NetworkConfig } from '../../src/config/config.ts';" },
      ],
    ],
  },
  {
    name: 'a file of src/lib wraps one library',
    find: libraryFindings,
    caught: [
      ['two libraries in one', { 'src/lib/a.ts': "import PQueue from 'p-queue';\nimport { request } from 'undici';" }],
    ],
  },
  {
    name: 'no file only passes things on',
    find: barrelFindings,
    caught: [['a barrel', { 'src/api/index.ts': "export { a } from './a.ts';\nexport type { B } from './b.ts';\n" }]],
  },
];
