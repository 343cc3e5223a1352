/**
 * How long each function is, and how much state its nested functions share, read from the compiler's own syntax tree.
 * @module
 */
import type { Node, SourceFile } from 'typescript/unstable/ast';
import { NodeFlags, SyntaxKind } from 'typescript/unstable/ast';
import { isIdentifier, isVariableDeclaration } from 'typescript/unstable/ast/is';
import { createVirtualFileSystem } from 'typescript/unstable/fs';
import { API } from 'typescript/unstable/sync';
import type { Sources } from '../support/source-tree.ts';
import type { Rule } from './rule.ts';

const LINES_MAX = 70;
const SHARED_MAX = 5;

/** `lines`: lines with code outside nested functions. `shared`: its mutable variables that nested functions use. */
export type FunctionSize = Readonly<{ path: string; name: string; lines: number; shared: number }>;

type Open = {
  node: Node;
  lines: Set<number>;
  mutable: Set<string>;
  /** Names that nested functions use. */
  used: Set<string>;
};

/** Measures every function of these files. The compiler parses them from memory; it resolves and checks nothing. */
function functionSizes(sources: Sources): FunctionSize[] {
  const paths = [...sources.keys()].filter((path) => /\.(ts|js|mjs)$/.test(path));
  if (paths.length === 0) return [];
  const compilerOptions = { allowJs: true, noLib: true, noResolve: true, types: [] };
  const api = new API({
    cwd: '/tidy',
    fs: createVirtualFileSystem({
      ...Object.fromEntries(paths.map((path) => [`/tidy/${path}`, sources.get(path) ?? ''])),
      '/tidy/tsconfig.json': JSON.stringify({ compilerOptions, files: paths }),
    }),
  });
  try {
    const project = api.updateSnapshot({ openProjects: ['/tidy/tsconfig.json'] }).getProjects()[0];
    return paths.flatMap((path) => {
      const file = project?.program.getSourceFile(`/tidy/${path}`);
      if (!file) throw new Error(`${path} could not be parsed`);
      return sizesIn(path, file);
    });
  } finally {
    api.close();
  }
}

function sizesIn(path: string, file: SourceFile): FunctionSize[] {
  const sizes: FunctionSize[] = [];
  const open: Open[] = [];
  const lineOf = (position: number) => file.getLineAndCharacterOfPosition(position).line;
  const visit = (node: Node): void => {
    const first = lineOf(node.getStart(file));
    // The line on which a nested function begins is its parent's too.
    open.at(-1)?.lines.add(first);
    const opened = isFunction(node)
      ? { node, lines: new Set([first]), mutable: new Set<string>(), used: new Set<string>() }
      : undefined;
    if (opened) open.push(opened);
    const self = open.at(-1);
    if (isIdentifier(node)) for (const outer of open.slice(0, -1)) outer.used.add(node.text);
    if (isVariableDeclaration(node) && isMutable(node)) self?.mutable.add(node.name.getText(file));
    node.forEachChild(visit);
    const last = lineOf(node.end);
    self?.lines.add(last);
    // A text over several lines is one leaf.
    if (isText(node)) for (let line = first; line < last; line++) self?.lines.add(line);
    if (!opened) return;
    open.pop();
    const shared = [...opened.mutable].filter((name) => opened.used.has(name)).length;
    sizes.push({ path, name: nameOf(opened.node, file), lines: opened.lines.size, shared });
  };
  file.forEachChild(visit);
  return sizes;
}

const functionKinds: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.FunctionExpression,
  SyntaxKind.ArrowFunction,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.Constructor,
  SyntaxKind.GetAccessor,
  SyntaxKind.SetAccessor,
]);

const textKinds: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.NoSubstitutionTemplateLiteral,
  SyntaxKind.TemplateHead,
  SyntaxKind.TemplateMiddle,
  SyntaxKind.TemplateTail,
]);

const isFunction = (node: Node): boolean => functionKinds.has(node.kind);
const isText = (node: Node): boolean => textKinds.has(node.kind);

/** `let`, or a collection that is filled later. */
function isMutable(node: Node & { initializer?: Node | undefined }): boolean {
  if (!(node.parent.flags & NodeFlags.Const)) return true;
  const text = node.initializer?.getText() ?? '';
  return text === '[]' || text === '{}' || /^new (Map|Set)\b[^(]*\(\)$/.test(text);
}

/** The function's own name, or that of what it is assigned to. */
function nameOf(node: Node, file: SourceFile): string {
  for (let at: Node | undefined = node; at && (at === node || !isFunction(at)); at = at.parent) {
    if ('name' in at && at.name) return (at.name as Node).getText(file);
  }
  return '(anonymous)';
}

function functionFindings(sources: Sources): string[] {
  return functionSizes(sources).flatMap(({ path, name, lines, shared }) => [
    ...(lines > LINES_MAX
      ? [`${path} ${name} has ${lines} lines of its own, more than ${LINES_MAX}: take it apart`]
      : []),
    ...(shared > SHARED_MAX
      ? [`${path} ${name}: its functions share ${shared} variables, more than ${SHARED_MAX}: give its state a type`]
      : []),
  ]);
}

const lines = (count: number): string => '  go();\n'.repeat(count);
const six = ['let a, b, c, d, e;', 'const f = new Set();'].join('\n');
export const functionRules: readonly Rule[] = [
  {
    name: 'functions stay short and share little state',
    find: functionFindings,
    caught: [
      ['a long function', { 'src/api/a.ts': `function long() {\n${lines(69)}}` }],
      ['a long text', { 'src/api/a.ts': `const page = () => \`\n${lines(70)}\`;` }],
      ['much shared state', { 'src/api/a.ts': `function box() {\n${six}\nreturn () => [a, b, c, d, e, f];\n}` }],
    ],
    passed: [
      ['a function at the limit', { 'src/api/a.ts': `function long() {\n${lines(68)}}` }],
      [
        'nested functions and comments',
        {
          'src/api/a.ts': `function a() {\n${lines(40)}\nfunction b() {\n${lines(40)}}\n${'// why\n'.repeat(40)}}`,
        },
      ],
      ['much state that nothing shares', { 'src/api/a.ts': `function box() {\n${six}\nreturn [a, b, c, d, e, f];\n}` }],
    ],
  },
];
