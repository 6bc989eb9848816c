import { useSignal } from "@preact/signals";
import type { ScheduleView } from "../../../src/client/schedule-calls.ts";
import { count } from "../format.ts";
import { useLive } from "../live-load.ts";
import { type Loaded, useLoad } from "../load.ts";
import { Action, Ask, say } from "../parts/action.tsx";
import { Curl } from "../parts/curl.tsx";
import { FormDialog } from "../parts/dialog.tsx";
import { Json } from "../parts/json.tsx";
import { Answer, Facts, Nothing, Page, Section } from "../parts/layout.tsx";
import { Id, Text, Time } from "../parts/text.tsx";
import { changeQuery, go, href, route } from "../route.ts";
import { api, chosenTenant, mayChange, maySeeInputs, tenant } from "../session.ts";
import { setting } from "../signals.ts";
import { Calendar } from "./schedules-calendar.tsx";
import { schedulePath } from "./schedules-data.ts";
import { ChangeSchedule } from "./schedules-form.tsx";
import { LastRuns } from "./schedules-runs.tsx";
import { LastTask, RuleText, ScheduleState, ZonedTime } from "./schedules-texts.tsx";
import { TimesTable } from "./schedules-times.tsx";

/** Times that the page of a schedule lists. */
const timesShown = 20;

/**
 * One schedule: its state, its next times, and all that can be done with it. With `change` in the query: the form to
 * change it.
 */
export function SchedulePage({ scheduleId }: { scheduleId: string }) {
  const schedule = useLive(`schedule ${scheduleId} ${tenant.value}`, (signal) =>
    api.get<ScheduleView>(schedulePath(scheduleId), undefined, { signal }),
  );
  const { value } = schedule;
  const isChanging = mayChange() && route.value.query.change !== undefined;
  return (
    <Page
      title={value === undefined ? "Schedule" : `Schedule ${value.name.slice(0, 60)}`}
      actions={value !== undefined && !isChanging && <Actions of={value} reload={schedule.reload} />}
    >
      <Answer of={schedule}>
        {(of) =>
          isChanging ? (
            <ChangeSchedule
              schedule={of}
              onClose={() => {
                changeQuery({ change: undefined });
                schedule.reload();
              }}
            />
          ) : (
            <Parts of={of} />
          )
        }
      </Answer>
      <Curl of={{ path: schedulePath(scheduleId) }} />
    </Page>
  );
}

function Actions({ of, reload }: { of: ScheduleView; reload: Loaded<unknown>["reload"] }) {
  const isDeleting = useSignal(false);
  const started = useSignal<string | undefined>(undefined);
  const path = schedulePath(of.schedule_id);
  const setEnabled = async (enabled: boolean) => {
    await api.send("POST", `${path}/${enabled ? "resume" : "pause"}`);
    reload();
  };
  const run = async () => {
    started.value = (await api.send<{ task_id: string }>("POST", `${path}/run`)).task_id;
    reload();
  };
  return (
    <>
      {started.value !== undefined && (
        <span role="status">
          Submitted: <a href={href(["tasks", started.value], { tenant: chosenTenant.value })}>open the task</a>
        </span>
      )}
      <Action run={run}>Run now</Action>
      <Action
        run={() => setEnabled(!of.enabled)}
        primary={!of.enabled}
        done={
          of.enabled ? "The schedule is paused: it submits nothing until it is resumed." : "The schedule is active."
        }
      >
        {of.enabled ? "Pause" : "Resume"}
      </Action>
      {of.source === "api" && (
        <>
          <Ask onClick={() => changeQuery({ change: 1 })}>Change …</Ask>
          <Ask onClick={setting(isDeleting, true)}>Delete …</Ask>
        </>
      )}
      {isDeleting.value && <DeleteDialog of={of} onClose={setting(isDeleting, false)} />}
    </>
  );
}

const DeleteDialog = ({ of, onClose }: { of: ScheduleView; onClose: () => void }) => (
  <FormDialog
    title="Delete the schedule"
    action="Delete"
    danger
    onClose={onClose}
    run={async () => {
      await api.send("DELETE", schedulePath(of.schedule_id));
      say("The schedule is deleted.");
      go(["schedules"], { tenant: chosenTenant.value });
    }}
  >
    <p>
      <strong>
        <Text of={of.name} most={128} />
      </strong>{" "}
      submits no further task. Its tasks stay. This cannot be undone; to stop it for a while, pause it.
    </p>
  </FormDialog>
);

