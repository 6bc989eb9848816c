import { Argument, type Command, Option } from "commander";

/** The reading of a value that is not any text. */
interface Reading {
  /** Reads the text of the command line. An option that may be repeated also gets what it has so far. */
  read?: Reader;
  among?: readonly string[];
  /** The value where none is given. */
  initial?: unknown;
  /** Variable that has the value where the command line has none. */
  env?: string;
  required?: true;
}

// biome-ignore lint/suspicious/noExplicitAny: the earlier value is what the reader itself has returned
type Reader = (text: string, before?: any) => unknown;

/** An option such as `--limit <n>`, or an operand such as `<task_id>`: its form, its meaning, and how it is read. */
export type Given = readonly [form: string, meaning?: string, reading?: Reader | Reading];

type Camel<Text extends string> = Text extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Text;

type FirstWord<Text extends string> = Text extends `${infer Word} ${string}` ? Word : Text;

/** The name under which an option's value is found: `createdAfter` of `--created-after <time>`. */
type Name<Form> = Form extends `${string}--no-${infer Rest}`
  ? Camel<FirstWord<Rest>>
  : Form extends `${string}--${infer Rest}`
    ? Camel<FirstWord<Rest>>
    : never;

type Value<One extends Given> = One[2] extends (text: string, ...before: never[]) => infer Read
  ? Read
  : One[2] extends { read: (text: string, ...before: never[]) => infer Read }
    ? Read
    : One[2] extends { among: readonly (infer Word)[] }
      ? Word
      : One[0] extends `${string}<${string}` | `[${string}`
        ? string
        : boolean;

/** An option that always has a value. */
type Certain = { initial: unknown } | { required: true };

/** The values of options. */
export type Options<All extends readonly Given[]> = {
  [One in All[number] as One[2] extends Certain ? Name<One[0]> : never]: Value<One>;
} & { [One in All[number] as One[2] extends Certain ? never : Name<One[0]>]?: Value<One> };

type Operand<One extends Given> = One[0] extends `${string}...]`
  ? Value<One>[]
  : One[0] extends `[${string}`
    ? Value<One> | (One[2] extends Certain ? never : undefined)
    : Value<One>;

/** The values of operands, in their order. */
export type Operands<All extends readonly Given[]> = All extends readonly [
  infer One extends Given,
  ...infer Rest extends readonly Given[],
]
  ? One[0] extends `<${string}` | `[${string}`
    ? [Operand<One>, ...Operands<Rest>]
    : Operands<Rest>
  : [];

/** Adds options and operands to a command. */
export function addGiven(command: Command, all: readonly Given[]): void {
  for (const [form, meaning, reading = {}] of all) {
    const { read, among, initial, env, required } = typeof reading === "function" ? { read: reading } : reading;
    const made = form.startsWith("-") ? new Option(form, meaning) : new Argument(form, meaning);
    if (read !== undefined) made.argParser(read);
    if (among !== undefined) made.choices(among);
    if (initial !== undefined) made.default(initial);
    if (made instanceof Argument) {
      command.addArgument(made);
      continue;
    }
    if (env !== undefined) made.env(env);
    command.addOption(made.makeOptionMandatory(required === true));
  }
}

/** The values of some options: a filter of the API whose fields have the options' names. */
export function valuesOf<const All extends readonly Given[]>(all: All, options: NoInfer<Options<All>>): Options<All> {
  const names = all.map(([form]) => new Option(form).attributeName());
  return Object.fromEntries(Object.entries(options).filter(([name]) => names.includes(name))) as Options<All>;
}

/** Reads a text that only the API checks. */
export const asGiven = <Text extends string>(text: string): Text => text as Text;
