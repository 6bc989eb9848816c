import { Page } from "../parts/layout.tsx";

export function SchedulesPage() {
  return <Page title="Schedules">{undefined}</Page>;
}
