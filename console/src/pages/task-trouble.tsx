import type { ComponentChildren } from "preact";
import type { WaitView } from "../../../src/core/model/suspension.ts";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import type { AttemptView } from "../../../src/core/pipeline/end/view.ts";
import { nowMs } from "../clock.ts";
import { count, counted, duration } from "../format.ts";
import { Facts, Section } from "../parts/layout.tsx";
import { Id, now, Status, Text, Time } from "../parts/text.tsx";
import { href } from "../route.ts";
import { chosenTenant, may, mayChange } from "../session.ts";
import { Cause } from "./task-cause.tsx";
import { isClosing } from "./task-state.tsx";

/** The reason why a task has not completed, before anything else. */
export function Trouble({ task, attempts }: { task: TaskView; attempts: readonly AttemptView[] }) {
  const { status } = task;
  if (status === "failed") return <Failed {...{ task, attempts }} />;
  if (status === "pending" || status === "scheduled") return <Waits {...{ task, attempts }} />;
  if (status === "processing") return <Runs task={task} />;
  if (status === "expired") {
    return (
      <Section title="Why it expired">
        <p>
          No worker started it before <Time at={task.expires_at} exact />. Its handler was not called.
        </p>
      </Section>
    );
  }
  return null;
}

function Failed({ task, attempts }: { task: TaskView; attempts: readonly AttemptView[] }) {
  const { children, finished_at, max_attempts, attempts: used, error_kind } = task;
  return (
    <Section title="Why it failed">
      <Cause
        task={task}
        stack={attempts.at(-1)?.stack}
        title={
          <>
            Failed for good <Time at={finished_at} />
          </>
        }
      >
        {children !== null && children.failed > 0 && <p>{counted(children.failed, "child", "children")} failed.</p>}
        <p>
          {used < max_attempts
            ? `After ${counted(used, "attempt")} of at most ${count(max_attempts)}.`
            : `All ${counted(used, "attempt")} were used.`}{" "}
          <span class="muted">
            {error_kind === "children_failed"
              ? "Retry starts only the children that did not complete."
              : "Retry starts a new round; steps and children that are done stay done."}
          </span>
        </p>
        {task.on_failed != null && (
          <p>
            <Status of={task.on_failed.status} />{" "}
            <a href={href(["tasks", task.on_failed.task_id], { tenant: chosenTenant.value })}>its onFailed</a>
          </p>
        )}
      </Cause>
    </Section>
  );
}

function Waits({ task, attempts }: { task: TaskView; attempts: readonly AttemptView[] }) {
  const { error, attempts: used, max_attempts, updated_at, expires_at, waiting_for: wait } = task;
  const facts = (
    <Facts
      of={[
        ["Since", <Time key="since" at={updated_at} />],
        placeOf(wait),
        expires_at !== null && ["Expires if not started", <Time key="expires" at={expires_at} />],
      ]}
    />
  );
  return (
    <Section title="What it waits for">
      {error === null ? (
        <>
          <p class="trouble-wait">{reasonOf(task)}</p>
          {facts}
        </>
      ) : (
        <Cause
          task={task}
          stack={attempts.at(-1)?.stack}
          title={
            <>
              Attempt {count(used)} of {count(max_attempts)} failed <Time at={attempts.at(-1)?.finished_at} />
            </>
          }
        >
          <p>{reasonOf(task)}</p>
          <NextAttempt task={task} since={attempts.at(-1)?.finished_at} />
          {facts}
        </Cause>
      )}
    </Section>
  );
}

/** The part of a wait before another attempt that is over. */
function NextAttempt({ task: { next_attempt_at: next }, since }: { task: TaskView; since: string | undefined }) {
  if (next === null || since === undefined || Date.parse(next) <= now.value) return null;
  const share = (now.value - Date.parse(since)) / (Date.parse(next) - Date.parse(since));
  return (
    <svg class="strip" width="100%" height="4" aria-hidden="true">
      <rect class="m-wait" width="100%" height="4" rx="2" />
      <rect class="m-retrying" width={`${Math.min(100, Math.max(0, 100 * share)).toFixed(1)}%`} height="4" rx="2" />
    </svg>
  );
}

function placeOf(wait: WaitView | null): [string, ComponentChildren] | false {
  if (wait === null || !("place" in wait)) return false;
  return ["Place in line", wait.place === null || wait.place === undefined ? "beyond the 100th" : count(wait.place)];
}

