import { byId, element, quoted, table, byIdAndType } from './elements.js'
import { fetchJson, showOrExplain } from './fetch-json.js'
import { ruleText } from './format.js'
import { openTree, showTree } from './namespace-tree.js'
import { restrictionView } from './restriction-view.js'

/** @typedef {ReturnType<typeof import('../access-report.ts').createAccessReport>} AccessReport */
/** @typedef {AccessReport['callers'][number]} Caller */
/** @typedef {Caller['grants'][number]} Grant */
/** @typedef {import('../../policy/language/policy-document.ts').NamedSubjects} NamedSubjects */
/** @typedef {import('../../policy/language/policy-document.ts').Subjects} Subjects */

const idField = byIdAndType('access-id', HTMLInputElement)
const kindField = byIdAndType('access-kind', HTMLSelectElement)
const entitlements = byId('entitlements')

export function openAccessView() {
  byId('access-form').addEventListener('submit', (event) => {
    event.preventDefault()
    showAccess()
  })
  openTree(selectNamespace)
  showAccess()
}

/** Reloads both after a change of the policies. */
export function reloadAccessView() {
  showTree(selectNamespace)
  showAccess()
}

/** @param {string} id */
function selectNamespace(id) {
  idField.value = id
  kindField.value = 'namespace'
  showAccess()
}

function showAccess() {
  const object = { id: idField.value.trim() || '/', kind: kindField.value }
  void showOrExplain(entitlements, async () => reportView(await fetchJson('access', object)))
}

/** @param {AccessReport} report */
function reportView({ id, groups, columns, callers, forTables }) {
  const title = element('h3', {}, 'On ', quoted(id))
  if (callers.length === 0)
    return [
      title,
      element(
        'p',
        {},
        'Nobody is allowed anything here. ',
        element('a', { href: '#playground' }, 'Try a policy'),
        ' that allows it.',
      ),
      ...tableRules(forTables),
    ]
  const detail = element('div', {})
  const isTable = callers.some(({ sees }) => sees !== undefined)
  const head = ['Caller', ...(isTable ? ['Sees'] : []), ...groups.map(({ name }) => name)]
  const rows = callers.map((caller) => [
    callerButton(caller, detail),
    ...(isTable ? [sightCell(caller, columns)] : []),
    ...groups.map(({ operations }) => grantCell(caller, operations)),
  ])
  const matrix = table('Callers by operations', head, rows)
  const note =
    'What somebody may do who is the caller and nothing else: the number of operations of the group; “if” depends on a condition; “not” names callers that are denied. Select a caller for the rules.'
  return [title, matrix, element('p', { class: 'quiet' }, note), detail, ...tableRules(forTables)]
}

/**
 * @param {Caller} caller
 * @param {readonly string[]} tagged
 */
function sightCell({ sees }, tagged) {
  const names = tagged.join(', ')
  if (sees === 'nothing') return element('span', { class: 'quiet' }, 'nothing')
  if (sees === 'all') return tagged.length === 0 ? 'the whole table' : quoted(names)
  return tagged.length === 0
    ? 'a part of the table'
    : element('span', {}, 'the table without ', quoted(names))
}

/**
 * @param {Caller} caller
 * @param {readonly string[]} operations
 */
function grantCell({ grants }, operations) {
  const own = grants.filter(({ operation, sees }) => operations.includes(operation) && sees !== 'nothing')
  const certain = new Set(own.filter((grant) => !isConditional(grant)).map(({ operation }) => operation))
  const all = new Set(own.map(({ operation }) => operation))
  if (all.size === 0) return element('span', { class: 'quiet' }, '–')
  const text = all.size === operations.length ? 'all' : `${all.size} of ${operations.length}`
  const hasCondition = certain.size < all.size
  const denied = [...new Set(own.flatMap(deniedSubjects))]
  return element(
    'span',
    { class: hasCondition || denied.length > 0 ? 'some' : 'good' },
    hasCondition ? `${text}, if` : text,
    denied.length === 0 ? undefined : element('span', {}, '; not ', quoted(denied.join(', '))),
  )
}

/**
 * Callers among those of the grant that never have the permission, whatever they send.
 * @param {Grant} grant
 */
function deniedSubjects({ except, unless }) {
  const denied = unless.flatMap((deny) => (deny.if === undefined && deny.subjects ? [deny.subjects] : []))
  return [...(except ? [except] : []), ...denied].map(subjectsText)
}

/** @param {Grant} grant */
function isConditional({ if: condition, unless }) {
  return condition !== undefined || unless.some((deny) => deny.if !== undefined)
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
    for (const other of entitlements.querySelectorAll('[aria-pressed]')) {
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
function reasonItem({ grant: { rule, if: condition, except, restrictedBy = [], unless }, operations }) {
  return element(
    'li',
    {},
    element('p', {}, 'by ', quoted(ruleText(rule))),
    condition && element('p', {}, 'if ', element('code', {}, condition)),
    except && element('p', {}, 'except ', quoted(subjectsText(except))),
    ...restrictedBy.flatMap(restrictionItem),
    ...unless.map(overridingDeny),
    element('p', { class: 'quiet' }, operations.join(', ')),
  )
}

/** @param {NonNullable<Grant['restrictedBy']>[number]} restriction */
function restrictionItem(restriction) {
  const { subjects, except } = restriction
  return [
    ...(subjects ? [element('p', {}, 'if also ', quoted(subjectsText(subjects)))] : []),
    ...(except ? [element('p', {}, 'unless also ', quoted(subjectsText(except)))] : []),
    restrictionView(restriction),
  ]
}

/** @param {Grant['unless'][number]} overridingDeny */
function overridingDeny({ rule, subjects, if: condition }) {
  return element(
    'p',
    {},
    'unless denied by ',
    quoted(ruleText(rule)),
    subjects && element('span', {}, 'as ', quoted(subjectsText(subjects))),
    condition && element('span', {}, 'if ', element('code', {}, condition)),
  )
}

/** @param {AccessReport['forTables']} rules */
function tableRules(rules) {
  if (rules.length === 0) return []
  const items = rules.map((one) =>
    element(
      'li',
      {},
      quoted(one.tables.join(', ')),
      ': ',
      quoted(ruleText(one.rule)),
      one.columns && restrictionView(one),
    ),
  )
  return [
    element('h3', {}, 'Rules for tables by their names'),
    element('p', { class: 'quiet' }, 'These rules also apply; select the table to see the decision.'),
    element('ul', {}, ...items),
  ]
}

/**
 * As in `policy who-can`: every caller includes the named ones.
 * @param {NamedSubjects & Partial<Subjects>} subjects
 * @returns {string}
 */
function subjectsText({ any, anonymous, users, groups, keys, except }) {
  const named = [
    ...users.map((name) => `user ${name}`),
    ...groups.map((name) => `group ${name}`),
    ...keys.map((name) => `key ${name}`),
    ...(anonymous ? ['callers without a credential'] : []),
  ]
  const text = any ? (anonymous ? 'everyone' : 'every caller') : named.join(', ')
  return except === undefined ? text : `${text} except ${subjectsText(except)}`
}

/** @param {Caller['subject']} subject */
function callerText({ kind, name }) {
  if (kind === 'any') return 'every caller'
  return kind === 'anonymous' ? 'callers without a credential' : `${kind} ${name}`
}
