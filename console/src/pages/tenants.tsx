import { useSignal } from "@preact/signals";
import type { TenantInfo } from "../../../src/http/views.ts";
import { count } from "../format.ts";
import { useLoad } from "../load.ts";
import { Curl } from "../parts/curl.tsx";
import { FormDialog } from "../parts/dialog.tsx";
import { Answer, Page } from "../parts/layout.tsx";
import { PagedRows, usePaged } from "../parts/paged.tsx";
import { Table } from "../parts/table.tsx";
import { Text, Time } from "../parts/text.tsx";
import { href } from "../route.ts";
import { api } from "../session.ts";

const limitTexts = {
  submits_per_second: "Submits per second",
  burst: "Submits at once after a pause",
  tasks_in_progress: "Tasks in progress",
  request_bytes: "Bytes of a request",
  schedules: "Schedules",
  open_upload_bytes: "Bytes of open uploads",
};

type LimitName = keyof typeof limitTexts;
type Limits = { readonly [Name in LimitName]?: number | null };
const limitNames = Object.keys(limitTexts) as LimitName[];

type Open = { act: "pause" | "limits"; of: TenantInfo };

/** All tenants that have a key or have submitted a task. */
export function TenantsPage() {
  const tenants = usePaged<TenantInfo>("/tenants", "tenants");
  const open = useSignal<Open | undefined>(undefined);
  const close = () => {
    open.value = undefined;
    tenants.reload();
  };
  const show = (act: Open["act"], of: TenantInfo) => {
    open.value = { act, of };
  };
  return (
    <Page title="Tenants">
      <section class="card">
        <PagedRows of={tenants} nothing="No tenant has a key or has submitted a task.">
          {(rows) => <Rows rows={rows} show={show} />}
        </PagedRows>
      </section>
      <Curl of={{ path: "/tenants" }} />
      {open.value?.act === "pause" && <PauseDialog of={open.value.of} onClose={close} />}
      {open.value?.act === "limits" && <LimitsDialog of={open.value.of} onClose={close} />}
    </Page>
  );
}

const Rows = ({ rows, show }: { rows: readonly TenantInfo[]; show: (act: Open["act"], of: TenantInfo) => void }) => (
  <Table
    label="Tenants"
    rows={rows}
    keyOf={({ tenant_id }) => tenant_id}
    columns={[
      {
        name: "Tenant",
        cell: ({ tenant_id }) => <a href={href(["tasks"], { tenant: tenant_id })}>{tenant_id}</a>,
      },
      {
        name: "Paused",
        cell: ({ paused_since }) => (paused_since === null ? "no" : <Time at={paused_since} />),
      },
      {
        name: "",
        cell: (tenant) => (
          <>
            <button type="button" class="quiet" onClick={() => show("pause", tenant)}>
              {tenant.paused_since === null ? "Pause" : "Resume"} <Text of={tenant.tenant_id} /> …
            </button>
            <button type="button" class="quiet" onClick={() => show("limits", tenant)}>
              Limits of <Text of={tenant.tenant_id} /> …
            </button>
            <a href={href(["keys"], { tenant: tenant.tenant_id })}>
              Keys of <Text of={tenant.tenant_id} />
            </a>
          </>
        ),
      },
    ]}
  />
);

function PauseDialog({ of, onClose }: { of: TenantInfo; onClose: () => void }) {
  const verb = of.paused_since === null ? "pause" : "resume";
  return (
    <FormDialog
      title={`${verb === "pause" ? "Pause" : "Resume"} the tenant ${of.tenant_id}`}
      action={verb === "pause" ? "Pause" : "Resume"}
      danger={verb === "pause"}
      run={() => api.send("POST", `/tenants/${encodeURIComponent(of.tenant_id)}/${verb}`, {})}
      onClose={onClose}
    >
      <p>
        {verb === "pause"
          ? "Its tasks are accepted and wait. None starts until you resume the tenant; those that run go on."
          : "Its waiting tasks start again, in their order."}
      </p>
    </FormDialog>
  );
}

function LimitsDialog({ of, onClose }: { of: TenantInfo; onClose: () => void }) {
  const path = `/tenants/${encodeURIComponent(of.tenant_id)}/limits`;
  const limits = useLoad(path, () => api.get<{ limits: Limits; in_force: Limits }>(path));
  const changes = useSignal<Readonly<Record<string, string>>>({});
  const value = (text: string) => (text === "" ? "unset" : text === "none" ? null : Number(text));
  const run = () =>
    api.send(
      "PATCH",
      path,
      Object.fromEntries(Object.entries(changes.value).map(([name, text]) => [name, value(text.trim())])),
    );
  const shown = (limit: number | null | undefined) => (limit === null ? "none" : String(limit ?? ""));
  return (
    <FormDialog
      title={`Limits of ${of.tenant_id}`}
      action="Change"
      disabled={Object.keys(changes.value).length === 0}
      run={run}
      onClose={onClose}
    >
      <p class="muted">Empty: the deployment's default. none: no limit. A change takes effect within ten seconds.</p>
      <Answer of={limits}>
        {({ limits: own, in_force }) =>
          limitNames.map((name) => (
            <label key={name}>
              {limitTexts[name]}, in force: {in_force[name] == null ? "no limit" : count(in_force[name] ?? 0)}
              <input
                pattern="\d+(\.\d+)?|none"
                title="a number, none, or empty"
                value={changes.value[name] ?? shown(own[name])}
                onInput={(event) => {
                  changes.value = { ...changes.value, [name]: event.currentTarget.value };
                }}
              />
            </label>
          ))
        }
      </Answer>
    </FormDialog>
  );
}
