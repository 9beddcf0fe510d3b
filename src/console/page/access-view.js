import { byId, byIdAndType, element, table } from './elements.js'
import { quoted } from './format.js'

/** @typedef {import('../access-report.ts').AccessReport} AccessReport */
/** @typedef {AccessReport['callers'][number]} Caller */
/** @typedef {Caller['grants'][number]} Grant */
/** @typedef {import('../access-report.ts').NamespaceEntry} NamespaceEntry */

const form = byIdAndType('access-form', HTMLFormElement)
const idField = byIdAndType('access-id', HTMLInputElement)
const kindField = byIdAndType('access-kind', HTMLSelectElement)

export async function openAccessView() {
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void showAccess()
  })
  await reloadAccessView()
}

/** Reloads both after a change of the policies. */
export async function reloadAccessView() {
  const root = namespaceNode({ name: '/', id: '/', policies: [], hasChildren: true })
  byId('tree').replaceChildren(element('ul', {}, root.item))
  await Promise.all([root.open(), showAccess()])
}

/** @param {NamespaceEntry} namespace */
function namespaceNode({ name, id, policies, hasChildren }) {
  const below = element('ul', { hidden: '' })
  const toggle = hasChildren
    ? element(
        'button',
        { type: 'button', class: 'toggle', 'aria-expanded': 'false', 'aria-label': `beneath ${id}` },
        '▸',
      )
    : element('span', { class: 'leaf' })
  const select = element('button', { type: 'button', class: 'id', title: policies.join(', ') }, name)
  let isLoaded = false

  async function open() {
    const isOpen = toggle.getAttribute('aria-expanded') === 'true'
    toggle.setAttribute('aria-expanded', String(!isOpen))
    toggle.textContent = isOpen ? '▸' : '▾'
    below.toggleAttribute('hidden', isOpen)
    if (isLoaded || isOpen) return
    isLoaded = true
    const { nodes, omitted } = await fetchJson('namespaces', { id })
    below.append(...nodes.map((/** @type {NamespaceEntry} */ child) => namespaceNode(child).item))
    if (omitted > 0) below.append(element('li', { class: 'quiet' }, `and ${omitted} more`))
  }

  select.addEventListener('click', () => {
    idField.value = id
    kindField.value = 'namespace'
    for (const other of byId('tree').querySelectorAll('[aria-current]')) other.removeAttribute('aria-current')
    select.setAttribute('aria-current', 'true')
    void showAccess()
  })
  if (hasChildren) toggle.addEventListener('click', () => void open())
  return { item: element('li', {}, toggle, select, below), open }
}

async function showAccess() {
  const container = byId('entitlements')
  try {
    const report = await fetchJson('access', { id: idField.value.trim() || '/', kind: kindField.value })
    container.replaceChildren(...reportView(report))
  } catch (error) {
    container.replaceChildren(
      element('p', { class: 'bad' }, error instanceof Error ? error.message : String(error)),
    )
  }
}

/** @param {AccessReport} report */
function reportView({ id, groups, callers, forTables }) {
  const title = element('h3', {}, 'On ', quoted(id))
  if (callers.length === 0)
    return [title, element('p', {}, 'Nobody is allowed anything here.'), ...tableRules(forTables)]
  const detail = element('div', {})
  const columns = [{ title: 'Caller' }, ...groups.map(({ name }) => ({ title: name }))]
  const rows = callers.map((caller) => [
    callerButton(caller, detail),
    ...groups.map(({ operations }) => grantCell(caller, operations)),
  ])
  const matrix = element('div', {
    class: 'scroll',
    role: 'region',
    tabindex: '0',
    'aria-label': 'Callers by operations',
  })
  matrix.append(table(columns, rows))
  const note =
    'Number of allowed operations of the group; “if” depends on a condition; “not” names callers that are denied.'
  return [title, matrix, element('p', { class: 'quiet' }, note), detail, ...tableRules(forTables)]
}

/**
 * @param {Caller} caller
 * @param {readonly string[]} operations
 */
function grantCell({ grants }, operations) {
  const own = grants.filter(({ operation }) => operations.includes(operation))
  const certain = new Set(own.filter((grant) => !isConditional(grant)).map(({ operation }) => operation))
  const all = new Set(own.map(({ operation }) => operation))
  if (all.size === 0) return element('span', { class: 'quiet' }, '–')
  const text = all.size === operations.length ? 'all' : `${all.size} of ${operations.length}`
  const denied = [...new Set(own.flatMap(deniedSubjects))]
  const hasCondition = certain.size < all.size
  return element(
    'span',
    { class: hasCondition || denied.length > 0 ? 'some' : 'good' },
    hasCondition ? `${text}, if` : text,
    denied.length === 0 ? undefined : element('span', {}, '; not ', quoted(denied.join(', '))),
  )
}

