import type { AuditEntry } from "../../../src/api/acts/views.ts";
import { Choice, TextFilter } from "../parts/filter.tsx";
import { Json } from "../parts/json.tsx";
import { ReadAgain } from "../parts/layout.tsx";
import { ListPage, usePaged } from "../parts/paged.tsx";
import type { Column } from "../parts/table.tsx";
import { Text, Time } from "../parts/text.tsx";
import { href, route } from "../route.ts";
import { chosenTenant, may } from "../session.ts";

const names = ["actor", "action", "task_id", "after", "before", "scope"] as const;

/** The acts of operators and admins, the newest first. */
export function AuditPage() {
  const { query } = route.value;
  const wanted = Object.fromEntries(names.flatMap((name) => (query[name] ? [[name, query[name]]] : [])));
  const entries = usePaged<AuditEntry>("/audit", "entries", wanted);
  return (
    <ListPage
      title="Audit"
      actions={<ReadAgain of={entries} />}
      of={entries}
      nothing="Nobody has changed anything in the last 400 days."
      label="Audit"
      keyOf={({ audit_id }) => audit_id}
      columns={columns}
    >
      <search class="card">
        <form class="filters" onSubmit={(event) => event.preventDefault()}>
          <TextFilter name="actor" label="Actor" />
          <TextFilter name="action" label="Action" />
          <TextFilter name="task_id" label="Task id" />
          {may("admin") && <Choice name="scope" label="Acts on" options={scopes} value={query.scope ?? "tenant"} />}
        </form>
      </search>
    </ListPage>
  );
}

const scopes = [
  ["tenant", "this tenant"],
  ["deployment", "all tenants"],
] as const;

const columns: readonly Column<AuditEntry>[] = [
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
];

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
