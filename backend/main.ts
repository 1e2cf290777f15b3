/** The backend as a program. Stop signals are handled before the rest of it is loaded, which takes half a second. */
import "./start/stop-signals.ts";

const { run } = await import("./start/run.ts");
await run();
