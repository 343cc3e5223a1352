/** Completion of a tool's commands and options in a shell. The script of a shell asks the tool for the words. */
import { dashed, type Tool } from './command.ts';

/** Returns the script for a shell; null if the shell is not known. */
export function completionScript(tool: string, shell: string): readonly string[] | null {
  const own = `_${tool.replace('-', '_')}`;
  const bash = [
    `${own}() {`,
    `  local words="$(${tool} --complete "\${COMP_WORDS[@]:1:COMP_CWORD-1}")"`,
    `  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))`,
    '}',
    `complete -o default -F ${own} ${tool}`,
  ];
  const scripts: Readonly<Record<string, readonly string[]>> = {
    bash,
    zsh: ['autoload -U +X bashcompinit && bashcompinit', ...bash],
    fish: [`complete -c ${tool} -f -a '(${tool} --complete (commandline -opc)[2..])'`],
  };
  return scripts[shell] ?? null;
}

/** Returns the words that may follow others on the command line. */
export function nextWords({ commands }: Tool, words: readonly string[]): readonly string[] {
  const command = commands.find(({ name }) => name === words.slice(0, name.split(' ').length).join(' '));
  if (command) {
    const { options = {} } = command;
    const given = Object.keys(options).find((name) => `--${dashed(name)}` === words.at(-1));
    const { choices = [] } = given === undefined ? {} : (options[given] ?? {});
    if (choices.length > 0) return choices;
    return [...Object.keys(options), 'json', 'help'].map((one) => `--${dashed(one)}`);
  }
  const start = words.map((word) => `${word} `).join('');
  const following = commands.filter(({ name }) => name.startsWith(start)).map(({ name }) => name.slice(start.length));
  return [...new Set(following.map((rest) => rest.split(' ')[0] ?? ''))];
}
