import type { TypeList } from "../../src/api/acts/views.ts";
import { type Loaded, useLoad } from "./load.ts";
import { api, tenant } from "./session.ts";

/** The task types as the tenant sees them, read once. */
export const useTaskTypes = (): Loaded<TypeList> =>
  useLoad(`types ${tenant.value}`, (signal) => api.get<TypeList>("/types", undefined, { signal }));
