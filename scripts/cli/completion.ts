/** Completion of a tool's commands and options in a shell, as a script that the shell reads when it starts. */
import type { Listed, Tool } from './command.ts';
import { everywhere, placeholder } from './option.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;

/** Returns the script as lines; null for a shell that is not known. */
export function completion({ name }: Tool, all: readonly Listed[], shell: string): readonly string[] | null {
  switch (shell) {
    case 'bash':
      return bash(name, all);
    case 'zsh':
      return ['autoload -U +X bashcompinit && bashcompinit', ...bash(name, all)];
    case 'fish':
      return fish(name, all);
    default:
      return null;
  }
}

/** Returns the words that may follow each beginning of a command. */
function wordsAfter(all: readonly Listed[]): ReadonlyMap<string, readonly string[]> {
  const after = new Map<string, Set<string>>();
  for (const { name } of all) {
    for (const [at, word] of name.split(' ').entries()) {
      const start = name.split(' ').slice(0, at).join(' ');
      after.set(start, (after.get(start) ?? new Set()).add(word));
    }
  }
  for (const { name, options = {} } of all) {
    const words = after.get(name) ?? new Set();
    for (const option of Object.keys({ ...options, ...everywhere })) words.add(`--${option}`);
    after.set(name, words);
  }
  return new Map([...after].map(([start, words]) => [start, [...words]]));
}

function bash(tool: string, all: readonly Listed[]): string[] {
  const own = `_${tool.replace('-', '_')}`;
  const starts = [...wordsAfter(all)];
  const choices = all.flatMap(({ name, options = {} }) =>
    Object.entries(options).flatMap(([option, one]) =>
      one.choices ? [`    '${name} --${option}') words='${one.choices.join(' ')}' ;;`] : [],
    ),
  );
  return [
    `${own}() {`,
    '  local start= words= word',
    `  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do`,
    `    case "\${start:+$start }$word" in`,
    `      ${starts.flatMap(([start]) => (start === '' ? [] : [`'${start}'`])).join('|')}) start="\${start:+$start }$word" ;;`,
    '      *) break ;;',
    '    esac',
    '  done',
    '  case "$start" in',
    ...starts.map(([start, words]) => `    '${start}') words='${words.join(' ')}' ;;`),
    '  esac',
    `  case "$start \${COMP_WORDS[COMP_CWORD-1]}" in`,
    ...choices,
    '  esac',
    `  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))`,
    '}',
    `complete -o default -F ${own} ${tool}`,
  ];
}

function fish(tool: string, all: readonly Listed[]): string[] {
  const seen = (words: readonly string[]) => words.map((word) => `__fish_seen_subcommand_from ${word}`);
  const lines = [`complete -c ${tool} -f`];
  for (const [start, next] of wordsAfter(all)) {
    const [words, following] = [start.split(' ').filter(Boolean), next.filter((word) => !word.startsWith('--'))];
    const when = words.length === 0 ? ['__fish_use_subcommand'] : seen(words);
    const not =
      words.length === 0 || following.length === 0 ? [] : [`not __fish_seen_subcommand_from ${following.join(' ')}`];
    for (const word of following) lines.push(`complete -c ${tool} -n '${[...when, ...not].join('; and ')}' -a ${word}`);
  }
  for (const { name, options = {} } of all) {
    for (const [option, one] of Object.entries({ ...options, ...everywhere })) {
      const value = placeholder(one) === null ? '' : one.choices ? ` -x -a '${one.choices.join(' ')}'` : ' -r';
      lines.push(`complete -c ${tool} -n '${seen(name.split(' ')).join('; and ')}' -l ${option}${value}`);
    }
  }
  return lines;
}