/** @param {Grant} grant */
function isConditional({ if: condition, unless }) {
  return condition !== undefined || unless.some((deny) => deny.if !== undefined)
}

/**
 * Callers that the grant covers and that never have the permission, whatever they send.
 * @param {Grant} grant
 */
function deniedSubjects({ except = [], unless }) {
  const denied = unless.flatMap((deny) => (deny.if === undefined ? (deny.subjects ?? []) : []))
  return [...except, ...denied].map(callerText)
}

/**
 * @param {Caller} caller
 * @param {Element} detail
 */
function callerButton(caller, detail) {
  const button = element(
    'button',
    { type: 'button', 'aria-pressed': 'false' },
    quoted(callerText(caller.subject)),
  )
  button.addEventListener('click', () => {
    const isOpen = button.getAttribute('aria-pressed') === 'true'
    for (const other of byId('entitlements').querySelectorAll('[aria-pressed]')) {
      other.setAttribute('aria-pressed', 'false')
    }
    button.setAttribute('aria-pressed', String(!isOpen))
    detail.replaceChildren(...(isOpen ? [] : grantsView(caller)))
  })
  return button
}

/** @param {Caller} caller */
function grantsView({ subject, grants }) {
  /** @type {Map<string, { readonly grant: Grant, readonly operations: string[] }>} */
  const byReason = new Map()
  for (const grant of grants) {
    const key = JSON.stringify({ ...grant, operation: undefined })
    const entry = byReason.get(key) ?? { grant, operations: [] }
    entry.operations.push(grant.operation)
    byReason.set(key, entry)
  }
  const title = element('h3', {}, 'What ', quoted(callerText(subject)), ' may do here')
  return [title, element('ul', { class: 'feed' }, ...[...byReason.values()].map(reasonItem))]
}

/** @param {{ readonly grant: Grant, readonly operations: readonly string[] }} reason */
function reasonItem({ grant: { rule, if: condition, except, unless }, operations }) {
  return element(
    'li',
    {},
    element('p', {}, 'by ', quoted(ruleText(rule))),
    condition === undefined ? undefined : element('p', {}, 'if ', element('code', {}, condition)),
    except === undefined ? undefined : element('p', {}, 'except ', quoted(except.map(callerText).join(', '))),
    ...unless.map(overridingDeny),
    element('p', { class: 'quiet' }, operations.join(', ')),
  )
}

/** @param {Grant['unless'][number]} overridingDeny */
function overridingDeny({ rule, subjects, if: condition }) {
  return element(
    'p',
    {},
    'unless denied by ',
    quoted(ruleText(rule)),
    subjects === undefined
      ? undefined
      : element('span', {}, 'as ', quoted(subjects.map(callerText).join(', '))),
    condition === undefined ? undefined : element('span', {}, 'if ', element('code', {}, condition)),
  )
}

/** @param {AccessReport['forTables']} rules */
function tableRules(rules) {
  if (rules.length === 0) return []
  const items = rules.map(({ rule, tables }) =>
    element('li', {}, quoted(tables.join(', ')), ': ', quoted(ruleText(rule))),
  )
  return [
    element('h3', {}, 'Rules for tables by their names'),
    element('p', { class: 'quiet' }, 'These rules also apply; select the table to see the decision.'),
    element('ul', {}, ...items),
  ]
}

/** @param {Caller['subject']} subject */
function callerText({ kind, name }) {
  if (kind === 'any') return 'every caller'
  return kind === 'anonymous' ? 'callers without a credential' : `${kind} ${name}`
}

/** @param {Grant['rule']} rule */
function ruleText({ policy, rule, line }) {
  return `${policy}/${rule} (line ${line})`
}

/**
 * @param {string} resource
 * @param {Record<string, string>} parameters
 */
async function fetchJson(resource, parameters) {
  const response = await fetch(`console/${resource}?${String(new URLSearchParams(parameters))}`)
  const body = await response.json()
  if (!response.ok) throw new Error(body.error ?? `the gateway returned status ${response.status}`)
  return body
}
