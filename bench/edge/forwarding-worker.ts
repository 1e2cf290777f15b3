/** A Worker that only forwards: the least that a second hop through workerd costs. */
export default {
  fetch: (request: Request, { BACKEND }: { readonly BACKEND: string }): Promise<Response> =>
    fetch(new URL(new URL(request.url).pathname, BACKEND), request),
};
