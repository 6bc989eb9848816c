import type { TypeList, TypeView } from "../../../src/api/acts/views.ts";
import type { LetterGroups } from "../../../src/core/control/group-dead-letters.ts";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import { lastOf, newSince } from "../deployments.ts";
import { count, duration } from "../format.ts";
import { useLive } from "../live-load.ts";
import { Ask } from "../parts/action.tsx";
import { Curl } from "../parts/curl.tsx";
import { SinceDeployment, useDeployments } from "../parts/deployments.tsx";
import { Icon } from "../parts/icon.tsx";
import { Json } from "../parts/json.tsx";
import { Answer, Facts, Nothing, Page, Section } from "../parts/layout.tsx";
import { Table } from "../parts/table.tsx";
import { now, Status, Text, Time } from "../parts/text.tsx";
import { href } from "../route.ts";
import { api, chosenTenant, may, mayChange, tenant } from "../session.ts";
import { useShown } from "../signals.ts";
import { TaskStatus, WhatHappens } from "./task-state.tsx";
import { LimitsDialog, PauseDialog } from "./types-dialogs.tsx";
import { rateText, stateOf } from "./types-state.ts";

type Open = "tenant" | "all" | "limits";

/** One type: what fails of it, its newest tasks, its limits, pauses and breaker. */
export function TypePage({ name }: { name: string }) {
  const types = useLive(`types ${tenant.value}`, (signal) => api.get<TypeList>("/types", undefined, { signal }));
  const { value: open, show, close } = useShown<Open>(types.reload);
  const type = types.value?.types.find((one) => one.name === name);
  const keep = { tenant: chosenTenant.value };
  return (
    <Page
      title={name.slice(0, 64)}
      about={<a href={href(["types"], keep)}>Types</a>}
      actions={type !== undefined && <Actions type={type} show={show} />}
    >
      <Answer of={types}>
        {() =>
          type === undefined ? (
            <Nothing>The deployment has no such task type.</Nothing>
          ) : (
            <>
              <Head type={type} />
              <Fails name={name} />
              <NewestTasks name={name} />
              <Section title="Definition">
                <TypeFacts type={type} />
              </Section>
              <KeyLimits of={type.key_limits} />
              <OpenKeys of={type.breaker} />
              <details>
                <summary>Schema of the input</summary>
                <Json of={type.input_schema} label={`Schema of the input of ${name}`} />
              </details>
            </>
          )
        }
      </Answer>
      <Curl of={{ path: "/types" }} />
      {type !== undefined && open === "limits" && <LimitsDialog of={type} onClose={close} />}
      {type !== undefined && (open === "tenant" || open === "all") && (
        <PauseDialog of={type} all={open === "all"} onClose={close} />
      )}
    </Page>
  );
}

function Actions({ type, show }: { type: TypeView; show: (open: Open) => void }) {
  const { name, paused, concurrency, rate_limit } = type;
  const verb = (since: string | null | undefined) => (since == null ? "Pause" : "Resume");
  return (
    <>
      {mayChange() && (
        <a class="button" href={href(["submit"], { type: name, tenant: chosenTenant.value })}>
          Submit
        </a>
      )}
      {may("admin") && (concurrency !== null || rate_limit !== null) && (
        <Ask onClick={() => show("limits")}>Limits …</Ask>
      )}
      <Ask danger={paused?.tenant == null} onClick={() => show("tenant")}>
        {verb(paused?.tenant)} for {tenant.value} …
      </Ask>
      {may("admin") && (
        <Ask danger={paused?.all == null} onClick={() => show("all")}>
          {verb(paused?.all)} for all …
        </Ask>
      )}
    </>
  );
}

function Head({ type }: { type: TypeView }) {
  const { of, word } = stateOf(type);
  return (
    <div class="task-head">
      <span class="pill">
        <Status of={of} word={word} />
      </span>
      {type.description && <Text of={type.description} most={500} />}
      <Paused whom="all tenants" since={type.paused?.all} />
      <Paused whom={tenant.value} since={type.paused?.tenant} />
    </div>
  );
}

const Paused = ({ whom, since }: { whom: string; since: string | null | undefined }) =>
  since == null ? null : (
    <p class="status paused">
      <Icon of="paused" /> Paused for {whom} since <Time at={since} />: accepted tasks wait.
    </p>
  );

/** The errors of a type. Each read of the groups reads the dead letters themselves. */
const groupTimes = { everyMs: 60_000, leastMs: 30_000 };

function Fails({ name }: { name: string }) {
  const groups = useLive(
    `groups ${name} ${tenant.value}`,
    (signal) => api.get<LetterGroups>("/dead-letters/groups", { type: name }, { signal }),
    groupTimes,
  );
  const keep = { type: name, tenant: chosenTenant.value };
  const last = lastOf(useDeployments(), now.value);
  return (
    <Section title="What fails" actions={<a href={href(["dead-letters"], keep)}>Dead letters</a>}>
      <Answer of={groups}>
        {(answer) =>
          answer.groups.length === 0 ? (
            <Nothing>No dead letters of this type.</Nothing>
          ) : (
            <Table
              label="What fails"
              rows={answer.groups}
              keyOf={({ fingerprint }) => fingerprint}
              columns={[
                { name: "Tasks", numeric: true, cell: (group) => <strong>{count(group.count)}</strong> },
                {
                  name: "Error",
                  cell: ({ fingerprint, error, error_kind }) => (
                    <>
                      <a class="whole" href={href(["dead-letters"], { ...keep, fingerprint })}>
                        <Text of={error ?? "no error text"} most={200} />
                      </a>
                      <span class="sub">{error_kind}</span>
                    </>
                  ),
                },
                {
                  name: "Since",
                  cell: (group) => (
                    <>
                      <Time at={group.first_failed_at} />{" "}
                      <SinceDeployment last={last} is={newSince(last, answer)?.includes(group) === true} type={name} />
                    </>
                  ),
                },
                { name: "Newest", numeric: true, cell: ({ last_failed_at }) => <Time at={last_failed_at} /> },
              ]}
            />
          )
        }
      </Answer>
    </Section>
  );
}

