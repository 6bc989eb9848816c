import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useLoad } from "./load.ts";
import { Text } from "./parts/text.tsx";
import { changeQuery } from "./route.ts";
import { allTenants, api, chosenTenant, may, tenant, tenantName } from "./session.ts";
import { typing } from "./signals.ts";

/** The first tenants by name, which is all of them where `next_cursor` is null. */
interface FirstTenants {
  tenants: readonly { tenant_id: string }[];
  next_cursor: string | null;
}

/** Undefined until it is read, and where the caller may not read it. */
const first = signal<FirstTenants | undefined>(undefined);

/** The tenant whose tasks are shown. Admins can choose another one. */
export const TenantChoice = () =>
  may("admin") ? (
    <Choice />
  ) : (
    <span class="tenant">
      <Mark />
      <Text of={tenant.value} most={64} />
    </span>
  );

/** The first letter of the tenant. */
const Mark = () => (
  <span class="tenant-mark" aria-hidden="true">
    {tenant.value === allTenants ? "∗" : tenant.value.slice(0, 1).toUpperCase()}
  </span>
);

function Choice() {
  const given = useSignal("");
  const { value } = useLoad(
    `tenants ${tenant.value}`,
    (signal) => api.get<FirstTenants>("/tenants", { limit: 100 }, { signal }),
    { everyMs: 60_000 },
  );
  useEffect(() => {
    first.value = value;
  }, [value]);
  return (
    <form
      class="tenant"
      onSubmit={(event) => {
        event.preventDefault();
        const wanted = given.value.trim();
        given.value = "";
        changeQuery({ tenant: wanted });
      }}
    >
      <Mark />
      <label>
        <span class="for-readers">Tenant</span>
        <input
          value={given.value}
          placeholder={tenantName.value}
          aria-label={`Tenant, now ${tenantName.value}`}
          list="tenant-names"
          size={14}
          onInput={typing(given)}
        />
      </label>
      <datalist id="tenant-names">
        <option value={allTenants} />
        {first.value?.tenants.map(({ tenant_id }) => (
          <option key={tenant_id} value={tenant_id} />
        ))}
      </datalist>
    </form>
  );
}

/** Says that the chosen tenant has nothing, which looks like a tenant that is well. */
export function UnknownTenant() {
  const chosen = chosenTenant.value;
  if (chosen === undefined || chosen === allTenants || first.value?.next_cursor !== null) return null;
  if (first.value.tenants.some(({ tenant_id }) => tenant_id === chosen)) return null;
  return (
    <p class="failure" role="status">
      No tenant <Text of={chosen} most={64} /> has a key or has submitted a task. Is the name right?
    </p>
  );
}
