import "./app.css";
import "./theme.ts";
import { render } from "preact";
import { App } from "./app.tsx";
import { keepChannel } from "./live.ts";

keepChannel();
const root = document.getElementById("app");
if (root !== null) render(<App />, root);
