import { byId, element, byIdAndType } from './elements.js'
import { errorText, fetchJson } from './fetch-json.js'
import { formatId } from './format.js'

/** @typedef {{ readonly path: readonly string[], readonly policies: readonly string[], readonly hasChildren: boolean }} Namespace */

const tree = byId('tree')
const keyField = byIdAndType('catalog-key', HTMLInputElement)
const headerField = byIdAndType('catalog-header', HTMLSelectElement)

/**
 * Headers that the listings are requested with, in memory only; undefined until the viewer asks for the catalog.
 * @type {Readonly<Record<string, string>> | undefined}
 */
let credential

/**
 * Shows the tree from the root: the namespaces that policies name and, if the viewer asks for the catalog, those that he
 * may list. `select` is called with the id of a namespace that the viewer chooses.
 * @param {(id: string) => void} select
 */
export function openTree(select) {
  byId('catalog-form').addEventListener('submit', (event) => {
    event.preventDefault()
    const text = keyField.value.trim()
    const value = headerField.value === 'authorization' ? `Bearer ${text}` : text
    credential = text === '' ? {} : { [headerField.value]: value }
    keyField.value = ''
    showTree(select)
  })
  if (!globalThis.isSecureContext) {
    // What is typed would be sent in the clear.
    keyField.disabled = true
    keyField.placeholder = 'needs HTTPS or localhost'
  }
  showTree(select)
}

/** @param {(id: string) => void} select */
export function showTree(select) {
  const root = namespaceItem({ path: [], policies: [], hasChildren: true }, select)
  root.querySelector('details')?.setAttribute('open', '')
  tree.replaceChildren(element('ul', {}, root))
}

/**
 * @param {Namespace} namespace
 * @param {(id: string) => void} select
 */
function namespaceItem({ path, policies, hasChildren }, select) {
  const title = policies.length === 0 ? undefined : `policies: ${policies.join(', ')}`
  const name = element(hasChildren ? 'summary' : 'button', { class: 'id', title }, path.at(-1) ?? '/')
  name.addEventListener('click', () => {
    for (const other of tree.querySelectorAll('[aria-current]')) other.removeAttribute('aria-current')
    name.setAttribute('aria-current', 'true')
    select(formatId(path))
  })
  if (!hasChildren) return element('li', {}, name)
  const below = element('ul')
  const node = element('details', {}, name, below)
  node.addEventListener('toggle', () => void addOrExplain(below, () => addChildren(below, path, select)), {
    once: true,
  })
  return element('li', {}, node)
}

/**
 * @param {Element} below
 * @param {() => Promise<void>} add
 */
async function addOrExplain(below, add) {
  try {
    await add()
  } catch (error) {
    below.append(element('li', { class: 'bad' }, element('span', { role: 'alert' }, errorText(error))))
  }
}

/**
 * Adds the namespaces that policies name, then those that the viewer may list.
 * @param {Element} below
 * @param {readonly string[]} path
 * @param {(id: string) => void} select
 */
async function addChildren(below, path, select) {
  /** @type {ReturnType<typeof import('../access-report.ts').listNamespaces>} */
  const { nodes, omitted } = await fetchJson('namespaces', { id: formatId(path) })
  for (const { name, policies, hasChildren } of nodes) {
    const child = { path: [...path, name], policies, hasChildren: hasChildren || credential !== undefined }
    below.append(namespaceItem(child, select))
  }
  if (omitted > 0) below.append(element('li', { class: 'quiet' }, `and ${omitted} more`))
  if (credential !== undefined) await addListed(below, path, new Set(nodes.map(({ name }) => name)), select)
}

/**
 * Adds a page of the namespaces that the viewer may list, and a button for the next page.
 * @param {Element} below
 * @param {readonly string[]} path
 * @param {ReadonlySet<string>} named
 * @param {(id: string) => void} select
 * @param {string} [token]
 */
async function addListed(below, path, named, select, token) {
  const parameters = { id: formatId(path), ...(token !== undefined && { page_token: token }) }
  /** @type {{ readonly namespaces: readonly string[], readonly page_token?: string }} */
  const page = await fetchJson('catalog', parameters, { headers: { ...credential } })
  const items = page.namespaces
    .filter((name) => !named.has(name))
    .map((name) => namespaceItem({ path: [...path, name], policies: [], hasChildren: true }, select))
  below.append(...items)
  /** @type {HTMLElement | null | undefined} */
  const first = items[0]?.querySelector('summary')
  if (token !== undefined) first?.focus()
  const { page_token: next } = page
  if (next === undefined) return
  const more = element('button', { 'aria-label': `more in ${formatId(path)}` }, 'more')
  const item = element('li', {}, more)
  more.addEventListener('click', () => {
    item.remove()
    void addOrExplain(below, () => addListed(below, path, named, select, next))
  })
  below.append(item)
}
