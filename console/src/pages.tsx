import type { ComponentType } from "preact";
import { later } from "./parts/later.tsx";
import type { Role } from "./session.ts";

/** A page gets the further steps of the path, such as a task's id. */
type PageComponent = ComponentType<{ rest: readonly string[] }>;

/** A page, at `#/<path>`. */
export interface PageOf {
  path: string;
  title: string;
  /** The least role that the page is for. */
  role: Role;
  /** True: a viewer has no use for it. */
  changes?: true;
  component: PageComponent;
}

/** All pages, in the order of the navigation. */
export const pages: readonly PageOf[] = [
  {
    path: "overview",
    title: "Overview",
    role: "viewer",
    component: later("Overview", async () => (await import("./pages/overview.tsx")).OverviewPage),
  },
  {
    path: "tasks",
    title: "Tasks",
    role: "submitter",
    component: later("Tasks", async () => (await import("./pages/tasks.tsx")).TasksPage),
  },
  {
    path: "dead-letters",
    title: "Dead letters",
    role: "viewer",
    component: later("Dead letters", async () => (await import("./pages/dead-letters.tsx")).DeadLettersPage),
  },
  {
    path: "schedules",
    title: "Schedules",
    role: "viewer",
    component: later("Schedules", async () => (await import("./pages/schedules.tsx")).SchedulesPage),
  },
  {
    path: "submit",
    title: "Submit",
    role: "submitter",
    changes: true,
    component: later("Submit", async () => (await import("./pages/submit.tsx")).SubmitPage),
  },
  {
    path: "types",
    title: "Types",
    role: "viewer",
    component: later("Types", async () => (await import("./pages/types.tsx")).TypesPage),
  },
  {
    path: "queues",
    title: "Queues",
    role: "admin",
    component: later("Queues", async () => (await import("./pages/queues.tsx")).QueuesPage),
  },
  {
    path: "webhooks",
    title: "Webhooks",
    role: "viewer",
    component: later("Webhooks", async () => (await import("./pages/webhooks.tsx")).WebhooksPage),
  },
  {
    path: "tenants",
    title: "Tenants",
    role: "admin",
    component: later("Tenants", async () => (await import("./pages/tenants.tsx")).TenantsPage),
  },
  {
    path: "keys",
    title: "Keys",
    role: "admin",
    component: later("Keys", async () => (await import("./pages/keys.tsx")).KeysPage),
  },
  {
    path: "audit",
    title: "Audit",
    role: "viewer",
    component: later("Audit", async () => (await import("./pages/audit.tsx")).AuditPage),
  },
];
