import { emptyView, listCommand, refusedCommand } from './commands.js'
import { byId, element, show, table } from './elements.js'
import { trafficChart } from './traffic-chart.js'
import { formatNumber, clock, formatMs, isFailureStatus, quoted } from './format.js'
import { restrictionView } from './restriction-view.js'
import { denialView, ruleName } from './denial-view.js'
import { isSearchedFor, showFeed, toggleSearch } from './search.js'

/** @typedef {import('../traffic.ts').TrafficSummary} TrafficSummary */
/** @typedef {import('../traffic.ts').RefusedRequest} RefusedRequest */

/** @param {TrafficSummary} traffic */
export function showTraffic({ seconds, statuses, operations, sampledRequests, refusals }) {
  show(byId('chart'), seconds, trafficChart)
  show(byId('statuses'), statuses, (statuses) =>
    statuses.map(({ status, count }) =>
      element(
        'li',
        { class: isFailureStatus(status) ? 'bad' : undefined },
        String(status),
        element('b', {}, formatNumber(count)),
      ),
    ),
  )
  show(byId('operation-table'), { operations, sampledRequests }, operationTable)
  const chips = refusals.counts.map((counted) => ({ ...counted, isOn: isSearchedFor(counted.reason) }))
  show(byId('refusal-counts'), chips, (chips) => chips.map(refusalChip))
  showFeed('refusal-feed', refusals.newest, {
    texts: ({ requestId, principal, id, operation, stage, reason, denial, restrictedBy = [] }) => [
      `${requestId} ${operation} ${stage} ${reason}`,
      principal,
      id,
      denial?.id,
      ruleName(denial),
      ...restrictedBy.map(ruleName),
    ],
    key: ({ requestId, time }) => `${requestId} ${time}`,
    view: refusalItem,
    notFound: 'no refusal is found by the search',
    empty: () =>
      emptyView('No refusal since the start. A request without a credential is refused:', refusedCommand()),
  })
}

/** @param {{ readonly stage: string, readonly reason: string, readonly count: number, readonly isOn: boolean }} chip */
function refusalChip({ stage, reason, count, isOn }) {
  const attributes = { type: 'button', 'aria-pressed': String(isOn) }
  const button = element('button', attributes, `${stage}: ${reason}`, element('b', {}, formatNumber(count)))
  button.addEventListener('click', () => toggleSearch(reason))
  return element('li', {}, button)
}

/** @param {Pick<TrafficSummary, 'operations' | 'sampledRequests'>} traffic */
function operationTable({ operations, sampledRequests }) {
  if (operations.length === 0) {
    return [emptyView('No request since the start. With an API key in KEY, send one:', listCommand())]
  }
  const columns = [
    { title: 'Operation' },
    { title: 'Requests', isNumber: true },
    { title: 'p50', isNumber: true },
    { title: 'p99', isNumber: true },
  ]
  const rows = operations.map(({ operation, count, p50, p99 }) => [
    operation,
    formatNumber(count),
    formatMs(p50),
    formatMs(p99),
  ])
  const note = `Of the last ${formatNumber(sampledRequests)} requests, from the request head to the end of the response.`
  return [table(columns, rows), element('p', { class: 'quiet' }, note)]
}

/** @param {RefusedRequest} refusal */
function refusalItem(refusal) {
  const { time, stage, reason, status, operation, id, principal, client, requestId } = refusal
  const { denial, restrictedBy } = refusal

  return element(
    'li',
    {},
    element(
      'p',
      {},
      element('strong', { class: isFailureStatus(status) ? 'bad' : undefined }, `${status} ${reason}`),
      element('span', {}, operation),
      id && quoted(id),
      clock(time),
    ),
    element(
      'p',
      { class: 'quiet' },
      element('span', {}, principal === undefined ? 'nobody' : quoted(principal)),
      element('span', {}, `at ${stage}`),
      element('span', {}, 'from ', quoted(client)),
      element('span', {}, 'request ', quoted(requestId)),
    ),
    denial === undefined ? undefined : denialView(denial, principal),
    restrictedBy === undefined ? undefined : restrictionsView(restrictedBy),
  )
}

/** @param {NonNullable<RefusedRequest['restrictedBy']>} restrictions */
function restrictionsView(restrictions) {
  return element(
    'details',
    {},
    element('summary', {}, `restricted by ${restrictions.map(ruleName).join(' and ')}`),
    ...restrictions.map(restrictionView),
  )
}
