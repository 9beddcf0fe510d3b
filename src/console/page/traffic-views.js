import { byId, element, show, showItems, table } from './elements.js'
import { trafficChart } from './traffic-chart.js'
import { formatNumber, clock, formatMs, quoted } from './format.js'

/** @typedef {import('../traffic.ts').TrafficSummary} TrafficSummary */
/** @typedef {import('../traffic.ts').RefusedRequest} RefusedRequest */

/** @param {TrafficSummary} traffic */
export function showTraffic({ seconds, statuses, operations, sampledRequests, refusals }) {
  show(byId('chart'), seconds, trafficChart)
  show(byId('statuses'), statuses, (statuses) =>
    statuses.map(({ status, count }) =>
      element(
        'li',
        { class: status >= 500 ? 'bad' : undefined },
        String(status),
        element('b', {}, formatNumber(count)),
      ),
    ),
  )
  show(byId('operation-table'), { operations, sampledRequests }, operationTable)
  show(byId('refusal-counts'), refusals.counts, (counts) =>
    counts.map(({ stage, reason, count }) =>
      element('li', {}, `${stage}: ${reason}`, element('b', {}, formatNumber(count))),
    ),
  )
  const feed = byId('refusal-feed')
  showItems(feed, refusals.newest, ({ requestId, time }) => `${requestId} ${time}`, refusalItem)
  if (refusals.newest.length === 0) {
    feed.replaceChildren(element('li', { class: 'quiet' }, 'no refusals since the start'))
  }
}

/** @param {Pick<TrafficSummary, 'operations' | 'sampledRequests'>} traffic */
function operationTable({ operations, sampledRequests }) {
  if (operations.length === 0) return [element('p', { class: 'quiet' }, 'no request since the start')]
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
function refusalItem({ time, stage, reason, status, operation, id, principal, client, requestId }) {
  return element(
    'li',
    {},
    element(
      'p',
      {},
      element('strong', { class: status >= 500 ? 'bad' : undefined }, `${status} ${reason}`),
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
  )
}
