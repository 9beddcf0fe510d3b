import { commandView, createCommand, refusedCommand } from './commands.js'
import { byId, details, element, facts, listItem, quoted, show, byIdAndType } from './elements.js'
import { ruleName, ruleText } from './format.js'
import { restrictionView } from './restriction-view.js'

/** @typedef {import('../newest-changes.ts').RecordedChange} RecordedChange */
/** @typedef {import('../console-state.ts').RefusedRequest} RefusedRequest */

const search = byIdAndType('search-text', HTMLInputElement)
const searchResult = byId('search-result')

export function openSearch() {
  byId('search').addEventListener('submit', (event) => event.preventDefault())
  search.addEventListener('input', applySearch)
}

/**
 * Shows the newest changes and refusals, as far as the search finds them.
 * @param {readonly RecordedChange[]} changes
 * @param {readonly RefusedRequest[]} refusals
 */
export function showFeeds(changes, refusals) {
  if (changes.length > 0)
    show(byId('change-feed'), changes, changeItem, ({ intent }) => `${intent.chain} ${intent.seq}`)
  else showEmpty('change-feed', 'No recent change in the audit log. With an API key in KEY:', createCommand())
  if (refusals.length > 0)
    show(byId('refusal-feed'), refusals, refusalItem, ({ requestId, time }) => `${requestId} ${time}`)
  else showEmpty('refusal-feed', 'No refusal since the start. Without a credential:', refusedCommand())
  applySearch()
}

/**
 * @param {string} id
 * @param {string} text
 * @param {string} command
 */
function showEmpty(id, text, command) {
  const view = () => element('li', { class: 'quiet' }, text, ' ', commandView(command))
  show(byId(id), [command], view, () => 'empty')
}

/** Hides the items whose text lacks a word of the search. */
function applySearch() {
  const words = search.value.toLowerCase().match(/\S+/g) ?? []
  const items = [...document.querySelectorAll('.searched > :not([data-key="empty"])')]
  for (const item of items) {
    const text = item.textContent.toLowerCase()
    item.toggleAttribute('hidden', !words.every((word) => text.includes(word)))
  }
  const found = items.filter((item) => !item.hasAttribute('hidden')).length
  const result = words.length === 0 ? '' : `${found} of ${items.length} found`
  // Screen readers announce every assignment.
  if (searchResult.textContent !== result) searchResult.textContent = result
}

/** @param {RecordedChange} change */
function changeItem(change) {
  const { operation, isCommit, id, objects, principal, time, rule, outcome, resolved } = change
  const result = resolved?.result ?? outcome?.result
  const records = facts([
    ['Request', quoted(change.requestId)],
    ['Client', quoted(change.client)],
    ['Upstream', change.upstream],
    ['Policies', quoted(change.policyRevision)],
    ['Intent', quoted(positionText(change.intent))],
    ['Outcome', outcome ? quoted(endText(outcome)) : 'not yet'],
    resolved && ['Resolved', quoted(endText(resolved))],
  ])
  return listItem(
    [
      element('strong', {}, operation),
      quoted(id),
      objects > 1 ? `and ${objects} objects` : undefined,
      outcome?.version === undefined ? undefined : `version ${outcome.version}`,
    ],
    time,
    [
      result === undefined
        ? 'in progress'
        : element('span', { class: result === 'committed' ? 'good' : 'bad' }, result),
      quoted(principal),
      isCommit ? 'commit' : undefined,
    ],
    details(`allowed by ${rule}`, records),
  )
}

/** @param {RecordedChange['intent']} position */
function positionText({ chain, seq, hash }) {
  return `record ${seq} of ${chain}, ${hash}`
}

/** @param {NonNullable<RecordedChange['outcome']>} end */
function endText(end) {
  const { result, status, durationMs } = end
  const after = durationMs === undefined ? '' : ` after ${Math.round(durationMs)} ms`
  return `${result}${status === undefined ? '' : ` (${status})`}${after}, ${positionText(end)}`
}

/** @param {RefusedRequest} refusal */
function refusalItem({ status, reason, operation, id, time, principal, stage, client, requestId, ...why }) {
  const { denial, restrictedBy } = why
  return listItem(
    [element('strong', {}, `${status} ${reason}`), operation, id && quoted(id)],
    time,
    [
      principal === undefined ? 'nobody' : quoted(principal),
      `at ${stage}`,
      element('span', {}, 'from ', quoted(client)),
      element('span', {}, 'request ', quoted(requestId)),
    ],
    denial && denialView(denial),
    restrictedBy &&
      details(
        `restricted by ${restrictedBy.map(({ rule }) => ruleName(rule)).join(' and ')}`,
        ...restrictedBy.map(restrictionView),
      ),
  )
}

/**
 * Unfolds to the rule that denied a request, and the command that explains it.
 * @param {NonNullable<RefusedRequest['denial']>} denial
 */
function denialView({ permission, id, rule, command }) {
  return details(
    `why: ${rule === undefined ? 'no rule allows it' : `denied by ${ruleName(rule)}`}`,
    facts([
      ['Needs', element('span', {}, permission, ' on ', quoted(id))],
      ['Denied by', rule === undefined ? 'no rule allows it' : quoted(ruleText(rule))],
      ['Explain', commandView(command)],
    ]),
    element(
      'p',
      { class: 'quiet' },
      'For conditions on claims, locations, properties, metadata or the context, add them with --claim and --fact.',
    ),
  )
}
