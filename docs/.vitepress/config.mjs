/*
 * The site of the pages: `npm run docs` builds it into docs/.vitepress/dist, `npm run docs:preview` serves it.
 * VitePress runs by npx, so this file imports nothing. A link that leads nowhere fails the build.
 */

/** The sidebar: pages by reader. */
const sidebar = [
  {
    text: "Start",
    items: [
      { text: "Overview", link: "/" },
      { text: "Concepts", link: "/concepts" },
      { text: "Existing projects", link: "/existing-project" },
      { text: "Whole systems", link: "/examples" },
      { text: "What it is not", link: "/what-it-is-not" },
      { text: "Moving", link: "/moving" },
      { text: "Questions", link: "/questions" },
    ],
  },
  {
    text: "Write tasks",
    items: [
      { text: "Task types", link: "/task-types" },
      { text: "Steps", link: "/steps" },
      { text: "Flow", link: "/flow" },
      { text: "Handlers", link: "/handlers" },
      { text: "Your code", link: "/code" },
      { text: "Containers", link: "/containers" },
      { text: "Develop", link: "/develop" },
      { text: "Windows", link: "/windows" },
      { text: "Commands", link: "/cli" },
      { text: "Test", link: "/testing" },
      { text: "Debug", link: "/debugging" },
      { text: "Limits", link: "/limits" },
      { text: "FAQ", link: "/faq" },
    ],
  },
  {
    text: "Call the API",
    items: [
      { text: "HTTP API", link: "/api" },
      { text: "Client", link: "/client" },
      { text: "Push", link: "/push" },
      { text: "Files", link: "/files" },
      { text: "Many tasks", link: "/fan-out" },
      { text: "Unique tasks", link: "/unique" },
      { text: "Direct submit", link: "/direct-submit" },
      { text: "Webhooks", link: "/webhooks" },
      { text: "Schedules", link: "/schedules" },
      { text: "Events", link: "/events" },
      { text: "Exports", link: "/api/" },
    ],
  },
  {
    text: "Deploy and operate",
    items: [
      { text: "Console", link: "/console" },
      { text: "First hour", link: "/first-hour" },
      { text: "Real accounts", link: "/real-accounts" },
      { text: "Emulator", link: "/emulator" },
      { text: "In a CDK app", link: "/cdk" },
      { text: "Beside other tools", link: "/beside" },
      { text: "Compliance", link: "/compliance" },
      { text: "Two Regions", link: "/regions" },
      { text: "CI", link: "/ci" },
      { text: "Doctor", link: "/doctor" },
      { text: "Tenants", link: "/tenants" },
      { text: "Upgrades", link: "/upgrades" },
      { text: "Rotating keys", link: "/rotation" },
      { text: "Runbook", link: "/runbook" },
      { text: "On call", link: "/on-call" },
      { text: "Performance", link: "/performance" },
      { text: "Security", link: "/security" },
    ],
  },
  {
    text: "For maintainers",
    collapsed: true,
    items: [
      { text: "Architecture", link: "/architecture" },
      { text: "Decisions", link: "/decisions" },
    ],
  },
];

/** The anchor of a heading, as on GitHub, so that links lead to the same place in both. */
const slugify = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");

/** Makes a link of a page that is named in inline code, such as `docs/client.md`. */
function linkPages(markdown) {
  const plain = markdown.renderer.rules.code_inline;
  markdown.renderer.rules.code_inline = (tokens, index, ...rest) => {
    const code = plain(tokens, index, ...rest);
    const [, page] = /^docs\/([\w-]+)\.md$/.exec(tokens[index].content) ?? [];
    const inLink = tokens.slice(0, index).filter(({ type }) => type === "link_open").length;
    const ended = tokens.slice(0, index).filter(({ type }) => type === "link_close").length;
    return page === undefined || inLink > ended ? code : `<a href="/${page}.html">${code}</a>`;
  };
}

export default {
  title: "Offload",
  description: "A task pipeline for your own AWS account",
  lang: "en",
  rewrites: { "README.md": "index.md", "api/README.md": "api/index.md" },
  markdown: { anchor: { slugify }, config: linkPages },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    sidebar,
  },
};
