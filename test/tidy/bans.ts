/**
 * Calls and names that are banned, by place.
 */

import { families, networkNames } from './networks.ts';
import type { Rule } from './rule.ts';
import { type Sources, withoutComments } from './source-tree.ts';

type Ban = Readonly<{ pattern: RegExp; except: RegExp; todo: string }>;

const nowhere = /^$/;
/** Where a chain's name may be used besides `config`, `docs` and tests. */
const chainNames = new RegExp(`^(src/(chains|sandbox)/|indexers/(${families.join('|')})\\.ts|scripts/)`);
const bans: readonly Ban[] = [
  { pattern: /\bDate\.now\(|\bnew Date\(\)/, except: /^src\/lib\/clock\.ts$/, todo: 'take a Clock' },
  { pattern: /\bMath\.random\(/, except: nowhere, todo: 'take the random source as an argument, or use src/lib/id.ts' },
  {
    pattern: /(?<![.\w])set(Timeout|Interval)\((?!ms)|node:timers/,
    except: /^(src\/lib\/clock|scripts\/test)\.ts$/,
    todo: 'wait with Clock.sleep; limit a request with AbortSignal.timeout',
  },
  {
    pattern: /\bprocess\.exit\(/,
    except: /^(src\/(app\/program|lib\/runtime)\.ts|scripts\/build\.mjs)$/,
    todo: 'set process.exitCode and let the program end',
  },
  { pattern: /\bparseFloat\(/, except: nowhere, todo: 'money and rates are exact: use core/money or core/rate' },
  {
    pattern: /\bNumber\([^)]*(units|amount|par)\b|\bNumber\([^)]*Minor\b/i,
    except: /^src\/(core\/event|api\/session-(view|service))\.ts$/,
    todo: 'money is a bigint until it is shown; only the API’s JSON has it as a number',
  },
  {
    pattern: new RegExp(`(?<![a-z])(${families.join('|')})(?![a-z])|(['"\`])(${networkNames.join('|')})['"\`]`, 'i'),
    except: chainNames,
    todo: 'a chain’s name stays in its folder, the configuration and the sandbox: ask the configuration',
  },
  {
    pattern: /^\s*(db\.)?write\(/,
    except: /^(?!src\/database\/)/,
    todo: 'await or return it: a write may wait for other processes, and may fail',
  },
  {
    pattern: /^import \{ z \} from 'zod'/,
    except: nowhere,
    todo: "write `import * as z from 'zod'`: a build then leaves out what is not used, two thirds of it",
  },
  { pattern: /^\s*\.\.\.\{ /, except: nowhere, todo: 'write its fields among the others: a spread only saves lines' },
  {
    pattern: /^import \{.*\} from 'node:http'/,
    except: /^scripts\//,
    todo: 'import types alone, and what runs from src/lib/node-http.ts: it saves each process 7 MB',
  },
  {
    pattern: new RegExp(
      [
        /\b(iif|instr|ifnull|json_(extract|set|each))\(|->> '|\b(LIKE|GLOB|LIMIT -1|INSERT OR|INDEXED BY|COLLATE)\b/,
        // Folded to lower case, a number that is too small, a table's name in the target.
        /\bAS [a-z]+[A-Z]|\bAS INTEGER\)|onConflictDo/,
        // A condition is no number.
        /\bsum\(\w[\w.]* (=|IN|<|>)|CROSS JOIN \w+ AS \w+ ON\b/,
      ]
        .map(({ source }) => source)
        .join('|'),
    ),
    except: /^(?!src\/database\/)|\/engine\/\w.*$|\.pg\.sql$/,
    todo: 'write SQL that other engines have too: CASE, "quotedNames", BIGINT, ON CONFLICT with its target in the text',
  },
  {
    pattern: /\bAUTOINCREMENT\b|lastInsertRowid|\browid\b|\bmax\((\w+\.)?id\)/,
    except: /^(?!src\/database\/)|\/engine\/\w.*$/,
    todo: 'an id says nothing about order: make it in the program, and take the order from nextNumber',
  },
  {
    pattern: /\bPromise\.all(Settled)?\(/,
    except: /^(?!src\/database\/)/,
    todo: 'a body runs its statements one after the other: use mapInOrder',
  },
  {
    pattern: /\bPick<Database, /,
    except: nowhere,
    todo: 'take the repositories by name, or the whole database where a program puts its parts together',
  },
  {
    pattern: /\bON DELETE CASCADE\b/i,
    except: nowhere,
    todo: 'delete row by row: nothing about money vanishes by itself',
  },
  {
    pattern: /\bas (unknown as )?PaidOrder\b/,
    except: /^src\/doors\/success\.ts$/,
    todo: 'a paid order is made of its row, by paidOrder alone',
  },
  {
    pattern: /\bpaidOrder\(/,
    except: /^src\/doors\/(success|notices|epay\/router)\.ts$/,
    todo: 'success is signed in a notice and in a return, and nowhere else',
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

export const banRules: readonly Rule[] = [
  {
    name: 'banned calls and chains’ names stay away',
    find: banFindings,
    caught: [
      ['a clock of one’s own', { 'src/api/a.ts': 'const now = Date.now();' }],
      ['dice', { 'src/api/a.ts': 'if (Math.random() < 0.5) return;' }],
      ['a wait', { 'src/api/a.ts': 'setTimeout(go, 10);' }],
      ['a number for money', { 'src/api/a.ts': 'const cents = Number(payment.units);' }],
      ['a network by name', { 'src/api/a.ts': "if (network === 'bsc') return 18;" }],
      ['a test network by name', { 'src/api/a.ts': "if (network === 'sepolia') return 18;" }],
      ['a family by name', { 'src/api/a.ts': 'const solana_slot = 1;' }],
      ['a write that nobody waits for', { 'src/database/a.ts': '      db.write(() => insert(row));' }],
      ['SQL of one engine', { 'src/database/a.ts': "prepare('SELECT at_ms AS atMs FROM a INDEXED BY b');" }],
      ['an order by ids', { 'src/database/a.ts': "const newest = prepare('SELECT max(id) FROM a');" }],
      ['all of zod', { 'src/api/a.ts': "import { z } from 'zod';" }],
      ['a part of the database', { 'src/api/a.ts': "  database: Pick<Database, 'keys'>;" }],
      ['success signed elsewhere', { 'src/doors/epusdt/a.ts': 'const signed = notice(paidOrder(pid, order), key);' }],
      ['a payment made up', { 'src/doors/epay/a.ts': 'const paid = { ...order } as PaidOrder;' }],
      ['rows that vanish', { 'src/database/schema.sql': 'REFERENCES a(id) on delete cascade' }],
    ],
    passed: [
      ['a write that is awaited', { 'src/database/a.ts': '      await db.write(() => insert(row));' }],
      ['comments that say anything', { 'src/api/a.ts': '// Date.now() on bsc\n/* Math.random() */' }],
      ['a network’s name as part of a sentence', { 'src/api/a.ts': "throw new Error('the bsc is long');" }],
    ],
  },
];
