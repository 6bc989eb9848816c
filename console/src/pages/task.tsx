import { Page } from "../parts/layout.tsx";

export function TaskPage({ taskId }: { taskId: string }) {
  return <Page title={taskId}>{undefined}</Page>;
}
