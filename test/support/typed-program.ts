/** Programs that ask: run with lines on standard input, or at a terminal, which `script` of util-linux makes. */
import { spawnSync } from 'node:child_process';
import { startProcess } from './processes.ts';
import { type Ended, environment, type Variables } from './quayside-process.ts';
import { until } from './until.ts';

type Place = Readonly<{ cwd: string; variables: Variables }>;

function start(command: string, words: readonly string[], { cwd, variables }: Place) {
  const started = startProcess(command, words, { cwd, env: environment(variables), stdio: 'pipe' });
  const { child, stdout, stderr } = started;
  child.stdin?.on('error', () => {});
  const ended = started.ended.then((code) => ({ code, stdout: stdout(), stderr: stderr() }));
  return { ...started, ended, type: (text: string) => void child.stdin?.write(text) };
}

/** Runs a program without a terminal, with lines on standard input. */
export function runTyped(words: readonly string[], lines: readonly string[], place: Place): Promise<Ended> {
  const { child, ended } = start(process.execPath, words, place);
  child.stdin?.end(lines.map((line) => `${line}\n`).join(''));
  return ended;
}

export const hasTerminal: boolean =
  spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') ?? false;

/** Runs a program on its own terminal, which echoes what is typed unless the program turns that off. */
export function atTerminal(words: readonly string[], place: Place) {
  const command = [process.execPath, ...words].map((word) => `'${word}'`).join(' ');
  const variables = { TERM: 'xterm', ...place.variables };
  const { ended, output: shown, type } = start('script', ['-qefc', command, '/dev/null'], { ...place, variables });
  let seen = 0;
  return {
    ended,
    shown,
    /** Waits for a text, then types. @returns what was shown since the last answer */
    async answer(text: string | RegExp, typed: string | ((found: string) => string)): Promise<string> {
      const found = () => shown().slice(seen).search(text);
      await until(`"${text}" is asked; shown is:\n${shown()}`, () => found() >= 0);
      const at = seen + found();
      const part = shown().slice(seen);
      const match = shown().slice(at).match(text)?.[0] ?? '';
      seen = at + match.length;
      type(`${typeof typed === 'string' ? typed : typed(match)}\r`);
      return part;
    },
  };
}
