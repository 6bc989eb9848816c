import { effect, signal } from "@preact/signals";

/** The reader's choice of colours. `system`: as the operating system has it. */
export type Theme = "system" | "light" | "dark";

const name = "offload.theme";
const stored = localStorage.getItem(name);

export const theme = signal<Theme>(stored === "light" || stored === "dark" ? stored : "system");

effect(() => {
  document.documentElement.dataset.theme = theme.value;
  localStorage.setItem(name, theme.value);
});
