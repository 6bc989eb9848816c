import { Page } from "../parts/layout.tsx";

export function QueuesPage() {
  return <Page title="Queues">{undefined}</Page>;
}
