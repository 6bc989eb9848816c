import { computed, signal } from "@preact/signals";
import type { Caller } from "../../src/api/acts/views.ts";
import type { PathOf } from "../../src/api/http/routes.ts";
import { ProblemError } from "../../src/client/errors.ts";
import type { CallOptions } from "../../src/client/limits.ts";
import { type Query, Transport } from "../../src/client/transport.ts";
import type { Role } from "../../src/core/model/words.ts";
import { href, type QueryValues, route } from "./route.ts";

export type { PathOf, Role };

/** Settings of the deployment, as `GET /console/config.json` answers. */
export interface Config {
  version: string;
  name: string;
  local: boolean;
  push: boolean;
  oidc: { issuer: string; client_id: string; scope: string } | null;
}

/** The session storage keeps it until the tab is closed. No other tab and no later visit sees it. */
const tokenName = "offload.token";

/** The reason why the last session ended, for the page that is loaded next. */
const reasonName = "offload.signed-out";

/** The token of the requests. Empty: nobody has signed in. */
const token = signal("");

/** The token of the tab's last session. Null: there is none. */
export const keptToken = (): string | null => sessionStorage.getItem(tokenName);

/** Undefined: nobody has signed in. */
export const identity = signal<Caller | undefined>(undefined);

/** Undefined until it is read. */
export const config = signal<Config | undefined>(undefined);

/** Reason why the last session ended, for the sign-in page. */
export const signedOutBecause = signal(sessionStorage.getItem(reasonName) ?? "");
sessionStorage.removeItem(reasonName);

/** All tenants, for an admin. */
export const allTenants = "*";

/** Lists that can be of all tenants, by the path of their page. What is behind a row of them is of one tenant. */
const listOfAll = /^(overview|tasks|dead-letters|schedules|types|webhooks)?$/;

/** Another tenant than the admin's own, from the URL, or all of them. Undefined: the own one. */
export const chosenTenant = computed(() => {
  if (identity.value?.role !== "admin") return undefined;
  const { steps, query } = route.value;
  const path = steps.join("/");
  // The overview opens for all: the own tenant of an admin's key may have nothing while another one is in trouble.
  const wanted = query.tenant || (/^(overview)?$/.test(path) ? allTenants : undefined);
  return wanted === allTenants && !listOfAll.test(path) ? undefined : wanted;
});

/** The tenant whose tasks are shown. */
export const tenant = computed(() => chosenTenant.value ?? identity.value?.tenant_id ?? "");

/** That tenant in a sentence. */
export const tenantName = computed(() => (tenant.value === allTenants ? "all tenants" : tenant.value));

/** The link to what a row of a list is about. Lists of all tenants name its tenant in each row. */
export const hrefOf = (steps: readonly string[], row: object, query: QueryValues = {}): string =>
  href(steps, {
    ...query,
    tenant: chosenTenant.value && "tenant_id" in row ? String(row.tenant_id) : chosenTenant.value,
  });

const ranks: Record<Role, number> = { submitter: 0, viewer: 1, operator: 2, admin: 3 };

/** True when the caller reads what this role reads. */
export const may = (role: Role): boolean => identity.value !== undefined && ranks[identity.value.role] >= ranks[role];

/** True when the caller may change something. The page has no button that a viewer may not press. */
export const mayChange = (): boolean => identity.value !== undefined && identity.value.role !== "viewer";

/** True when the caller may read inputs and logs. */
export const maySeeInputs = (): boolean => mayChange() || identity.value?.inputs === true;

/** Sends requests as the caller. */
const transports = computed(
  () =>
    new Transport({
      url: location.origin,
      key: () => token.value,
      tenant: chosenTenant.value,
      maxTries: 2,
    }),
);

export const transport = (): Transport => transports.value;

/** Sends requests about one tenant: the caller's own where the page is of all tenants. */
const oneTenants = computed(
  () =>
    new Transport({
      url: location.origin,
      key: () => token.value,
      tenant: tenant.value === allTenants ? undefined : chosenTenant.value,
      maxTries: 2,
    }),
);

/**
 * Signs in with an API key or a token of the issuer.
 * @throws ProblemError when it is not valid
 */
export async function signIn(given: string): Promise<void> {
  token.value = given;
  try {
    identity.value = await transport().get<Caller>("/identity");
    sessionStorage.setItem(tokenName, given);
    signedOutBecause.value = "";
  } catch (error) {
    token.value = "";
    throw error;
  }
}

/**
 * Forgets the token and loads the page anew, so that nothing of this user stays in the tab.
 * @param because Text for the sign-in page, which then goes back to the same place. Default: the user wanted it.
 */
export function signOut(because = ""): void {
  sessionStorage.clear();
  token.value = "";
  identity.value = undefined;
  if (because === "") {
    location.replace(location.pathname);
  } else {
    sessionStorage.setItem(reasonName, because);
    location.reload();
  }
}

/** Requests with a body, and those that the client's own calls do not cover. */
export const api = {
  get: <T>(path: PathOf<"GET"> | `/_local/${string}`, query?: Query, options?: CallOptions): Promise<T> =>
    guarded(() => transport().get<T>(path, options, query)),
  send: <T, Verb extends "POST" | "PATCH" | "DELETE" = "POST">(
    method: Verb,
    path: PathOf<Verb>,
    body?: unknown,
  ): Promise<T> => guarded(() => transport().call<T>({ method, path, ...(body !== undefined && { body }) })),
  /** Submits a task. Two calls with one key make one task, so a lost answer is asked for again. */
  submit: <T>(body: unknown, idempotencyKey: string): Promise<T> =>
    guarded(() => oneTenants.value.post<T>("/tasks", body, {}, { "idempotency-key": idempotencyKey })),
  /** Reads something of one tenant. */
  getOne: <T>(path: PathOf<"GET">): Promise<T> => guarded(() => oneTenants.value.get<T>(path)),
};

/** A token that is no longer valid ends the session. */
async function guarded<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof ProblemError && error.status === 401) {
      signOut("Your key or token is no longer valid. Sign in again.");
    }
    throw error;
  }
}