const newestShown = 8;

function NewestTasks({ name }: { name: string }) {
  const tasks = useLive(
    `newest ${name} ${tenant.value}`,
    (signal) => api.get<{ tasks: TaskView[] }>("/tasks", { type: name, limit: newestShown }, { signal }),
    { leastMs: 2_000 },
  );
  const keep = { type: name, tenant: chosenTenant.value };
  return (
    <Section title="Newest tasks" actions={<a href={href(["tasks"], keep)}>Tasks</a>}>
      <Answer of={tasks}>
        {({ tasks: all }) =>
          all.length === 0 ? (
            <Nothing>No task of this type among the newest.</Nothing>
          ) : (
            <Table
              label="Newest tasks"
              rows={all}
              keyOf={({ task_id }) => task_id}
              columns={[
                {
                  name: "Status",
                  cell: (task) => (
                    <a class="whole" href={href(["tasks", task.task_id], { tenant: chosenTenant.value })}>
                      <TaskStatus of={task} />
                    </a>
                  ),
                },
                { name: "What happens", cell: (task) => <WhatHappens of={task} /> },
                { name: "Attempts", numeric: true, cell: (task) => `${task.attempts}/${task.max_attempts}` },
                { name: "Age", numeric: true, cell: ({ created_at }) => <Time at={created_at} /> },
              ]}
            />
          )
        }
      </Answer>
    </Section>
  );
}

const shared = ({ keyed, scope }: { keyed: boolean; scope: string }): string =>
  `${keyed ? " of one key" : ""}${scope === "deployment" ? ", all tenants together" : ", each tenant"}`;

/** The keys for which an operator set a limit of their own. */
function KeyLimits({ of = [] }: { of: TypeView["key_limits"] }) {
  if (of.length === 0) return null;
  return (
    <Section title="Limits of single keys">
      <Table
        label="Limits of single keys"
        rows={of}
        keyOf={({ kind, tenant_id, key }) => `${kind} ${tenant_id} ${key}`}
        columns={[
          { name: "Key", cell: ({ key }) => <Text of={key} most={256} /> },
          { name: "Tenant", cell: ({ tenant_id }) => tenant_id ?? "all together" },
          {
            name: "Limit",
            cell: ({ limit, per_seconds: seconds }) =>
              seconds === null ? `${count(limit)} at the same time` : `${count(limit)} in ${duration(seconds * 1000)}`,
          },
          { name: "Until", cell: ({ until }) => (until === null ? "it is removed" : <Time at={until} />) },
        ]}
      />
    </Section>
  );
}

/** The keys whose breakers are open. */
function OpenKeys({ of: breaker }: { of: TypeView["breaker"] }) {
  const open = breaker?.open_keys ?? [];
  if (open.length === 0) return null;
  return (
    <Section title="Open breakers of keys">
      <Table
        label="Open breakers of keys"
        rows={open}
        keyOf={({ key }) => key}
        columns={[
          { name: "Key", cell: ({ key }) => <Text of={key} most={256} /> },
          { name: "Failures in a row", numeric: true, cell: ({ failures_in_a_row: failures }) => count(failures) },
          { name: "Open since", cell: ({ open_since: since }) => (since === null ? "" : <Time at={since} />) },
          { name: "One task tries", cell: ({ open_until: until }) => <Time at={until} /> },
        ]}
      />
    </Section>
  );
}

const keys = (number: number): string => `${count(number)} ${number === 1 ? "key" : "keys"}`;

const inOrder = ({ order, on_dead_letter }: NonNullable<TypeView["concurrency"]>): string =>
  order === undefined ? "" : `, in strict order${on_dead_letter === "hold" ? ", held by dead letters" : ""}`;

function TypeFacts({ type }: { type: TypeView }) {
  const { concurrency, rate_limit: rate, breaker } = type;
  return (
    <Facts
      of={[
        ["Priority", type.priority],
        ["Runs on", type.runs_on],
        ["Time-out", duration(type.timeout_seconds * 1000)],
        ["Most attempts", count(type.max_attempts)],
        ["Version", count(type.version)],
        concurrency !== null && [
          "At the same time",
          `${concurrency.limit === null ? "as the input says" : count(concurrency.limit)}${shared(concurrency)}${inOrder(concurrency)}`,
        ],
        rate !== null && ["Starts", `${rateText(rate)}${shared(rate)}`],
        breaker !== null && [
          "Breaker",
          breaker.state === "closed" ? (
            `closed, ${count(breaker.failures_in_a_row)} of ${count(breaker.failures)} failures${breaker.keyed ? " of a key" : ""}`
          ) : (
            <span key="open" class="status breaker">
              <Icon of="breaker" /> open {breaker.open_keys && `for ${keys(breaker.open_keys.length)}, the first `}until{" "}
              <Time at={breaker.open_until} />
            </span>
          ),
        ],
      ]}
    />
  );
}
