import type { ComponentType } from "preact";
import { AuditPage } from "./pages/audit.tsx";
import { DeadLettersPage } from "./pages/dead-letters.tsx";
import { DeliveriesPage } from "./pages/deliveries.tsx";
import { KeysPage } from "./pages/keys.tsx";
import { OverviewPage } from "./pages/overview.tsx";
import { QueuesPage } from "./pages/queues.tsx";
import { SchedulesPage } from "./pages/schedules.tsx";
import { SubmitPage } from "./pages/submit.tsx";
import { TasksPage } from "./pages/tasks.tsx";
import { TenantsPage } from "./pages/tenants.tsx";
import { TypesPage } from "./pages/types.tsx";
import type { Role } from "./session.ts";

/** A page, at `#/<path>`. A page gets the further steps of the path, such as a task's id. */
export interface PageOf {
  path: string;
  title: string;
  /** The least role that the page is for. */
  role: Role;
  component: ComponentType<{ rest: readonly string[] }>;
}

/** All pages, in the order of the navigation. */
export const pages: readonly PageOf[] = [
  { path: "overview", title: "Overview", role: "operator", component: OverviewPage },
  { path: "tasks", title: "Tasks", role: "submitter", component: TasksPage },
  { path: "dead-letters", title: "Dead letters", role: "operator", component: DeadLettersPage },
  { path: "schedules", title: "Schedules", role: "operator", component: SchedulesPage },
  { path: "submit", title: "Submit", role: "submitter", component: SubmitPage },
  { path: "types", title: "Types", role: "operator", component: TypesPage },
  { path: "webhooks", title: "Webhooks", role: "operator", component: DeliveriesPage },
  { path: "audit", title: "Audit", role: "operator", component: AuditPage },
  { path: "queues", title: "Queues", role: "admin", component: QueuesPage },
  { path: "tenants", title: "Tenants", role: "admin", component: TenantsPage },
  { path: "keys", title: "Keys", role: "admin", component: KeysPage },
];
