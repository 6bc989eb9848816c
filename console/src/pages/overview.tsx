import { Page } from "../parts/layout.tsx";

export function OverviewPage() {
  return <Page title="Overview">{undefined}</Page>;
}
