/**
 * Replaces the program of an installed client and, if it does not stay up, puts the old one back.
 * @module
 */
import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, createReadStream, existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { permanent } from '../../src/core/fault.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { readOwnVersion } from './install.ts';
import { compareVersions } from './release-findings.ts';
import { fill, type Place } from './service-files.ts';
import { changeService, readState, type Service } from './services.ts';

const LOOK_MS = 1_000;

/** What is replaced, and where the old one is kept. */
export type Target = Readonly<{ path: string; previous: string }>;

/** @throws Fault permanent `unit_unreadable` */
export function targetOf({ unit, recipe }: Service, place: Place): Target {
  const text = readFileSync(join(place.unitDir, unit), 'utf8');
  const [, quoted, plain] = /^ExecStart=(?:"([^"]+)"|(\S+))/m.exec(text) ?? [];
  const program = quoted ?? plain;
  if (program === undefined) {
    throw permanent(
      'unit_unreadable',
      `${unit} in ${place.unitDir} names no program: write it again with \`quayside node install\``,
    );
  }
  const path = recipe.upgraded_file ? fill(recipe.upgraded_file, place, recipe) : program;
  return { path, previous: `${path}.previous` };
}

export async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

/** Versions of the program that runs and of the one that replaces it; null where a program does not say its own. */
export type Versions = Readonly<{ from: string | null; to: string | null }>;

/**
 * Compares both programs.
 * @throws Fault permanent `version_too_old`: a database that a newer version has written is not read by an older one
 */
export async function compareUpgrade({ recipe }: Service, target: Target, file: string): Promise<Versions> {
  const { version_args: args, version: least, client } = recipe;
  if (!args) return { from: null, to: null };
  const [from, to] = await Promise.all([readOwnVersion(target.path, args), readOwnVersion(file, args)]);
  const wanted = from !== null && compareVersions(from, least) > 0 ? from : least;
  if (to !== null && compareVersions(to, wanted) >= 0) return { from, to };
  throw permanent(
    'version_too_old',
    `${file} is ${client} ${to ?? 'of an unknown version'}, and ${wanted} or later is wanted: to go back to the one before, use --rollback`,
  );
}

export type Swap = Readonly<{
  service: Service;
  target: Target;
  env: NodeJS.ProcessEnv;
  clock: Clock;
  watchMs: number;
}>;

const systemctl = ({ service, env }: Swap, verb: 'start' | 'stop'): Promise<string> =>
  changeService(service, verb, env);

/**
 * Stops the client, replaces its program, starts it and watches it. The old program is kept.
 * @returns null if it stayed up; otherwise why it did not, and then the old program runs again
 */
export async function replaceProgram(swap: Swap, file: string): Promise<string | null> {
  const { path, previous } = swap.target;
  const draft = `${path}.${process.pid}.draft`;
  copyFileSync(file, draft);
  chmodSync(draft, 0o755);
  try {
    await systemctl(swap, 'stop');
    copyFileSync(path, `${previous}.draft`);
    chmodSync(`${previous}.draft`, 0o755);
    renameSync(`${previous}.draft`, previous);
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
  const why = await startAndWatch(swap);
  if (why !== null) await takeBack(swap);
  return why;
}

/** Puts the old program back; the one that is replaced becomes the old one. @throws Fault permanent `no_previous` */
export async function rollBack(swap: Swap): Promise<string | null> {
  if (!existsSync(swap.target.previous)) {
    throw permanent(
      'no_previous',
      `there is no ${swap.target.previous}: no upgrade was made, or it was removed. Get the older program from its publisher`,
    );
  }
  await takeBack(swap, false);
  return startAndWatch(swap);
}

async function takeBack(swap: Swap, andStart = true): Promise<void> {
  const { path, previous } = swap.target;
  await systemctl(swap, 'stop');
  const between = `${path}.${process.pid}.draft`;
  renameSync(path, between);
  renameSync(previous, path);
  renameSync(between, previous);
  if (andStart) await systemctl(swap, 'start');
}

/** @returns null if the service was active all the time, or why not */
async function startAndWatch(swap: Swap): Promise<string | null> {
  const { service, env, clock, watchMs } = swap;
  try {
    await systemctl(swap, 'start');
    const before = await readState(service, env);
    const endMs = clock.nowMs() + watchMs;
    for (;;) {
      const { state, result, restarts } = await readState(service, env);
      if (!state.startsWith('active ') || restarts > before.restarts) {
        return `${service.unit} is ${state} (${result}), restarted ${restarts - before.restarts} times`;
      }
      if (clock.nowMs() >= endMs) return null;
      await clock.sleep(Math.min(LOOK_MS, endMs - clock.nowMs()));
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
