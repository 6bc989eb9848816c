import type { Command, Option } from "commander";
import { statuses, tiers } from "../../core/model/words.ts";
import type { Register } from "./group.ts";

// Each script calls `offload complete -- <words>` and gets one suggestion a line: the word, a tab, and its description.
// A project that has Offload as a dependency has it only in `node_modules`.

const bash = `_offload() {
  local program=offload word rest
  type -P offload >/dev/null || program=node_modules/.bin/offload
  COMPREPLY=()
  while IFS=$'\\t' read -r word rest; do
    COMPREPLY+=("$word")
  done < <("$program" complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _offload offload`;

const zsh = `_offload() {
  local program=offload line
  local -a found
  (( $+commands[offload] )) || program=node_modules/.bin/offload
  for line in "\${(@f)$("$program" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( $#found )); then _describe offload found; else _files; fi
}
compdef _offload offload`;

const fish = `function __offload_complete
  set -l program offload
  type -q offload; or set program node_modules/.bin/offload
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  $program complete -- $words[2..-1] "$current" 2>/dev/null
end
complete -c offload -f -a '(__offload_complete)'`;

const scripts = { bash, zsh, fish };

const help = `
Put one line into the start file of your shell:
  eval "$(npx offload completion bash)"       # ~/.bashrc
  eval "$(npx offload completion zsh)"        # ~/.zshrc, after compinit
  npx offload completion fish | source        # ~/.config/fish/config.fish

It completes the command \`offload\`. In a project that has Offload as a dependency also add: alias offload="npx offload"
`;

const shells = ["bash", "zsh", "fish"] as const;

/** `offload completion` */
export const register: Register = (group) => {
  group
    .help(help)
    .does([["<shell>", "shell that reads the script", { among: shells }]], (_, shell) => ({ text: scripts[shell] }));
};

interface Suggestion {
  word: string;
  description: string;
}

/** Suggests how to go on with a command line. Its last word is the one to complete. */
export async function suggest(program: Command, words: readonly string[]): Promise<Suggestion[]> {
  const { command, awaited, operands } = position(program, words.slice(0, -1));
  const start = words.at(-1) ?? "";
  const found = await suggestions(command, awaited, operands, start);
  return found.filter(({ word }) => word.startsWith(start));
}

/** The place after some words: the command, the option that awaits its value, and the number of operands so far. */
function position(program: Command, words: readonly string[]) {
  let command = program;
  let awaited: Option | undefined;
  let operands = 0;
  for (const word of words) {
    const takesWord = awaited !== undefined;
    awaited = takesWord ? undefined : command.options.find((option) => takesValue(option, word));
    if (takesWord || word.startsWith("-")) continue;
    const next = operands === 0 ? command.commands.find((one) => one.name() === word) : undefined;
    if (next === undefined) operands += 1;
    else command = next;
  }
  return { command, awaited, operands };
}

const takesValue = (option: Option, word: string): boolean =>
  (option.required || option.optional) && [option.long, option.short].includes(word);

async function suggestions(command: Command, awaited: Option | undefined, operands: number, start: string) {
  const help = command.createHelp();
  if (awaited !== undefined) return plainly(await valuesOf(awaited.attributeName(), awaited.argChoices));
  if (start.startsWith("-")) {
    return help
      .visibleOptions(command)
      .map(({ long, short, description }) => ({ word: long ?? short ?? "", description }));
  }
  const argument = command.registeredArguments[operands];
  const values = argument === undefined ? [] : await valuesOf(argument.name(), argument.argChoices);
  if (operands > 0 || command.commands.length === 0) return plainly(values);
  return help.visibleCommands(command).map((one) => ({ word: one.name(), description: one.description() }));
}

const plainly = (words: readonly string[]): Suggestion[] => words.map((word) => ({ word, description: "" }));

/** The values of an option or argument. Empty: not known; the shell then suggests files. */
async function valuesOf(name: string, choices: readonly string[] | undefined): Promise<readonly string[]> {
  if (choices !== undefined) return choices;
  if (name === "status") return statuses;
  if (name === "priority") return tiers;
  return name === "type" ? await typeNames() : [];
}

/** The task types in the project's folder, which are named as their files. */
async function typeNames(): Promise<string[]> {
  const [{ taskFiles }, { typeNameOf }] = await Promise.all([
    import("../../code/project/task-folder.ts"),
    import("../../code/project/task-modules.ts"),
  ]);
  try {
    return taskFiles(process.env.OFFLOAD_TASKS || "tasks").map(typeNameOf);
  } catch {
    return [];
  }
}
