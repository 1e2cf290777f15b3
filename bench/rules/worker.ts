/** Runs the contestants, also in workerd. The clock there stands still while code runs, so it is read outside. */
import { DEFAULT_LIMITS } from "../../rules/limits.ts";
import { parseRenderRequest } from "../../rules/render-request.ts";

type Contestant = (body: Uint8Array) => boolean;

export const CONTESTANTS: Readonly<Record<"validate" | "parse", Contestant>> = {
  validate: (body) => parseRenderRequest(body, DEFAULT_LIMITS).ok,
  parse: (body) => JSON.parse(new TextDecoder().decode(body)) !== undefined,
};

let body = new Uint8Array(0);

export default {
  async fetch(request: Request): Promise<Response> {
    const { searchParams } = new URL(request.url);
    if (request.method === "POST") {
      body = new Uint8Array(await request.arrayBuffer());
      return new Response("ok");
    }
    const name = searchParams.get("contestant");
    const repeat = Number(searchParams.get("repeat"));
    const contestant = Object.entries(CONTESTANTS).find(([candidate]) => candidate === name)?.[1] ?? (() => true);
    let accepted = 0;
    for (let index = 0; index < repeat; index++) if (contestant(body)) accepted++;
    return new Response(accepted === repeat ? "accepted" : "rejected");
  },
};
