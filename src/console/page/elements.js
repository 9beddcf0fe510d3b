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
  return element('span', { class: 'id' }, text)
}

/** @typedef {import('../audit-entries.ts').Fact} Fact */

/**
 * @param {readonly Fact[]} entries
 * @param {(text: string) => Node | string} view
 */
export function facts(entries, view = (text) => text) {
  const shown = entries.flatMap(([term, text, isGood]) => [
    element('dt', {}, term),
    element('dd', {}, isGood === undefined ? view(text) : judged(text, isGood)),
  ])
  return element('dl', {}, ...shown)
}

/**
 * @param {string} text
 * @param {boolean} isGood
 */
export function judged(text, isGood) {
  return element('span', { class: isGood ? 'good' : 'bad' }, text)
}

/**
 * @param {string} summary
 * @param {...Node} content
 */
export function details(summary, ...content) {
  return element('details', {}, element('summary', {}, summary), ...content)
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
 * Shows different items as the children of `parent`. Those that did not change keep their elements: otherwise the page would
 * lose focus, selection or scroll position.
 * @template Item
 * @param {Element} parent
 * @param {readonly Item[]} items
 * @param {(item: Item) => Element} view
 */
export function show(parent, items, view) {
  const before = new Map([...parent.children].map((child) => [shown.get(child), child]))
  const children = items.map((item) => {
    const text = JSON.stringify(item)
    const child = before.get(text) ?? view(item)
    shown.set(child, text)
    return child
  })
  const isSame =
    children.length === parent.children.length &&
    children.every((child, index) => child === parent.children[index])
  if (!isSame) parent.replaceChildren(...children)
}

/**
 * Fetches data of the console. Rejects with the message of the gateway.
 * @param {string} resource
 * @param {Readonly<Record<string, string>>} parameters
 * @param {RequestInit} [options]
 */
export async function fetchJson(resource, parameters, options) {
  const response = await fetch(`console/${resource}?${String(new URLSearchParams(parameters))}`, options)
  const body = await response.json()
  if (!response.ok) throw new Error(body.error ?? `the gateway returned status ${response.status}`)
  return body
}

/**
 * Shows what `create` resolves with in `container`, or why it rejects.
 * @param {Element} container
 * @param {() => Promise<readonly (Node | string)[]>} create
 */
export async function showOrExplain(container, create) {
  try {
    container.replaceChildren(...(await create()))
  } catch (error) {
    container.replaceChildren(element('p', { class: 'bad' }, errorText(error)))
  }
}

/** @param {unknown} error */
export function errorText(error) {
  return error instanceof Error ? error.message : String(error)
}

/**
 * Screen readers announce every assignment.
 * @param {Element} container
 * @param {string} text
 */
export function announce(container, text) {
  if (container.textContent !== text) container.textContent = text
}
