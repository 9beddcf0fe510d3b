/** Colors of code, by the names that highlight.js has for its parts. */
const codeStyle = {
  hljs: { background: 'var(--tint)', color: 'var(--text)' },
  'hljs-attr': { color: 'var(--accent)' },
  'hljs-string': { color: 'var(--good)' },
  'hljs-number': { color: 'var(--deny)' },
  'hljs-literal': { color: 'var(--deny)' },
}

/**
 * Operations as Swagger UI holds them, in immutable collections.
 * @typedef {{ get(key: string): string, getIn(keys: readonly string[], absent: string): string }} Operation
 * @typedef {{ readonly size: number, filter(isKept: (operation: Operation) => boolean): Operations }} Operations
 * @typedef {{ get(key: 'operations'): Operations, set(key: 'operations', value: Operations): Tag }} Tag
 * @typedef {object} Tags
 * @property {(change: (tag: Tag) => Tag) => Tags} map
 * @property {(isKept: (tag: Tag) => boolean) => Tags} filter
 * @property {(add: (sum: number, tag: Tag) => number, start: number) => number} reduce
 */

const searchedMembers = ['operationId', 'summary', 'description']

/**
 * Finds the operations that contain every word of the text: in their method, path, name or summary, or in their
 * description, which lists the permissions that they need.
 * @param {Tags} tags
 * @param {string} text
 */
function filterOperations(tags, text) {
  const words = text.toLowerCase().split(/\s+/)
  const isFound = (/** @type {Operation} */ operation) => {
    const members = searchedMembers.map((name) => operation.getIn(['operation', name], ''))
    const searched = [operation.get('method'), operation.get('path'), ...members].join(' ').toLowerCase()
    return words.every((word) => searched.includes(word))
  }
  return tags
    .map((tag) => tag.set('operations', tag.get('operations').filter(isFound)))
    .filter((tag) => tag.get('operations').size > 0)
}

/**
 * A field whose text filters the operations, and the number of matching operations.
 * @param {any} system of Swagger UI
 */
function createOperationSearch({ React: { createElement } }) {
  /** @param {any} props */
  return ({ specSelectors, layoutSelectors, layoutActions }) => {
    const filter = layoutSelectors.currentFilter()
    const input = createElement('input', {
      type: 'search',
      placeholder: 'name, path or permission',
      value: typeof filter === 'string' ? filter : '',
      onChange: (/** @type {any} */ event) => layoutActions.updateFilter(event.target.value),
    })
    const count = countOperations(specSelectors.taggedOperations())
    return createElement(
      'div',
      { role: 'search' },
      createElement('label', {}, 'Search operations', input),
      createElement('p', { role: 'status' }, count === 1 ? '1 operation' : `${count} operations`),
    )
  }
}

/** @param {Tags} tags */
function countOperations(tags) {
  return tags.reduce((sum, tag) => sum + tag.get('operations').size, 0)
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