function reasonOf(task: TaskView): ComponentChildren {
  const { waiting_for: wait, status, next_attempt_at } = task;
  if (wait !== null) return waitText(wait, task);
  if (status === "scheduled") {
    return (
      <>
        It is to start <Time at={task.run_at} /> (<Time at={task.run_at} exact />
        ).
      </>
    );
  }
  if (next_attempt_at !== null && Date.parse(next_attempt_at) > nowMs()) {
    return (
      <>
        Its next attempt starts <Time at={next_attempt_at} />, at <Time at={next_attempt_at} exact />.{" "}
        {mayChange() && <span class="muted">Run now skips this wait.</span>}
      </>
    );
  }
  if (isClosing(task)) return "A free worker, to aggregate the results of its children.";
  return `A free worker of the tier ${task.priority}.`;
}

const linkTo = (page: string, text: string) => <a href={href([page], { tenant: chosenTenant.value })}>{text}</a>;

function waitText(wait: WaitView, { type, priority }: TaskView): ComponentChildren {
  switch (wait.kind) {
    case "sleep":
      return (
        <>
          Its handler sleeps until <Time at={wait.until} exact />.
        </>
      );
    case "signal":
      return (
        <>
          The signal <Text of={wait.signals.join(" or ")} />, until <Time at={wait.until} exact />.
        </>
      );
    case "child":
      return (
        <>
          The end of {wait.children.length === 1 ? "its child" : "one of its children"}{" "}
          {wait.children.map((id, index) => (
            <>
              {index > 0 && ", "}
              <a key={id} href={href(["tasks", id], { tenant: chosenTenant.value })}>
                <Id of={id} />
              </a>
            </>
          ))}
          .
        </>
      );
    case "step":
      return (
        <>
          Attempt {wait.attempt} of its step <Text of={wait.step} />, at <Time at={wait.until} exact />.
        </>
      );
    case "pause":
      return pauseText(wait.of, type, priority);
    case "unique":
      return "The task that had its unique key is cancelled, and has not ended yet.";
    case "breaker":
      return "Tasks of this type fail one after another, so its breaker stops them. It lets one task try from time to time.";
    case "concurrency":
      if (wait.order === undefined) return "As many tasks of its key run as may. It starts when one of them ends.";
      return (
        <>
          Tasks of its key run in strict order. It starts when{" "}
          {wait.held_by ? (
            <a href={href(["tasks", wait.held_by], { tenant: chosenTenant.value })}>the task before it</a>
          ) : (
            "the task before it"
          )}{" "}
          has ended for good.
        </>
      );
    case "rate":
      if (wait.next_start_at === undefined)
        return "As many tasks of its key have started as may in this time. It starts when the rate allows it.";
      return (
        <>
          As many tasks of its key have started as may in {duration((wait.per_seconds ?? 1) * 1000)}. All its rates
          allow the next start <Time at={wait.next_start_at} />.
        </>
      );
  }
}

function pauseText(of: "tier" | "type" | "tenant", type: string, priority: string): ComponentChildren {
  if (of === "type") {
    return (
      <>
        The type {type} is paused. It goes on when the type is resumed
        {may("viewer") && <>, at {linkTo("types", "Types")}</>}.
      </>
    );
  }
  const [what, page] = of === "tier" ? [`The tier ${priority}`, "queues"] : ["This tenant", "tenants"];
  return (
    <>
      {what} is paused. An admin resumes it
      {may("admin") && <>, at {linkTo(page, page === "queues" ? "Queues" : "Tenants")}</>}.
    </>
  );
}

function Runs({ task: { progress, progress_message, progress_data, children, started_at } }: { task: TaskView }) {
  const waits = children?.sealed === true && children.open > 0;
  const closes = children?.sealed === true && children.open === 0 && children.total > 0;
  return (
    <Section title={waits ? "It waits for its children" : closes ? "It closes" : "It runs"}>
      {progress !== null && (
        <div class="running">
          <progress aria-label="Progress" max={100} value={progress} />
          <span>{progress} %</span>
        </div>
      )}
      <Facts
        of={[
          ["Started", <Time key="started" at={started_at} />],
          progress_message != null && ["It says", <Text key="says" of={progress_message} most={200} />],
          progress_data != null && ["Data", <Text key="data" of={JSON.stringify(progress_data)} most={1024} />],
          children !== null && ["Children open", `${count(children.open)} of ${count(children.total)}`],
        ]}
      />
    </Section>
  );
}
