import type { ComponentChildren } from "preact";
import type { AttemptView } from "../../../src/core/end/view.ts";
import type { WaitView } from "../../../src/core/model/suspension.ts";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import { nowMs } from "../clock.ts";
import { count, visible } from "../format.ts";
import { Facts, Section } from "../parts/layout.tsx";
import { Id, Text, Time } from "../parts/text.tsx";
import { href } from "../route.ts";
import { chosenTenant, may, tenant } from "../session.ts";

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
  return (
    <Section title="Why it failed">
      <LastError task={task} stack={attempts.at(-1)?.stack} />
      <Facts
        of={[
          ["Failed", <Time key="at" at={task.finished_at} />],
          ["For", <Text key="for" of={`${tenant.value}, requested by ${task.requested_by}`} />],
          ["Attempts", `${task.attempts} of ${task.max_attempts}`],
          task.children !== null && ["Children that failed", count(task.children.failed)],
        ]}
      />
    </Section>
  );
}

/** The last error of a task. */
function LastError({ task, stack }: { task: TaskView; stack?: string | null | undefined }) {
  const { error, error_type, error_kind } = task;
  if (error === null && error_kind === null) return null;
  return (
    <>
      <p class="trouble">
        <Text of={error ?? "The error has no text."} most={4_000} />
      </p>
      <Facts
        of={[
          error_kind !== null && ["Kind", <code key="kind">{error_kind}</code>],
          error_type !== null && ["Type of the error", <Text key="type" of={error_type} />],
        ]}
      />
      {stack && <Stack of={stack} isOpen />}
    </>
  );
}

/** Places of an error in the sources. */
export function Stack({ of, isOpen = false }: { of: string; isOpen?: boolean }) {
  return (
    <details open={isOpen}>
      <summary>Stack</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
      <pre tabIndex={0}>{visible(of.slice(0, 20_000))}</pre>
    </details>
  );
}

function Waits({ task, attempts }: { task: TaskView; attempts: readonly AttemptView[] }) {
  return (
    <Section title="What it waits for">
      <p class="trouble-wait">{reasonOf(task)}</p>
      <Facts
        of={[
          ["Since", <Time key="since" at={task.updated_at} />],
          task.next_attempt_at !== null && ["Next attempt", <Time key="next" at={task.next_attempt_at} />],
          placeOf(task.waiting_for),
          task.expires_at !== null && ["Expires if not started", <Time key="expires" at={task.expires_at} />],
        ]}
      />
      {task.error !== null && (
        <>
          <h3>The last attempt failed</h3>
          <LastError task={task} stack={attempts.at(-1)?.stack} />
        </>
      )}
    </Section>
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
        Its next attempt starts <Time at={next_attempt_at} />.
      </>
    );
  }
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
      return "As many tasks of its key run as may. It starts when one of them ends.";
    case "rate":
      return "As many tasks of its key have started as may in this time. It starts when the rate allows it.";
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
  return (
    <Section title={waits ? "It waits for its children" : "It runs"}>
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
