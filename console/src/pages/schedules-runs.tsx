import type { ScheduleView } from "../../../src/client/schedule-calls.ts";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import { count, counted } from "../format.ts";
import { useLive } from "../live-load.ts";
import { Answer, Nothing, Section } from "../parts/layout.tsx";
import { Text, Time } from "../parts/text.tsx";
import { hrefOf, tenant } from "../session.ts";
import { lastRuns, mostRuns, readRuns, runsRead } from "./schedules-last.ts";
import { TaskStatus, WhatHappens } from "./task-state.tsx";

/** The last runs of a schedule with their outcomes, newest first. */
export function LastRuns({ of }: { of: ScheduleView }) {
  const { schedule_id: id, task } = of;
  const tasks = useLive(`runs ${id} ${task.type} ${tenant.value}`, (signal) => readRuns(task.type, signal), {
    leastMs: 5_000,
  });
  return (
    <Section title="Last runs">
      <Answer of={tasks}>
        {({ tasks: all, complete }) => {
          const runs = lastRuns(all, id);
          return (
            <>
              {runs.length > 0 && <Runs of={runs} />}
              {runs.length === 0 && <Nothing>None of its tasks is kept.</Nothing>}
              {!complete && runs.length < mostRuns && (
                <p class="muted">
                  Of the newest {count(runsRead)} tasks of <Text of={task.type} most={64} />:{" "}
                  {counted(runs.length, "run")}
                </p>
              )}
            </>
          );
        }}
      </Answer>
    </Section>
  );
}

const Runs = ({ of }: { of: readonly TaskView[] }) => (
  <ol class="runs">
    {of.map((task) => (
      <li key={task.task_id}>
        <TaskStatus of={task} />
        <a href={hrefOf(["tasks", task.task_id], task)}>
          <Time at={task.scheduled_for ?? task.created_at} />
          {task.scheduled_for === null && " by hand"}
        </a>
        <span class="muted">
          <WhatHappens of={task} />
        </span>
      </li>
    ))}
  </ol>
);
