/* All output is created here as elements and text nodes, so that request data never becomes markup. */

/**
 * Creates an element. Strings become text nodes; undefined is omitted.
 * @param {string} name
 * @param {Readonly<Record<string, string | undefined>>} [attributes]
 * @param {...(Node | string | undefined)} children
 */
export function element(name, attributes = {}, ...children) {
  const created = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined) created.setAttribute(key, value)
  }
  created.append(...children.filter((child) => child !== undefined))
  return created
}

/**
 * Creates a table; the first cell of each row is its header.
 * @param {readonly { readonly title: string, readonly isNumber?: boolean }[]} columns
 * @param {readonly (readonly (Node | string)[])[]} rows
 */
export function table(columns, rows) {
  const classOf = (/** @type {number} */ index) => (columns[index]?.isNumber ? 'number' : undefined)
  const head = columns.map(({ title }, index) =>
    element('th', { scope: 'col', class: classOf(index) }, title),
  )
  const body = rows.map((cells) =>
    element(
      'tr',
      {},
      ...cells.map((cell, index) =>
        index === 0 ? element('th', { scope: 'row' }, cell) : element('td', { class: classOf(index) }, cell),
      ),
    ),
  )
  return element('table', {}, element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...body))
}

/**
 * @param {readonly (readonly [term: string, description: Node | string])[]} entries
 */
export function facts(entries) {
  return entries.flatMap(([term, description]) => [element('dt', {}, term), element('dd', {}, description)])
}

/** @param {string} id */
export function byId(id) {
  return byIdAndType(id, HTMLElement)
}

/**
 * @template {HTMLElement} Type
 * @param {string} id
 * @param {new () => Type} type
 */
export function byIdAndType(id, type) {
  const found = document.getElementById(id)
  if (!(found instanceof type)) throw new Error(`the page has no ${id}`)
  return found
}

/** @type {WeakMap<Element, string>} */
const shown = new WeakMap()

/**
 * Replaces the children only if the data changed: otherwise the page would lose focus, selection or scroll position.
 * @template Data
 * @param {Element} parent
 * @param {Data} data
 * @param {(data: Data) => readonly Node[]} make
 */
export function show(parent, data, make) {
  const text = JSON.stringify(data)
  if (shown.get(parent) === text) return
  shown.set(parent, text)
  parent.replaceChildren(...make(data))
}

/**
 * Shows a keyed list: items that are already shown keep their elements and their open state.
 * @template Item
 * @param {Element} parent
 * @param {readonly Item[]} items
 * @param {(item: Item) => string} keyOf
 * @param {(item: Item) => Element} make
 */
export function showItems(parent, items, keyOf, make) {
  shown.delete(parent)
  const before = new Map([...parent.children].map((child) => [child.getAttribute('data-key'), child]))
  const children = items.map((item) => {
    const key = keyOf(item)
    const text = JSON.stringify(item)
    const old = before.get(key)
    if (old !== undefined && shown.get(old) === text) return old
    const child = make(item)
    child.setAttribute('data-key', key)
    shown.set(child, text)
    if (old?.querySelector('details[open]')) child.querySelector('details')?.setAttribute('open', '')
    return child
  })
  const isSame =
    children.length === parent.children.length &&
    children.every((child, index) => child === parent.children[index])
  if (!isSame) parent.replaceChildren(...children)
}
