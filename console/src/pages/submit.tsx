import { Page } from "../parts/layout.tsx";

export function SubmitPage() {
  return <Page title="Submit">{undefined}</Page>;
}
