/**
 * No file and no folder imports, through others, itself. Imports of types count.
 * @module
 */
import { posix } from 'node:path';
import { importsOf, type Sources } from '../support/source-tree.ts';
import type { Rule } from './rule.ts';

type Graph = ReadonlyMap<string, ReadonlySet<string>>;

/** Folders that import each other; the list only shrinks. */
const allowed: readonly string[] = [];

/** A folder and what lies inside it are one place: only what lies side by side can go round in a circle. */
const areNested = (a: string, b: string): boolean => `${a}/`.startsWith(`${b}/`) || `${b}/`.startsWith(`${a}/`);

function graphOf(sources: Sources, placeOf: (path: string) => string): Graph {
  const graph = new Map<string, Set<string>>();
  for (const [path, text] of sources) {
    const place = placeOf(path);
    const targets = graph.get(place) ?? new Set();
    graph.set(place, targets);
    for (const target of importsOf(path, text)) {
      const other = placeOf(target);
      if (sources.has(target) && other !== place) targets.add(other);
    }
  }
  return graph;
}

/** Returns one circle through each place that is on one and on no circle before it. */
function circlesIn(graph: Graph): string[][] {
  const circles: string[][] = [];
  const done = new Set<string>();
  const walk = (place: string, way: readonly string[]): void => {
    const at = way.indexOf(place);
    if (at >= 0) circles.push(way.slice(at));
    if (at >= 0 || done.has(place)) return;
    for (const next of graph.get(place) ?? []) walk(next, [...way, place]);
    done.add(place);
  };
  for (const place of graph.keys()) walk(place, []);
  return circles;
}

const describe = (circle: readonly string[]): string =>
  circle.length === 2 ? [...circle].sort().join(' <-> ') : [...circle, circle[0]].join(' -> ');

function fileFindings(sources: Sources): string[] {
  return circlesIn(graphOf(sources, (path) => path)).map(
    (circle) => `${describe(circle)}: move what they share into the lower file`,
  );
}

function folderFindings(sources: Sources): string[] {
  const graph = graphOf(sources, posix.dirname);
  const sideBySide = new Map(
    [...graph].map(([place, targets]) => [place, new Set([...targets].filter((other) => !areNested(place, other)))]),
  );
  const found = circlesIn(sideBySide).map(describe);
  return [
    ...found
      .filter((circle) => !allowed.includes(circle))
      .map((circle) => `${circle}: move what they share below both`),
    ...allowed
      .filter((circle) => !found.includes(circle))
      .map((circle) => `${circle} is no circle any more: delete it in test/tidy/circles.ts`),
  ];
}

export const circleRules: readonly Rule[] = [
  {
    name: 'no circles between files',
    find: fileFindings,
    caught: [
      [
        'a circle of types',
        {
          'src/api/a.ts': "import type { B } from './b.ts';",
          'src/api/b.ts': "import { c } from './c.ts';",
          'src/api/c.ts': "import type { A } from './a.ts';",
        },
      ],
    ],
  },
  {
    name: 'no circles between folders',
    find: folderFindings,
    caught: [
      [
        'two rooms that need each other',
        {
          'src/api/a.ts': "import type { B } from '../rates/b.ts';",
          'src/api/c.ts': '',
          'src/rates/b.ts': "import type { C } from '../api/c.ts';",
        },
      ],
    ],
    passed: [
      [
        'a folder and what is inside it',
        {
          'src/api/a.ts': "import type { B } from './deep/b.ts';",
          'src/api/c.ts': '',
          'src/api/deep/b.ts': "import type { C } from '../c.ts';",
        },
      ],
    ],
  },
];
