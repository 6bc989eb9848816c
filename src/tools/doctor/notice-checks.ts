import { parseAllowedHost } from "../../core/notify/allowed-hosts.ts";
import type { Deployment, Resource } from "./deployment.ts";
import { about, type Check, type Fault, type Finding } from "./finding.ts";
import { isKept, noticeFeedsOf } from "./pipeline.ts";
import { ruleCheck } from "./rules.ts";

export const noticeFeed = ruleCheck("notice-feed", "The queue of notices has an enabled event source", {
  severity: "high",
  broken: (deployment) => noticeFeedsOf(deployment).flatMap(({ queue, feed }) => (feed === undefined ? [queue] : [])),
  found: "No enabled event source takes its messages: no webhook, channel message or event is sent.",
  fix: "Enable the event source of the function notify.",
});

/** Hosts of the machine or its network link. In Lambda they lead to the function's own runtime. */
const ownMachine = /^(localhost|.*\.localhost|127\..*|0\..*|169\.254\..*|\[(::|fe[89ab]).*\]):\d+$/;

export const callbackHosts: Check = {
  id: "callback-hosts",
  title: "Webhooks reach only public addresses, by https",
  severities: ["high", "low"],
  find: ({ deployment }) =>
    noticeFeedsOf(deployment).flatMap(({ feed }) =>
      feed?.function === undefined ? [] : hostFindings(deployment, feed.function),
    ),
};

function hostFindings(deployment: Deployment, sender: Resource): Finding[] {
  const text = deployment.text(sender, "Environment.Variables.OFFLOAD_CALLBACK_HOSTS");
  const hosts = text.split(",").flatMap((host) => (host.trim() === "" ? [] : [parseAllowedHost(host.trim()) ?? host]));
  const own = hosts.filter((host) => ownMachine.test(host));
  const others = hosts.filter((host) => !ownMachine.test(host));
  return [
    ...(own.length > 0 ? [about(sender, ownMachineReached(own))] : []),
    ...(others.length > 0 && isKept(sender.stack) ? [about(sender, othersReached(others))] : []),
  ];
}

const ownMachineReached = (hosts: readonly string[]): Fault => ({
  severity: "high",
  found: `Each tenant may send webhooks to ${hosts.join(", ")}: to the function's own machine, with the API of its runtime.`,
  fix: "Remove it from callbackHosts. It is for receivers on a laptop only.",
});

const othersReached = (hosts: readonly string[]): Fault => ({
  severity: "low",
  found: `Each tenant may send webhooks to ${hosts.join(", ")} without TLS, and whatever its addresses are.`,
  fix: "Remove hosts from callbackHosts that are public and speak https: these need no entry.",
});

export const noticeChecks: readonly Check[] = [noticeFeed, callbackHosts];
