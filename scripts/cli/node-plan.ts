/**
 * Says whether nodes fit on this machine, and what they cost in disk.
 * @module
 */
import { resolve } from 'node:path';
import { systemClock } from '../../src/lib/clock.ts';
import { readRoom } from '../nodes/disk-forecast.ts';
import { type DiskSpeed, measureDisk } from '../nodes/disk-speed.ts';
import { exitCodeOf, type Finding, findingLines } from '../nodes/finding.ts';
import { machineFindings, readMachine } from '../nodes/machine.ts';
import { type MachineNeeds, type NetworkRecipe, readRecipes } from '../nodes/recipe.ts';
import { type OfflineCommand, textOption, usage } from './command.ts';

const GIB = 1 << 30;
/** With less, not even the file for the measurement is written. */
const FREE_GIB_MIN = 2;

export const nodePlan: OfflineCommand = {
  name: 'node plan',
  args: [],
  optionalArgs: ['network'],
  summary: 'Say whether a node fits on this machine: cores, memory, disk and its speed, clock, ports.',
  options: {
    dir: { value: 'DIR', help: 'where the node’s data would be (default: the working directory)' },
    'without-speed': { help: 'do not measure the disk, for which a file of 256 MiB is written and removed' },
  },
  notes: [
    'What each way to run a node needs comes from scripts/nodes/recipes, with source and date. Nothing is installed.',
    'Exit codes: 0 one way to run each network’s node fits, taken alone; 1 otherwise; 2 wrong usage.',
  ],
  async runOffline(input) {
    const [wanted] = input.args;
    const recipes = readRecipes().filter(({ network }) => wanted === undefined || network === wanted);
    if (recipes.length === 0) {
      const known = readRecipes().map(({ network }) => network);
      throw usage(`there is no recipe for "${wanted}", only for ${known.join(', ')}`);
    }
    const folder = resolve(input.cwd, textOption(input, 'dir') ?? '.');
    const freeGib = (await readRoom(folder, systemClock.nowMs())).freeBytes / GIB;
    const speed = input.options['without-speed'] || freeGib < FREE_GIB_MIN ? null : measureDisk(folder);
    return planOf(recipes, folder, freeGib, speed);
  },
};

type Judged = Readonly<{ recipe: NetworkRecipe; needs: MachineNeeds; findings: readonly Finding[] }>;

async function planOf(recipes: readonly NetworkRecipe[], folder: string, freeGib: number, speed: DiskSpeed | null) {
  const ways = recipes.flatMap((recipe) => recipe.machines.map((needs) => ({ recipe, needs })));
  const machine = await readMachine(
    ways.flatMap(({ needs }) => needs.ports),
    { freeGib, speed },
  );
  const judged = ways.map((way): Judged => ({ ...way, findings: machineFindings(machine, way.needs) }));
  const fits = (recipe: NetworkRecipe): boolean =>
    judged.some((one) => one.recipe === recipe && exitCodeOf(one.findings) < 2);
  const isFit = recipes.every(fits);
  const json = judged.map(({ recipe, needs, findings }) => ({
    network: recipe.network,
    run: needs.run,
    fits: exitCodeOf(findings) < 2,
    disk_gib: needs.disk_gib.reduce((one, other) => one + other, 0),
    growth_gib_month: needs.growth_gib_month,
    checks: findings,
    source: needs.source,
  }));
  return {
    json: { folder, ways: json },
    lines: [...judged.flatMap(wayLines), verdictLine(recipes.filter(fits), recipes)],
    code: isFit ? (0 as const) : (1 as const),
  };
}

function wayLines({ recipe, needs, findings }: Judged): string[] {
  const [least, most] = needs.growth_gib_month;
  const growth =
    most === 0 ? 'growth not known, or bounded by its settings' : `${least} to ${most} GiB more each month`;
  const { source, note } = needs;
  return [
    `${recipe.network}: ${needs.run}`,
    `  takes ${needs.disk_gib.join(' + ')} GiB of disk, ${growth} (${source.text}, ${source.date})`,
    ...(note ? [`  ${note}`] : []),
    ...findingLines(findings).map((line) => (line === '' ? '' : `  ${line}`)),
    '',
  ];
}

const verdictLine = (fit: readonly NetworkRecipe[], all: readonly NetworkRecipe[]): string =>
  fit.length === 0
    ? `this machine fits no node of ${all.map(({ network }) => network).join(', ')}`
    : `this machine fits a node of ${fit.map(({ network }) => network).join(', ')}, each taken alone`;
