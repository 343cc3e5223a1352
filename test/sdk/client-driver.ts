/** The clients of four languages as programs that make one call for each line. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { loaderOptions, ownProgram } from '../support/own-program.ts';

export type Language = Readonly<{
  name: string;
  /** File with the client's types. */
  source: string;
  /** Whether this machine has what the client needs. */
  isHere: () => boolean;
  /** Returns the commands of the driver and of the example. @param scratch a folder for what is built */
  commands: (scratch: string) => Readonly<{ driver: readonly string[]; example: readonly string[] }>;
}>;

const succeeds = (program: string, ...args: string[]): boolean => spawnSync(program, args).status === 0;
const folder = resolve('test/sdk');

export const languages: readonly Language[] = [
  {
    name: 'TypeScript',
    source: 'sdk/typescript/quayside.ts',
    isHere: () => true,
    commands(scratch) {
      const compiler = fileURLToPath(new URL('../bin/tsc', import.meta.resolve('typescript')));
      execFileSync(process.execPath, [compiler, '-p', 'sdk/typescript', '--outDir', scratch]);
      writeFileSync(join(scratch, 'package.json'), '{"type":"module"}');
      return {
        driver: [process.execPath, ...loaderOptions, ownProgram(new URL('./driver.ts', import.meta.url))],
        example: [process.execPath, join(scratch, 'example.js')],
      };
    },
  },
  {
    name: 'Python',
    source: 'sdk/python/quayside.py',
    isHere: () => succeeds('python3', '-c', 'import sys; sys.exit(sys.version_info < (3, 9))'),
    commands: () => ({
      driver: ['python3', join(folder, 'driver.py')],
      example: ['python3', '-B', 'sdk/python/example.py'],
    }),
  },
  {
    name: 'PHP',
    source: 'sdk/php/quayside.php',
    isHere: () => succeeds('php', '-r', 'exit(extension_loaded("curl") && PHP_VERSION_ID >= 80100 ? 0 : 1);'),
    commands: () => ({ driver: ['php', join(folder, 'driver.php')], example: ['php', 'sdk/php/example.php'] }),
  },
  {
    name: 'Go',
    source: 'sdk/go/quayside.go',
    isHere: () => succeeds('go', 'version'),
    commands(scratch) {
      const build = (name: string, cwd: string) =>
        execFileSync('go', ['build', '-o', join(scratch, name), '.'], { cwd });
      build('driver', join(folder, 'go'));
      build('example', 'sdk/go/example');
      return { driver: [join(scratch, 'driver')], example: [join(scratch, 'example')] };
    },
  },
];

export type Outcome = Readonly<{
  result?: unknown;
  error?: Readonly<{
    kind: string;
    code?: string;
    status?: number;
    message: string;
    param?: string;
    requestId?: string;
  }>;
}>;

export type Driver = Readonly<{ call(name: string, ...args: unknown[]): Promise<Outcome>; stop(): void }>;

/** Starts a driver. @param env `BASE_URL`, `API_KEY`, `API_SECRET` and, for a clock that stands still, `NOW` */
export function startDriver(command: readonly string[], env: Readonly<Record<string, string>>): Driver {
  const [program = '', ...args] = command;
  const child: ChildProcess = spawn(program, args, {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const { stdin, stdout } = child;
  if (!stdin || !stdout) throw new Error('the driver has no pipes');
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  return {
    async call(name, ...given) {
      stdin.write(`${JSON.stringify({ call: name, args: given })}\n`);
      const { value, done } = await lines.next();
      if (done) throw new Error(`the driver ended in ${name}`);
      return JSON.parse(value) as Outcome;
    },
    stop: () => void child.kill(),
  };
}

/** Builds a language's programs in a folder of their own. */
export function prepare({ commands }: Language) {
  const scratch = mkdtempSync(join(tmpdir(), 'quayside-sdk-'));
  const { driver, example } = commands(scratch);
  return { words: driver, example, remove: () => rmSync(scratch, { recursive: true, force: true }) };
}
