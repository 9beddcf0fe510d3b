import { byId, byIdAndType, details, element, facts, listItem, quoted, show } from './elements.js'
import { errorText, fetchJson } from './fetch-json.js'
import { formatNumber, ruleName, ruleText } from './format.js'

/** @typedef {import('../audit/audit-entries.ts').AuditEntry} AuditEntry */

const form = byIdAndType('search', HTMLFormElement)
const result = byId('search-result')
const list = byId('entries')
/** Whether the list has the newest entries, not those of a search. */
let isLive = true

export function openSearch() {
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    isLive = false
    void search()
  })
  form.addEventListener('reset', () => {
    isLive = true
    list.replaceChildren()
    showResult('reading')
  })
}

async function search() {
  showResult('searching')
  try {
    /** @type {Awaited<ReturnType<typeof import('../audit/search.ts').searchEntries>>} */
    const { entries, isComplete } = await fetchJson('search', readForm())
    show(list, entries, entryItem, keyOf)
    const found = `${formatNumber(entries.length)} found`
    showResult(isComplete ? found : `the newest ${found}; choose an earlier day for others`)
  } catch (error) {
    list.replaceChildren()
    showResult(errorText(error))
  }
}

/** The parameters of the search: whole days of the time zone of the viewer. */
function readForm() {
  const {
    object = '',
    by = '',
    text = '',
    kinds = '',
    from = '',
    to = '',
  } = Object.fromEntries(
    [...new FormData(form)].map(([name, value]) => [name, typeof value === 'string' ? value.trim() : '']),
  )
  const since = from && new Date(`${from}T00:00:00`).toISOString()
  const until = to && new Date(Date.parse(`${to}T00:00:00`) + 86_400_000).toISOString()
  const given = Object.entries({ object, [by]: text, kinds, since, until })
  return Object.fromEntries(given.filter(([, value]) => value !== ''))
}

/** @param {string} text */
function showResult(text) {
  // Screen readers announce every assignment.
  if (result.textContent !== text) result.textContent = text
}

/**
 * Shows the newest changes and refusals, unless the list has those of a search.
 * @param {readonly AuditEntry[]} entries
 */
export function showNewest(entries) {
  if (!isLive) return
  show(list, entries, entryItem, keyOf)
  showResult(entries.length === 0 ? 'nothing is recorded yet' : 'the newest, as they happen')
}

/** @param {AuditEntry} entry */
function keyOf({ position }) {
  return position
}

/** @param {AuditEntry} entry */
function entryItem(entry) {
  const { operation, id, objects, principal, time, refusal, outcome, resolved } = entry
  const ending = resolved?.result ?? outcome?.result
  const isGood = refusal === undefined && (ending === 'committed' || ending === 'completed')
  const state = refusal ? `${refusal.status} ${refusal.reason}` : (ending ?? 'in progress')
  return listItem(
    [
      element('strong', {}, operation ?? 'no operation'),
      id === undefined ? undefined : quoted(id),
      objects > 1 ? `and ${objects} objects` : undefined,
      outcome?.version === undefined ? undefined : `version ${outcome.version}`,
    ],
    time,
    [
      element('span', { class: isGood ? 'good' : 'bad' }, state),
      principal === undefined ? 'nobody' : quoted(principal),
      refusal?.repeats === undefined ? undefined : `and ${formatNumber(refusal.repeats)} more in a minute`,
    ],
    entryDetails(entry),
  )
}

/** @param {AuditEntry} entry */
function entryDetails({ rule, restrictedBy = [], refusal, outcome, resolved, groups, ...entry }) {
  const denied = refusal?.needs === undefined ? 'details' : 'no rule allows it'
  const summary = rule === undefined ? denied : `${refusal ? 'denied' : 'allowed'} by ${ruleName(rule)}`
  return details(
    summary,
    facts([
      refusal?.needs === undefined ? undefined : ['Needs', quoted(refusal.needs)],
      rule && ['Rule', quoted(ruleText(rule))],
      ...restrictedBy.map((one) => /** @type {const} */ (['Restricted by', quoted(ruleText(one))])),
      ['Request', quoted(entry.request)],
      entry.credential === undefined ? undefined : ['Credential', quoted(entry.credential)],
      groups && ['Groups', quoted(groups.join(', ') || 'none')],
      ['Client', quoted(entry.client)],
      entry.upstream === undefined ? undefined : ['Upstream', entry.upstream],
      entry.policyRevision === undefined
        ? undefined
        : ['Policies', quoted(entry.policyRevision.slice(0, 12))],
      ['Record', quoted(entry.position)],
      outcome && ['Outcome', quoted(endText(outcome))],
      resolved && ['Resolved', quoted(endText(resolved))],
    ]),
  )
}

/** @param {NonNullable<AuditEntry['outcome']>} end */
function endText({ result: name, status, durationMs, position }) {
  const after = durationMs === undefined ? '' : ` after ${Math.round(durationMs)} ms`
  return `${name}${status === undefined ? '' : ` (${status})`}${after}, ${position}`
}
