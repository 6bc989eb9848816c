import type { Check, Finding } from "./finding.ts";

/** A call of `task.once` whose key is the same in each task, as `src/code/build/once-keys.ts` finds it. */
export interface ConstantKey {
  readonly file: string;
  readonly line: number;
  readonly key: string;
}

const id = "constant-once-key";

export const constantOnceKey: Check = {
  id,
  title: "Keys of task.once name the thing whose effect is done once",
  severities: ["medium"],
  find: ({ findings }) => findings[id] ?? [],
};

/** The findings about a project's code. */
export const onceFindings = (keys: readonly ConstantKey[]): Readonly<Record<typeof id, readonly Finding[]>> => ({
  [id]: keys.map(({ file, line, key }) => ({
    severity: "medium",
    subject: `${file}:${line}`,
    found: `task.once(${key}, ...) has the same key in each task: the first task of a tenant does the effect, and all others do nothing for 60 days, and are completed.`,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is code to write
    fix: 'For an effect of each task write task.step("mail", ...). For an effect of each order write task.once(`mail/${order}`, ...), with what the effect is about in the key.',
  })),
});
