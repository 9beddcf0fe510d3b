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
 * Marks text that came from a request.
 * @param {string} text
 */
export function quoted(text) {
  return element('span', { class: 'id' }, ...words(text))
}

/**
 * Words that are broken only if a line has no room for one: browsers break at a hyphen.
 * @param {string} text
 */
function words(text) {
  return text
    .split(' ')
    .flatMap((word) => [element('span', {}, word), ' '])
    .slice(0, -1)
}

/**
 * @param {readonly (readonly [term: string, description: Node | string] | undefined)[]} entries
 */
export function facts(entries) {
  const shown = entries.filter((entry) => entry !== undefined)
  return element(
    'dl',
    {},
    ...shown.flatMap(([term, description]) => [element('dt', {}, term), element('dd', {}, description)]),
  )
}

/**
 * @param {string} summary
 * @param {...Node} content
 */
export function details(summary, ...content) {
  return element('details', {}, element('summary', {}, summary), ...content)
}

/**
 * An item of a list: what happened and when, by whom and where, and what unfolds.
 * @param {readonly (Node | string | undefined)[]} what
 * @param {string} time ISO 8601
 * @param {readonly (Node | string | undefined)[]} circumstances
 * @param {...(Node | undefined)} more
 */
export function listItem(what, time, circumstances, ...more) {
  const parts = (/** @type {typeof what} */ texts) =>
    texts.map((text) => (typeof text === 'string' ? element('span', {}, text) : text))
  const date = new Date(time)
  const day = date.toDateString() === new Date().toDateString() ? '' : `${date.toLocaleDateString('sv')} `
  const clock = element('time', { datetime: time, title: time }, `${day}${timeOfDay(date)}`)
  return element(
    'li',
    {},
    element('p', {}, ...parts(what), clock),
    element('p', { class: 'quiet' }, ...parts(circumstances)),
    ...more,
  )
}

/** @param {Date} date */
export function timeOfDay(date) {
  return date.toLocaleTimeString([], { hour12: false })
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
 * Shows items as the children of `parent`. Those that did not change keep their elements: otherwise the page would lose
 * focus, selection or scroll position.
 * @template Item
 * @param {Element} parent
 * @param {readonly Item[]} items
 * @param {(item: Item) => Element} view
 * @param {(item: Item, index: number) => string} keyOf
 */
export function show(parent, items, view, keyOf = (_item, index) => String(index)) {
  const before = new Map([...parent.children].map((child) => [child.getAttribute('data-key'), child]))
  const children = items.map((item, index) => {
    const key = keyOf(item, index)
    const text = JSON.stringify(item)
    const old = before.get(key)
    if (old !== undefined && shown.get(old) === text) return old
    const child = view(item)
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
