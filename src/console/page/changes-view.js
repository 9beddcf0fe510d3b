import { createCommand, emptyView } from './commands.js'
import { element, facts } from './elements.js'
import { clock, formatMs, quoted } from './format.js'
import { showFeed } from './search.js'

/** @typedef {import('../newest-changes.ts').RecordedChange} RecordedChange */

/** @param {readonly RecordedChange[]} changes */
export function showChanges(changes) {
  showFeed('change-feed', changes, {
    texts: ({ requestId, principal, id, rule, operation }) => [requestId, principal, id, rule, operation],
    key: ({ intent }) => `${intent.chain} ${intent.seq}`,
    view: changeItem,
    notFound: 'no recent change is found by the search',
    empty: () =>
      emptyView('No recent change in the audit log. With an API key in KEY, make one:', createCommand()),
  })
}

/** @param {RecordedChange} change */
function changeItem(change) {
  const { operation, isCommit, id, objects, principal, time } = change
  const result = change.resolved?.result ?? change.outcome?.result ?? 'in progress'
  const version = change.outcome?.version
  const isGood = result === 'committed'
  return element(
    'li',
    {},
    element(
      'details',
      {},
      element(
        'summary',
        { 'aria-label': `${operation} ${id} by ${principal}: ${result}` },
        element('strong', {}, operation),
        ' ',
        quoted(id),
        objects > 1 ? ` and ${objects} objects` : undefined,
      ),
      element('dl', {}, ...facts(recordsOf(change))),
    ),
    element(
      'p',
      { class: 'quiet' },
      element('span', { class: isGood ? 'good' : result === 'in progress' ? undefined : 'bad' }, result),
      version === undefined ? undefined : element('span', {}, `version ${version}`),
      quoted(principal),
      isCommit ? element('span', {}, 'commit') : undefined,
      clock(time),
    ),
  )
}

/**
 * @param {RecordedChange} change
 * @returns {readonly (readonly [string, Node | string])[]}
 */
function recordsOf({ requestId, client, upstream, rule, policyRevision, intent, outcome, resolved }) {
  return [
    ['Request', quoted(requestId)],
    ['Client', quoted(client)],
    ['Upstream', upstream],
    ['Allowed by', quoted(rule)],
    ['Policies', quoted(policyRevision)],
    ['Intent', quoted(positionText(intent))],
    ['Outcome', outcome ? quoted(`${endText(outcome)}, ${positionText(outcome)}`) : 'not yet'],
    ...(resolved
      ? [/** @type {const} */ (['Resolved', quoted(`${endText(resolved)}, ${positionText(resolved)}`)])]
      : []),
  ]
}

/** @param {RecordedChange['intent']} position */
function positionText({ chain, seq, hash }) {
  return `record ${seq} of ${chain}, ${hash}`
}

/** @param {NonNullable<RecordedChange['outcome']>} end */
function endText({ result, status, durationMs }) {
  const after = durationMs === undefined ? '' : ` after ${formatMs(durationMs)}`
  return `${result}${status === undefined ? '' : ` (${status})`}${after}`
}
