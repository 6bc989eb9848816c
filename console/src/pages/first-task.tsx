import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { TypeView } from "../../../src/api/acts/views.ts";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import { isTerminal } from "../../../src/core/model/words.ts";
import { curlOf } from "../curl.ts";
import { duration } from "../format.ts";
import { Action } from "../parts/action.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import { Options } from "../parts/options.tsx";
import { Text } from "../parts/text.tsx";
import { href } from "../route.ts";
import { exampleOf, hasForm, type Schema } from "../schema.ts";
import { allTenants, api, chosenTenant, config } from "../session.ts";
import { setting } from "../signals.ts";
import { useTaskTypes } from "../task-types.ts";
import { type InputFaults, InputForm, InputText } from "./submit-input.tsx";
import { taskPath } from "./task-data.ts";

/** Time between two reads of the task, in milliseconds, and their number: then its page has more. */
const lookMs = 300;
const mostLooks = 400;

/** The tenant of the task: the caller's own on a page about all. */
const oneTenant = (): string | undefined => (chosenTenant.value === allTenants ? undefined : chosenTenant.value);

/** The place of a tenant without tasks: submits its first one, and shows the states that it goes through. */
export function FirstTask() {
  const { value } = useTaskTypes();
  const chosen = useSignal<string | undefined>(undefined);
  const task = useSignal<TaskView | undefined>(undefined);
  const types = value?.types.filter(({ name }) => !name.startsWith("offload.")) ?? [];
  if (types.length === 0) return null;
  const type = types.find(({ name }) => name === chosen.value) ?? types[0];
  const own = types.filter(({ name }) => !name.startsWith("probe.")).length;
  return (
    <section class="first" aria-labelledby="first">
      <h2 id="first">Nothing has run yet. Submit the first task.</h2>
      {own > 0 && (
        <p class="muted">
          Your project has {own === 1 ? "a type" : `${own} types`} in <code>tasks/</code>.
        </p>
      )}
      {type !== undefined && <FirstForm key={type.name} {...{ type, types, chosen, task }} />}
      <Trials types={types} task={task} />
    </section>
  );
}

interface FormProps {
  type: TypeView;
  types: readonly TypeView[];
  chosen: Signal<string | undefined>;
  task: Signal<TaskView | undefined>;
}

const submit = async (task: Signal<TaskView | undefined>, type: string, input: unknown): Promise<void> => {
  task.value = await api.submit<TaskView>({ type, input }, crypto.randomUUID());
};

function FirstForm({ type, types, chosen, task }: FormProps) {
  const schema = (type.input_schema ?? {}) as Schema;
  const input = useSignal<unknown>(exampleOf(schema) ?? {});
  const faults = useSignal<InputFaults>({});
  const Fields = hasForm(schema) ? InputForm : InputText;
  return (
    <div class="card first-card">
      <div class="first-form">
        <label>
          Type
          <select
            value={type.name}
            onChange={({ currentTarget }) => {
              chosen.value = currentTarget.value;
            }}
          >
            <Options of={types.map(({ name }) => name)} />
          </select>
        </label>
        <Fields {...{ schema, input, faults }} />
        <Action primary run={() => submit(task, type.name, input.value)}>
          {task.value === undefined ? "Submit" : "Submit another"} {type.name}
        </Action>
        {config.value?.local && <p class="muted">It runs here, on this machine.</p>}
      </div>
      <SameAs type={type.name} input={input.value} />
      <States of={task} />
    </div>
  );
}

/** The same submit by other means. */
function SameAs({ type, input }: { type: string; input: unknown }) {
  const way = useSignal<"curl" | "TypeScript" | "Terminal">("curl");
  const json = JSON.stringify(input);
  const texts = {
    curl: curlOf({ method: "POST", path: "/tasks", body: { type, input } }),
    TypeScript: [
      `import { createClient } from "offload/client";\n`,
      `const offload = createClient({ url: ${JSON.stringify(location.origin)}, key: process.env.OFFLOAD_KEY });`,
      `const task = await offload.submit(${JSON.stringify(type)}, ${json});`,
    ].join("\n"),
    Terminal: `npx offload submit ${type} '${json.replaceAll("'", "'\\''")}' --wait`,
  };
  return (
    <div class="same-as">
      <fieldset class="choices">
        <legend class="for-readers">The same as</legend>
        {(["curl", "TypeScript", "Terminal"] as const).map((name) => (
          <button key={name} type="button" aria-pressed={way.value === name} onClick={setting(way, name)}>
            {name}
          </button>
        ))}
      </fieldset>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
      <pre tabIndex={0}>{texts[way.value]}</pre>
    </div>
  );
}

