import { useSignal } from "@preact/signals";
import type { TenantInfo } from "../../../src/api/acts/views.ts";
import { count } from "../format.ts";
import { useLoad } from "../load.ts";
import { FormDialog } from "../parts/dialog.tsx";
import { Answer } from "../parts/layout.tsx";
import { ListPage, usePaged } from "../parts/paged.tsx";
import { Text, Time } from "../parts/text.tsx";
import { href } from "../route.ts";
import { api } from "../session.ts";
import { useShown } from "../signals.ts";

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
  const { value: open, show, close } = useShown<Open>(tenants.reload);
  return (
    <ListPage
      title="Tenants"
      of={tenants}
      nothing="No tenant has a key or has submitted a task."
      label="Tenants"
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
        { name: "", cell: (tenant) => <Acts of={tenant} show={show} /> },
      ]}
      dialogs={
        <>
          {open?.act === "pause" && <PauseDialog of={open.of} onClose={close} />}
          {open?.act === "limits" && <LimitsDialog of={open.of} onClose={close} />}
        </>
      }
    />
  );
}

const Acts = ({ of, show }: { of: TenantInfo; show: (open: Open) => void }) => (
  <>
    <button type="button" class="quiet" onClick={() => show({ act: "pause", of })}>
      {of.paused_since === null ? "Pause" : "Resume"} <Text of={of.tenant_id} /> …
    </button>
    <button type="button" class="quiet" onClick={() => show({ act: "limits", of })}>
      Limits of <Text of={of.tenant_id} /> …
    </button>
    <a href={href(["keys"], { tenant: of.tenant_id })}>
      Keys of <Text of={of.tenant_id} />
    </a>
  </>
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
  const path = `/tenants/${encodeURIComponent(of.tenant_id)}/limits` as const;
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
