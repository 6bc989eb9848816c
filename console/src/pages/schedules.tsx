import { useRef } from "preact/hooks";
import type { ScheduleView } from "../../../src/client/schedule-calls.ts";
import { count } from "../format.ts";
import { useLive } from "../live-load.ts";
import { Curl } from "../parts/curl.tsx";
import { Answer, Nothing, Page } from "../parts/layout.tsx";
import { Table } from "../parts/table.tsx";
import { Text } from "../parts/text.tsx";
import { href } from "../route.ts";
import { chosenTenant, hrefOf, mayChange, tenant } from "../session.ts";
import { readSchedules, type SchedulesRead, stateOf } from "./schedules-data.ts";
import { NewSchedulePage } from "./schedules-form.tsx";
import { SchedulePage } from "./schedules-one.tsx";
import { LastTask, RuleText, ScheduleState, ZonedTime } from "./schedules-texts.tsx";
import { WeekAhead } from "./schedules-week.tsx";

/** The list of schedules, one of them, or the form for a new one. */
export function SchedulesPage({ rest }: { rest: readonly string[] }) {
  const [step] = rest;
  if (step === undefined) return <Schedules />;
  return step === "new" && mayChange() ? <NewSchedulePage /> : <SchedulePage key={step} scheduleId={step} />;
}

function Schedules() {
  const pages = useRef(1);
  const list = useLive(`schedules ${tenant.value}`, (signal) => readSchedules(pages.current, signal));
  // Also while the list is read again by itself: a click must not be lost.
  const more = () => {
    pages.current += 1;
    list.reload();
  };
  return (
    <Page
      title="Schedules"
      about={list.value !== undefined && aboutText(list.value)}
      state={list.value === undefined ? undefined : failingText(list.value.schedules)}
      actions={
        mayChange() && (
          <a class="button primary" href={href(["schedules", "new"], { tenant: chosenTenant.value })}>
            New schedule
          </a>
        )
      }
    >
      {list.value !== undefined && list.value.schedules.length > 0 && <WeekAhead of={list.value.schedules} />}
      <section class="card">
        <Answer of={list}>
          {({ schedules, complete }) => (
            <>
              {schedules.length > 0 && <Rows of={schedules} />}
              {schedules.length === 0 && complete && (
                <Nothing>{tenant.value} has no schedule. A schedule submits the same task again and again.</Nothing>
              )}
              {!complete && (
                <div class="actions">
                  <button type="button" onClick={more}>
                    More
                  </button>
                  <span class="muted">{count(schedules.length)} so far</span>
                </div>
              )}
            </>
          )}
        </Answer>
      </section>
      <Curl of={{ path: "/schedules" }} />
    </Page>
  );
}

function aboutText({ schedules, complete }: SchedulesRead): string {
  const ofCode = schedules.filter(({ source }) => source === "code").length;
  const more = complete ? "" : " or more";
  return `${count(schedules.length)}${more}${ofCode === 0 ? "" : `, ${count(ofCode)} of them in the code`}`;
}

/** The number of schedules that fail, for the window's title. */
function failingText(schedules: readonly ScheduleView[]): string | undefined {
  const failing = schedules.filter((schedule) => stateOf(schedule) === "failing").length;
  return failing === 0 ? undefined : `${count(failing)} failing`;
}

const fromTexts = { code: "code", each: "code, each tenant", api: "API" };

const Rows = ({ of }: { of: readonly ScheduleView[] }) => (
  <Table
    label="Schedules"
    rows={[...of].sort((a, b) => a.name.localeCompare(b.name))}
    keyOf={({ schedule_id }) => schedule_id}
    columns={[
      {
        name: "Name",
        cell: (schedule) => (
          <a class="named" href={hrefOf(["schedules", schedule.schedule_id], schedule)}>
            <Text of={schedule.name} most={128} />
          </a>
        ),
      },
      { name: "Type", cell: ({ task }) => <TypeName of={task.type} /> },
      { name: "From", cell: ({ source, for_each_tenant }) => fromTexts[for_each_tenant ? "each" : source] },
      { name: "Rule", cell: (schedule) => <RuleText of={schedule} /> },
      { name: "State", cell: (schedule) => <ScheduleState of={schedule} /> },
      { name: "Next time", cell: ({ next_run_at, timezone }) => <ZonedTime at={next_run_at} zone={timezone} /> },
      { name: "Last task", cell: (schedule) => <LastTask of={schedule} /> },
      { name: "Skipped", numeric: true, cell: ({ skipped }) => count(skipped) },
    ]}
  />
);

const TypeName = ({ of }: { of: string }) => (
  <span class="nowrap">
    <Text of={of} most={64} />
  </span>
);