/** The states that a task goes through, and the words for what happens in each. */
const stages: readonly [IconName, string, string][] = [
  ["pending", "pending", "the record is written, the message is sent"],
  ["processing", "processing", "a worker runs your handler"],
  ["completed", "completed", "the result is here"],
];

/** The states of the task in their order, with the time in each. They follow the task until it has ended. */
function States({ of: task }: { of: Signal<TaskView | undefined> }) {
  const { value } = task;
  useEffect(() => {
    if (value === undefined) return;
    let looks = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async () => {
      looks += 1;
      const read = await api.getOne<TaskView>(taskPath(value.task_id)).catch(() => undefined);
      if (task.value?.task_id !== value.task_id) return;
      if (read !== undefined) task.value = read;
      if ((read === undefined || !isTerminal(read.status)) && looks < mostLooks) timer = setTimeout(look, lookMs);
    };
    timer = setTimeout(look, lookMs);
    return () => clearTimeout(timer);
  }, [value?.task_id]);
  const at = value === undefined ? -1 : isTerminal(value.status) ? 2 : value.status === "processing" ? 1 : 0;
  return (
    <>
      <ol class="stages">
        {stages.map((stage, index) => (
          <Stage key={stage[1]} {...{ stage, index, at, task: value }} />
        ))}
      </ol>
      <p class="first-end" role="status">
        {value !== undefined && (
          <>
            {value.error != null && <Text of={value.error} most={200} />}{" "}
            <a href={href(["tasks", value.task_id], { tenant: oneTenant() })}>Open the task</a>
          </>
        )}
      </p>
    </>
  );
}

interface StageProps {
  stage: (typeof stages)[number];
  index: number;
  /** The present stage. -1: no task was submitted. */
  at: number;
  task: TaskView | undefined;
}

function Stage({ stage: [icon, name, words], index, at, task }: StageProps) {
  const isPast = task !== undefined && index <= at;
  const isEnd = index === 2 && isPast;
  return (
    <li class={index === at ? "now" : undefined} aria-current={index === at ? "step" : undefined}>
      <Icon of={isEnd && task.status === "failed" ? "failed" : isPast ? icon : "open"} />
      <div>
        <strong>{isEnd ? task.status : name}</strong>
        <span class="muted">{isPast ? tookIn(task, index) : words}</span>
      </div>
    </li>
  );
}

/** The time that a task was in a state. The answer to a submit has no times yet. */
function tookIn({ created_at, started_at, finished_at, waiting_for, error }: TaskView, stage: number): string {
  const between = (from: string, to: string) => duration(Date.parse(to) - Date.parse(from));
  if (stage === 0) {
    if (waiting_for != null) return `waits: ${waiting_for.kind}`;
    return started_at == null ? "now" : between(created_at, started_at);
  }
  if (stage === 1) {
    if (started_at != null && finished_at != null) return between(started_at, finished_at);
    return error == null ? "now" : "tried again";
  }
  return finished_at == null ? "" : `after ${between(created_at, finished_at)}`;
}

/** Tasks that show what happens when things go wrong. Only servers with the probe types have them. */
const trials: readonly [type: string, icon: IconName, title: string, words: string, input: unknown][] = [
  [
    ...(["probe.fail", "retrying", "A task that fails twice", "Two attempts fail, the third completes."] as const),
    { kind: "transient", times: 2 },
  ],
  [
    ...([
      "probe.fanout",
      "tasks",
      "A task with 100 children",
      "One in ten fails; the parent adds up the others.",
    ] as const),
    { children: 100, fail_every: 10 },
  ],
  [
    ...([
      "probe.wait",
      "waiting",
      "A task that waits for you",
      "It goes on when you send the signal from its page.",
    ] as const),
    { name: "approved", timeout_seconds: 3600 },
  ],
];

function Trials({ types, task }: { types: readonly TypeView[]; task: Signal<TaskView | undefined> }) {
  const there = trials.filter(([type]) => types.some(({ name }) => name === type));
  if (there.length === 0) return null;
  return (
    <>
      <h3>Or see what it does when things go wrong</h3>
      <ul class="trials">
        {there.map(([type, icon, title, words, input]) => (
          <li key={type}>
            <Icon of={icon} />
            <div>
              <strong>{title}</strong>
              <span class="sub">{words}</span>
            </div>
            <Action run={() => submit(task, type, input)}>
              Submit<span class="for-readers">: {title}</span>
            </Action>
          </li>
        ))}
      </ul>
    </>
  );
}
