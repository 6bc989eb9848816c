/** The console. */
export const App = () => <h1>Offload</h1>;
