import type { Metrics } from "../../../src/api/acts/views.ts";
import type { Deployment } from "../../../src/core/schedules/ports.ts";
import { count, duration } from "../format.ts";
import { useLoad } from "../load.ts";
import { Chart, type ChartData } from "../parts/chart.tsx";
import { Curl } from "../parts/curl.tsx";
import { Choice } from "../parts/filter.tsx";
import { Answer, Nothing, Section } from "../parts/layout.tsx";
import { route } from "../route.ts";
import { api } from "../session.ts";
import { isEmpty, throughputOf, tiersOf, totalOf, waitsOf } from "./overview-data.ts";
import { hoursOf } from "./overview-hours.ts";

const hoursChoices = ["3", "12", "24"];

/** Throughput and waits of the last hours, for admins: of all tenants. They are read once a minute. */
export function Charts({ deployments }: { deployments: readonly Deployment[] }) {
  const { query } = route.value;
  const hours = hoursChoices.find((choice) => choice === query.hours) ?? "3";
  const metrics = useLoad(`metrics ${hours}`, (signal) => api.get<Metrics>("/metrics", { hours }, { signal }), {
    everyMs: 60_000,
  });
  return (
    <Section
      title="Throughput and waits"
      actions={
        <>
          <Choice
            label="Time"
            name="hours"
            value={hours}
            beside
            options={hoursChoices.map((of) => [of, `last ${of} hours`])}
          />
          {metrics.value !== undefined && (
            <Choice
              label="Tier"
              name="tier"
              beside
              options={[["", "all"], ...tiersOf(metrics.value).map((of) => [of, of] as const)]}
            />
          )}
        </>
      }
    >
      <Answer of={metrics}>{(of) => <Both {...{ of, hours, deployments }} tier={query.tier || undefined} />}</Answer>
      <Curl of={{ path: "/metrics", query: { hours } }} />
    </Section>
  );
}

interface BothProps {
  of: Metrics;
  tier: string | undefined;
  hours: string;
  deployments: readonly Deployment[];
}

function Both({ of, tier, hours, deployments }: BothProps) {
  const ended = throughputOf(of, tier);
  const waits = waitsOf(of, tier);
  const period = duration(of.period_seconds * 1_000);
  const [completed = [], failed = []] = ended.lines.map(({ values }) => values);
  const { last, before } = hoursOf({ times: ended.times, completed, failed }, Date.parse(of.to) / 1_000);
  const totals = `${count(totalOf(ended, "completed"))} completed, ${count(totalOf(ended, "failed"))} failed`;
  return (
    <>
      <p class="hours">
        <strong>{count(last.failed)}</strong> of {count(last.ended)} tasks failed in the last hour,{" "}
        {count(before.failed)} of {count(before.ended)} in the hour before.
      </p>
      <div class="cards">
        <Titled
          title={`Ended tasks per ${period}: ${totals}`}
          data={ended}
          deployments={deployments}
          label={`Ended tasks per ${period}, last ${hours} hours`}
          nothing={`No task ended in the last ${hours} hours.`}
          format={(value) => count(value)}
        />
        <Titled
          title={`Wait in the queue${tier === undefined ? ", of the slowest tier" : ""}`}
          data={waits}
          deployments={deployments}
          label={`Wait in the queue, last ${hours} hours`}
          nothing={`No task started in the last ${hours} hours.`}
          format={duration}
        />
      </div>
    </>
  );
}

interface TitledProps {
  title: string;
  data: ChartData;
  deployments: readonly Deployment[];
  label: string;
  nothing: string;
  format: (value: number) => string;
}

const Titled = ({ title, nothing, ...chart }: TitledProps) => (
  <div class="titled">
    <h3>{title}</h3>
    {isEmpty(chart.data) ? <Nothing>{nothing}</Nothing> : <Chart {...chart} />}
  </div>
);
