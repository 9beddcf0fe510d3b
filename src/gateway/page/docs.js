import { createOperationSearch, filterOperations } from './operation-search.js'

/** Colors of code, by the names that highlight.js has for its parts. */
const codeStyle = {
  hljs: { background: 'var(--tint)', color: 'var(--text)' },
  'hljs-attr': { color: 'var(--accent)' },
  'hljs-string': { color: 'var(--good)' },
  'hljs-number': { color: 'var(--deny)' },
  'hljs-literal': { color: 'var(--deny)' },
}

/**
 * Replaces parts of Swagger UI (https://swagger.io/docs/open-source-tools/swagger-ui/customization/plugin-api/).
 * @param {any} system
 */
function createPlugin(system) {
  const { createElement } = system.React
  return {
    fn: { opsFilter: filterOperations },
    rootInjects: { syntaxHighlighting: { styles: { gateway: codeStyle } } },
    components: {
      FilterContainer: createOperationSearch(system),
      // No link inside a button; the address of the page follows the open operation.
      DeepLink: (/** @type {any} */ { text }) => createElement('span', {}, text),
      // It cannot be used with a keyboard.
      CopyToClipboardBtn: () => null,
      // All operations accept the same credentials.
      authorizeOperationBtn: () => null,
      CloseIcon: () => 'Close',
    },
    wrapComponents: {
      // The name of a button is its text.
      Button: (/** @type {any} */ Button) => (/** @type {any} */ props) =>
        createElement(Button, { ...props, 'aria-label': undefined }),
      TextArea: (/** @type {any} */ TextArea) => (/** @type {any} */ props) =>
        createElement(TextArea, { 'aria-label': 'Request body', ...props }),
      // It would call the document empty if the search finds nothing.
      operations: (/** @type {any} */ Operations) => (/** @type {any} */ props) =>
        props.specSelectors.taggedOperations().size > 0 ? createElement(Operations, props) : null,
    },
  }
}

const ui = Reflect.get(
  globalThis,
  'SwaggerUIBundle',
)({
  url: document.querySelector('link[rel="service-desc"]')?.getAttribute('href'),
  dom_id: '#swagger-ui',
  // Without a field for the URL of another document.
  layout: 'BaseLayout',
  plugins: [createPlugin],
  deepLinking: true,
  displayOperationId: true,
  filter: true,
  defaultModelsExpandDepth: 0,
  syntaxHighlight: { theme: 'gateway' },
  // Sends the document to no other server.
  validatorUrl: null,
  // A reload of the page removes the credential.
  persistAuthorization: false,
})
ui.initOAuth({})
