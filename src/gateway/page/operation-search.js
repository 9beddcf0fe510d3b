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
export function filterOperations(tags, text) {
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
 * A field of which the text filters the operations, and the number of operations that it finds.
 * @param {any} system of Swagger UI
 */
export function createOperationSearch({ React: { createElement } }) {
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
