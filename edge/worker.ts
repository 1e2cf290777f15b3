/**
 * The Worker at the edge: the entry point that workerd calls.
 */
import { app } from "./app.ts";

export default app;
