import type { TypeList, TypeView } from "../../../src/api/acts/views.ts";
import { count, duration } from "../format.ts";
import { useLive } from "../live-load.ts";
import { Curl } from "../parts/curl.tsx";
import { Answer, Nothing, Page } from "../parts/layout.tsx";
import { Table } from "../parts/table.tsx";
import { Status, Text, Time } from "../parts/text.tsx";
import { href } from "../route.ts";
import { api, chosenTenant, tenant } from "../session.ts";
import { TypePage } from "./types-one.tsx";
import { rateText, stateOf } from "./types-state.ts";

/** The list of task types, or one of them. */
export function TypesPage({ rest }: { rest: readonly string[] }) {
  const [name] = rest;
  return name === undefined ? <Types /> : <TypePage key={name} name={name} />;
}

function Types() {
  const types = useLive(`types ${tenant.value}`, (signal) => api.get<TypeList>("/types", undefined, { signal }));
  const all = types.value?.types ?? [];
  const sick = all.filter((type) => stateOf(type).of !== "open").length;
  return (
    <Page
      title="Types"
      about={all.length === 0 ? "" : count(all.length)}
      state={sick === 0 ? undefined : `${sick} stand still`}
    >
      <Answer of={types}>
        {(answer) =>
          answer.types.length === 0 ? (
            <Nothing>No task types. A file in the folder of tasks defines one.</Nothing>
          ) : (
            <section class="card">
              <Table
                label="Types"
                rows={answer.types.toSorted(inTrouble)}
                keyOf={({ name }) => name}
                columns={columns}
              />
            </section>
          )
        }
      </Answer>
      <Curl of={{ path: "/types" }} />
    </Page>
  );
}

/** Trouble first, then by name. */
const inTrouble = (one: TypeView, other: TypeView): number => {
  const rank = (type: TypeView) => (stateOf(type).of === "open" ? 1 : 0);
  return rank(one) - rank(other) || one.name.localeCompare(other.name);
};

const columns = [
  {
    name: "Type",
    cell: ({ name, description }: TypeView) => (
      <>
        <a class="whole" href={href(["types", name], { tenant: chosenTenant.value })}>
          <Text of={name} most={64} />
        </a>
        <span class="sub">
          <Text of={description} most={120} />
        </span>
      </>
    ),
  },
  {
    name: "State",
    cell: (type: TypeView) => {
      const { of, word } = stateOf(type);
      return <Status of={of} word={word} />;
    },
  },
  {
    name: "Oldest waits",
    cell: ({ waiting_since, waits_for_limit }: TypeView) => oldest(waiting_since, waits_for_limit),
  },
  { name: "Priority", cell: ({ priority }: TypeView) => priority },
  { name: "Limits", cell: (type: TypeView) => <span class="nowrap">{limitsText(type)}</span> },
  { name: "Attempts", numeric: true, cell: ({ max_attempts }: TypeView) => count(max_attempts) },
  { name: "Time-out", numeric: true, cell: ({ timeout_seconds }: TypeView) => duration(timeout_seconds * 1000) },
];

const oldest = (since: string | null | undefined, waits: TypeView["waits_for_limit"]) => (
  <Time at={since ?? waits?.since} />
);

/** The limits of a type in short, such as `3 at once per key`. */
function limitsText({ concurrency, rate_limit: rate }: TypeView): string {
  const per = (keyed: boolean) => (keyed ? " per key" : "");
  const texts = [
    concurrency !== null &&
      `${concurrency.limit === null ? "by input" : count(concurrency.limit)} at once${per(concurrency.keyed)}${concurrency.order === undefined ? "" : " in strict order"}`,
    rate !== null && `${rateText(rate)}${per(rate.keyed)}`,
  ];
  return texts.filter(Boolean).join(", ") || "none";
}