const Parts = ({ of }: { of: ScheduleView }) => (
  <>
    {of.last_error !== null && (
      <div class="failure" role="alert">
        The last time submitted nothing (<Time at={of.last_error_at} />
        ): <Text of={of.last_error} most={1_000} />
      </div>
    )}
    <Section title="Schedule">
      <ScheduleFacts of={of} />
    </Section>
    <LastRuns of={of} />
    <NextTimes of={of} />
    {(of.every_seconds === null || of.source === "api") && <Calendar schedule={of} />}
    <Section title="Task">
      <Json of={maySeeInputs() ? of.task : withoutInput(of.task)} label="Task" />
    </Section>
  </>
);

const withoutInput = ({ input: _, ...task }: ScheduleView["task"]) => task;

const overlapTexts = {
  allow: "allow: each time submits a task",
  skip: "skip: no task while the last one has not ended",
};

const ScheduleFacts = ({ of }: { of: ScheduleView }) => (
  <Facts
    of={[
      ["State", <ScheduleState key="state" of={of} />],
      of.paused_since !== null && ["Paused", <Paused key="paused" of={of} />],
      of.source === "code" && ["Defined in", <DefinedIn key="source" of={of} />],
      ["Rule", <RuleText key="rule" of={of} />],
      ["Next time", <ZonedTime key="next" at={of.next_run_at} zone={of.timezone} />],
      ["Last task", <LastTask key="last" of={of} />],
      ["Skipped times", <Skipped key="skipped" of={of} />],
      ["Overlap", overlapTexts[of.overlap]],
      of.alarm && ["Alarm", "each time without a task"],
      of.starts_at !== null && ["Starts", <ZonedTime key="starts" at={of.starts_at} zone={of.timezone} />],
      of.ends_at !== null && ["Ends", <ZonedTime key="ends" at={of.ends_at} zone={of.timezone} />],
      ["Type", <Text key="type" of={of.task.type} most={64} />],
      of.created_at !== null && ["Created", <Created key="created" of={of} />],
      ["Changed", <Time key="changed" at={of.updated_at} />],
      ["Schedule id", <Id key="id" of={of.schedule_id} />],
    ]}
  />
);

const Paused = ({ of: { paused_since, paused_by } }: { of: ScheduleView }) => (
  <>
    since <Time at={paused_since} />
    {paused_by !== null && (
      <>
        {" "}
        by <Text of={paused_by} most={80} />
      </>
    )}
  </>
);

const DefinedIn = ({ of }: { of: ScheduleView }) => (
  <>the app's code{of.for_each_tenant && ", one task for each tenant"}: change it there, and deploy</>
);

const Created = ({ of }: { of: ScheduleView }) => (
  <>
    <Time at={of.created_at} /> by <Text of={of.created_by} most={80} />
  </>
);

const Skipped = ({ of: { skipped, last_skipped_at, last_skip_reason } }: { of: ScheduleView }) => (
  <>
    {count(skipped)}
    {skipped > 0 && (
      <>
        , the last one <Time at={last_skipped_at} />
        {last_skip_reason !== null && (
          <>
            : <Text of={last_skip_reason} most={300} />
          </>
        )}
      </>
    )}
  </>
);

function NextTimes({ of }: { of: ScheduleView }) {
  const { schedule_id, updated_at, next_run_at } = of;
  const key = JSON.stringify(["next", schedule_id, updated_at, next_run_at, tenant.value]);
  const times = useLoad(key, (signal) =>
    api.get<{ next: string[] }>(schedulePath(schedule_id, "/next"), { count: timesShown }, { signal }),
  );
  return (
    <Section title="Next times">
      {of.enabled ? (
        <Answer of={times}>
          {({ next }) => <TimesTable times={next} rule={of} label={`Next times of the schedule`} />}
        </Answer>
      ) : (
        <Nothing>Paused: no time submits anything until the schedule is resumed.</Nothing>
      )}
    </Section>
  );
}
