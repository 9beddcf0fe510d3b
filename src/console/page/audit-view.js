import { announce, byId, byIdAndType, details, element, errorText } from './elements.js'
import { facts, fetchJson, judged, quoted, show, timeOfDay } from './elements.js'

/** @typedef {import('../audit-entries.ts').AuditEntry} AuditEntry */

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
    announce(result, 'reading')
  })
}

async function search() {
  announce(result, 'searching')
  try {
    /** @type {Awaited<ReturnType<typeof import('../select-entries.ts').searchEntries>>} */
    const { entries, isComplete } = await fetchJson('search', readForm())
    show(list, entries, entryItem)
    const found = `${entries.length} found`
    announce(result, isComplete ? found : `the newest ${found}; choose an earlier day for others`)
  } catch (error) {
    list.replaceChildren()
    announce(result, errorText(error))
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
  const criteria = Object.entries({ object, [by]: text, kinds, since, until })
  return Object.fromEntries(criteria.filter(([, value]) => value !== ''))
}

/**
 * Shows the newest changes and refusals, unless the list has those of a search.
 * @param {readonly AuditEntry[]} entries
 */
export function showNewest(entries) {
  if (!isLive) return
  show(list, entries, entryItem)
  announce(result, entries.length === 0 ? 'nothing is recorded yet' : 'the newest, as they happen')
}

/** @param {AuditEntry} entry */
function entryItem({ operation, id, notes, time, state, isGood, principal, summary, facts: rows }) {
  const date = new Date(time)
  const day = date.toDateString() === new Date().toDateString() ? '' : `${date.toLocaleDateString('sv')} `
  return element(
    'li',
    {},
    element(
      'p',
      {},
      element('strong', {}, operation),
      id === undefined ? undefined : quoted(id),
      ...notes.map((note) => element('span', {}, note)),
      element('time', { datetime: time, title: time }, `${day}${timeOfDay(date)}`),
    ),
    element(
      'p',
      { class: 'quiet' },
      judged(state, isGood),
      principal === undefined ? 'nobody' : quoted(principal),
    ),
    details(summary, facts(rows, quoted)),
  )
}
