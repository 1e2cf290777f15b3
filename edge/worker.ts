/** The entry point of the Worker. */
import { app } from "./app.ts";

export default app;
