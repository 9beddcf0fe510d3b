import { hasCatalog, listCatalog } from './catalog-access.js'
import { byId, element } from './elements.js'
import { fetchJson } from './fetch-json.js'
import { formatId } from './format.js'

/**
 * Shows the tree from the root, with the root open: the namespaces that policies name and, if the viewer asked for the
 * catalog, those that he may list. `select` is called with the id of a namespace that the viewer chooses.
 * @param {(id: string) => void} select
 */
export async function showTree(select) {
  const root = namespaceNode({ path: [], policies: [], hasChildren: true }, select)
  byId('tree').replaceChildren(element('ul', {}, root.item))
  await root.open()
}

/**
 * @param {{ readonly path: readonly string[], readonly policies: readonly string[], readonly hasChildren: boolean }} namespace
 * @param {(id: string) => void} select
 */
function namespaceNode({ path, policies, hasChildren }, select) {
  const id = formatId(path)
  const below = element('ul', { hidden: '' })
  const toggle = hasChildren
    ? element(
        'button',
        { type: 'button', class: 'toggle', 'aria-expanded': 'false', 'aria-label': `beneath ${id}` },
        '▸',
      )
    : element('span', { class: 'leaf' })
  const title = policies.length === 0 ? undefined : `policies: ${policies.join(', ')}`
  const button = element('button', { type: 'button', class: 'id', title }, path.at(-1) ?? '/')
  let isLoaded = false

  async function open() {
    const isOpen = toggle.getAttribute('aria-expanded') === 'true'
    toggle.setAttribute('aria-expanded', String(!isOpen))
    toggle.textContent = isOpen ? '▸' : '▾'
    below.toggleAttribute('hidden', isOpen)
    if (isLoaded || isOpen) return
    isLoaded = true
    const named = await addNamed(below, path, select)
    if (hasCatalog()) await addListed(below, path, named, select)
  }

  button.addEventListener('click', () => {
    for (const other of byId('tree').querySelectorAll('[aria-current]')) other.removeAttribute('aria-current')
    button.setAttribute('aria-current', 'true')
    select(id)
  })
  if (hasChildren) toggle.addEventListener('click', () => void open())
  return { item: element('li', {}, toggle, button, below), open }
}

/**
 * Adds the namespaces that policies name. Resolves with their names.
 * @param {Element} below
 * @param {readonly string[]} path
 * @param {(id: string) => void} select
 * @returns {Promise<ReadonlySet<string>>}
 */
async function addNamed(below, path, select) {
  /** @type {ReturnType<typeof import('../access-report.ts').listNamespaces>} */
  const { nodes, omitted } = await fetchJson('namespaces', { id: formatId(path) })
  for (const { name, policies, hasChildren } of nodes) {
    const child = { path: [...path, name], policies, hasChildren: hasChildren || hasCatalog() }
    below.append(namespaceNode(child, select).item)
  }
  if (omitted > 0) below.append(element('li', { class: 'quiet' }, `and ${omitted} more`))
  return new Set(nodes.map(({ name }) => name))
}

/**
 * Adds a page of the namespaces that the viewer may list, and a button for the next page.
 * @param {Element} below
 * @param {readonly string[]} path
 * @param {ReadonlySet<string>} named
 * @param {(id: string) => void} select
 * @param {string} [pageToken]
 */
async function addListed(below, path, named, select, pageToken) {
  try {
    const page = await listCatalog(formatId(path), pageToken)
    const names = page.namespaces.filter((name) => !named.has(name))
    const items = names.map(
      (name) => namespaceNode({ path: [...path, name], policies: [], hasChildren: true }, select).item,
    )
    below.append(...items)
    if (pageToken !== undefined) items[0]?.querySelector('button')?.focus()
    if (page.page_token !== undefined) below.append(moreItem(below, path, named, select, page.page_token))
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    below.append(element('li', { class: 'bad' }, element('span', { role: 'alert' }, text)))
  }
}

/**
 * @param {Element} below
 * @param {readonly string[]} path
 * @param {ReadonlySet<string>} named
 * @param {(id: string) => void} select
 * @param {string} pageToken
 */
function moreItem(below, path, named, select, pageToken) {
  const button = element('button', { type: 'button' }, 'more')
  const item = element('li', {}, button)
  button.setAttribute('aria-label', `more in ${formatId(path)}`)
  button.addEventListener('click', () => {
    item.remove()
    void addListed(below, path, named, select, pageToken)
  })
  return item
}
