/**
 * Writes `src/database/tables.ts`, the tables for the query builder, from `src/database/schema.sql`.
 *
 *   npm run tables               writes the file
 *   npm run tables -- --check    fails if the file is not what the schema says
 *
 * SQLite itself reads the schema. Types that SQL does not say stand behind `-->` at the end of a column's line:
 * `--> Scope`, a type of `src/core` or `column-values.ts`; `--> intent`, a column of
 * `column-types.ts`; `--> exact T`, JSON whose numbers keep their form. The names of columns and their checks say the
 * rest.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import Sqlite from 'better-sqlite3';

type Column = Readonly<{
  name: string;
  type: 'TEXT' | 'INTEGER' | 'BLOB';
  notnull: number;
  pk: number;
}>;

const schemaFile = 'src/database/schema.sql';
const tablesFile = 'src/database/tables.ts';
const tablesPlace = new URL(`../${tablesFile}`, import.meta.url);
const moneyColumn = /(^|_)(units|par|minor)(_max)?$/;

const camel = (name: string): string => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

const importOf = (names: string, path: string): string => ['import', names, 'from', `'${path}';`].join(' ');

/** Returns the lines of each table's columns by their names. */
function columnLines(schema: string): ReadonlyMap<string, ReadonlyMap<string, string>> {
  return new Map(
    [...schema.matchAll(/^CREATE TABLE (\w+) \(\n([\s\S]*?)\n\) STRICT/gm)].map(([, table = '', body = '']) => {
      const statements = body.split('\n').reduce<string[]>((all, line) => {
        if (/^ {2}[a-z_]+ (TEXT|INTEGER|BLOB)/.test(line)) all.push(line);
        else if (/^ {4}/.test(line) && all.length > 0) all[all.length - 1] += line;
        return all;
      }, []);
      return [table, new Map(statements.map((line) => [line.trim().split(' ')[0] ?? '', line]))];
    }),
  );
}

/** Returns the builder of a column without its constraints, such as `text().$type<Mode>()`. */
function builderOf({ name, type }: Column, line: string): string {
  const note = /--> (.+?)$/.exec(line)?.[1];
  if (type === 'BLOB') return "blob({ mode: 'buffer' })";
  if (new RegExp(`${name} IN \\(0, 1\\)`).test(line)) return "integer({ mode: 'boolean' })";
  if (type === 'INTEGER') return 'integer()';
  if (note?.startsWith('exact ')) return `exactJson<${note.slice('exact '.length)}>()`;
  if (note && /^[a-z]\w*$/.test(note)) return `${note}()`;
  if (line.includes('json_valid')) return `json<${note ?? 'never'}>()`;
  if (note) return `text().$type<${note}>()`;
  if (moneyColumn.test(name)) return 'units()';
  if (name === 'network') return 'text().$type<NetworkKey>()';
  const values = new RegExp(`CHECK \\(${name} IN \\(([^)]*)\\)\\)`).exec(line)?.[1];
  return values ? `text().$type<${values.split(/,\s+/).join(' | ')}>()` : 'text()';
}

/** Returns a column. Keys are in the schema alone, because the query builder inserts nothing. */
const columnOf = (column: Column, line: string): string =>
  `  ${camel(column.name)}: ${builderOf(column, line)}${column.notnull || column.pk ? '.notNull()' : ''},`;

/** Returns the tables as TypeScript, without the imports. */
function tablesOf(schema: string): string {
  const client = new Sqlite(':memory:');
  client.exec(schema);
  const lines = columnLines(schema);
  const tables = [...lines].map(([table, ofTable]) => {
    const columns = client.prepare<[string], Column>('SELECT * FROM pragma_table_info(?)').all(table);
    const body = columns.map((column) => columnOf(column, ofTable.get(column.name) ?? ''));
    return `export const ${camel(table)} = sqliteTable('${table}', {\n${body.join('\n')}\n});\n`;
  });
  client.close();
  return tables.join('\n');
}

/** Returns imports of the types that a text names, from the first file with each: those of `src/core` first. */
function typeImports(text: string): string[] {
  const names = new Set(
    [...text.matchAll(/(?:\$type|json|exactJson)<(.+?)>\(\)/g)].flatMap(([, type = '']) =>
      [...type.replaceAll(/'[^']*'/g, '').matchAll(/\b[A-Z]\w+/g)].map(([name]) => name),
    ),
  );
  const core = readdirSync('src/core').filter((file) => file.endsWith('.ts'));
  const files = [...core.map((file) => `../core/${file}`), './column-values.ts'];
  return files.flatMap((path) => {
    const exported = [...readFileSync(new URL(path, tablesPlace), 'utf8').matchAll(/^export type (\w+)/gm)].map(
      ([, name = '']) => name,
    );
    const used = exported.filter((name) => names.delete(name));
    return used.length === 0 ? [] : [importOf(`type { ${used.join(', ')} }`, path)];
  });
}

/** Returns the file's text for a schema, formatted as the rest of the code. */
function writeTables(schema: string): string {
  const tables = tablesOf(schema);
  const customs = ['exactJson', 'intent', 'json', 'receiptSums', 'sessionTerms', 'units'];
  const used = customs.filter((name) => new RegExp(`\\b${name}[<(]`).test(tables));
  const text = [
    '/** The tables for the query builder. Made of `schema.sql` by `npm run tables`; change that, not this. */',
    importOf('{ blob, integer, sqliteTable, text }', 'drizzle-orm/sqlite-core'),
    ...typeImports(tables),
    importOf(`{ ${used.join(', ')} }`, './engine/column-types.ts'),
    '',
    tables,
  ].join('\n');
  const biome = ['check', '--write', `--stdin-file-path=${tablesFile}`];
  return execFileSync('node_modules/.bin/biome', biome, { input: text, encoding: 'utf8' });
}

const text = writeTables(readFileSync(schemaFile, 'utf8'));
if (!process.argv.includes('--check')) writeFileSync(tablesFile, text);
else if (!existsSync(tablesFile) || readFileSync(tablesFile, 'utf8') !== text) {
  process.stderr.write(`${tablesFile} is not what ${schemaFile} says. Run \`npm run tables\`.\n`);
  process.exitCode = 1;
}
