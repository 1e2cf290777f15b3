/**
 * Shows the interface description of the deployment that serves this page. A token that is entered is kept in the
 * memory of the tab alone.
 */
/* global SwaggerUIBundle: from swagger-ui-bundle.js */

const dark = matchMedia("(prefers-color-scheme: dark)");
const followScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followScheme);
followScheme();

/** What the viewer does otherwise than this page needs it. */
const adaptations = ({ React }) => ({
  wrapComponents: {
    // There is one server: that of the page.
    ServersContainer: () => () => null,
    // A link within the button that opens the same is one too many for keyboards and screen readers.
    DeepLink:
      () =>
      ({ text }) =>
        React.createElement("span", null, text),
    // A PDF would be shown as text: offered as a file instead.
    responseBody: (ResponseBody) => (props) =>
      React.createElement(ResponseBody, {
        ...props,
        ...(props.contentType === "application/pdf" && { contentType: "application/octet-stream" }),
      }),
  },
});

/** What screen readers and keyboards miss in the viewer's elements. */
const ATTRIBUTES = [
  ["select.examples-select-element", "aria-label", "Example"],
  ["select.content-type", "aria-label", "Media type"],
  [".information-container", "role", "region"],
  [".information-container", "aria-label", "About the interface"],
  ["h3.opblock-tag", "aria-level", "2"],
  ["h4", "aria-level", "3"],
];

function completeAttributes() {
  for (const [selector, name, value] of ATTRIBUTES) {
    for (const element of document.querySelectorAll(`${selector}:not([${name}])`)) element.setAttribute(name, value);
  }
}

const reference = document.querySelector("#reference");
new MutationObserver(completeAttributes).observe(reference, { childList: true, subtree: true });

/** A proxy may serve the deployment below a path, which the description does not know. */
const DEPLOYMENT = new URL(".", location.href);

SwaggerUIBundle({
  url: "openapi.json",
  requestInterceptor: (request) => {
    const { pathname, search } = new URL(request.url, location.href);
    if (!request.loadSpec) request.url = new URL(`.${pathname}${search}`, DEPLOYMENT).href;
    return request;
  },
  domNode: reference,
  plugins: [adaptations],
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  syntaxHighlight: { theme: "monokai" },
  // Nothing is asked of another server, and nothing of this page is set by its URL.
  validatorUrl: null,
  queryConfigEnabled: false,
});
