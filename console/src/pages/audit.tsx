import type { AuditEntry } from "../../../src/http/views.ts";
import { Curl } from "../parts/curl.tsx";
import { Json } from "../parts/json.tsx";
import { Page } from "../parts/layout.tsx";
import { PagedRows, usePaged } from "../parts/paged.tsx";
import { Table } from "../parts/table.tsx";
import { Text, Time } from "../parts/text.tsx";
import { changeQuery, href, route } from "../route.ts";
import { chosenTenant, may } from "../session.ts";

const names = ["actor", "action", "task_id", "after", "before", "scope"] as const;

/** The acts of operators and admins, the newest first. */
export function AuditPage() {
  const { query } = route.value;
  const wanted = Object.fromEntries(names.flatMap((name) => (query[name] ? [[name, query[name]]] : [])));
  const entries = usePaged<AuditEntry>("/audit", "entries", wanted);
  return (
    <Page
      title="Audit"
      actions={
        <button type="button" onClick={entries.reload}>
          Read again
        </button>
      }
    >
      <Filters query={query} />
      <section class="card">
        <PagedRows of={entries} nothing="Nobody has changed anything in the last 400 days.">
          {(rows) => <Entries rows={rows} />}
        </PagedRows>
      </section>
      <Curl of={{ path: "/audit", query: wanted }} />
    </Page>
  );
}

function Filters({ query }: { query: Readonly<Record<string, string>> }) {
  const field = (name: (typeof names)[number], label: string) => (
    <label>
      {label}
      <input
        value={query[name] ?? ""}
        onChange={(event) => changeQuery({ [name]: event.currentTarget.value.trim() || undefined })}
      />
    </label>
  );
  return (
    <search class="card">
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        {field("actor", "Actor")}
        {field("action", "Action")}
        {field("task_id", "Task id")}
        {may("admin") && (
          <label>
            Acts on
            <select
              value={query.scope ?? "tenant"}
              onChange={(event) => changeQuery({ scope: event.currentTarget.value })}
            >
              <option value="tenant">this tenant</option>
              <option value="deployment">all tenants</option>
            </select>
          </label>
        )}
      </form>
    </search>
  );
}

const Entries = ({ rows }: { rows: readonly AuditEntry[] }) => (
  <Table
    label="Audit"
    rows={rows}
    keyOf={({ audit_id }) => audit_id}
    columns={[
      { name: "When", cell: ({ at }) => <Time at={at} exact /> },
      { name: "Actor", cell: ({ actor, role }) => <Actor {...{ actor, role }} /> },
      { name: "Action", cell: ({ action }) => action },
      { name: "Target", cell: ({ target }) => <Target of={target} /> },
      { name: "Answer", cell: ({ status }) => status ?? "none yet" },
      {
        name: "Request",
        cell: ({ request }) =>
          request !== null && (
            <details>
              <summary>Body</summary>
              <Json of={request} label="Body of the request" />
            </details>
          ),
      },
    ]}
  />
);

const Actor = ({ actor, role }: { actor: string; role: string | null }) => (
  <>
    <Text of={actor} most={80} /> {role !== null && <span class="muted">{role}</span>}
  </>
);

const Target = ({ of }: { of: Record<string, string> }) => (
  <>
    {Object.entries(of).map(([name, value]) => (
      <div key={name}>
        <span class="muted">{name}</span>{" "}
        {name === "task_id" ? (
          <a href={href(["tasks", value], { tenant: chosenTenant.value })}>
            <Text of={value} most={64} />
          </a>
        ) : (
          <Text of={value} most={120} />
        )}
      </div>
    ))}
  </>
);
