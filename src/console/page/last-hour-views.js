import { emptyView, listCommand } from './commands.js'
import { byId, show, table } from './elements.js'
import { formatNumber, quoted } from './format.js'
import { bar, barChart, chartHeight } from './traffic-chart.js'

/** @typedef {import('../traffic.ts').TrafficSummary['lastHour']} LastHour */
/** @typedef {LastHour['upstreams'][number]} NamedCounts */

/** @param {LastHour} lastHour */
export function showLastHour({ upstreams, principals }) {
  show(byId('upstream-counts'), upstreams, (counts) => countTable(counts, 'Upstream'))
  show(byId('principal-counts'), principals, (counts) => countTable(counts, 'Principal'))
}

/**
 * @param {readonly NamedCounts[]} counts
 * @param {string} title
 */
function countTable(counts, title) {
  if (counts.length === 0) {
    return [emptyView('No request in the last hour. With an API key in KEY, send one:', listCommand())]
  }
  const columns = [{ title }, { title: 'Requests', isNumber: true }, { title: 'Last hour' }]
  const largest = Math.max(...counts.flatMap(({ minutes }) => minutes))
  const rows = counts.map(({ name, minutes }) => [
    name === undefined ? 'others' : quoted(name),
    formatNumber(minutes.reduce((sum, count) => sum + count, 0)),
    minuteChart(minutes, largest),
  ])
  return [table(columns, rows)]
}

/**
 * @param {readonly number[]} minutes
 * @param {number} largest
 */
function minuteChart(minutes, largest) {
  const most = formatNumber(Math.max(...minutes))
  const bars = minutes.flatMap((count, index) => {
    if (count === 0) return []
    const size = Math.max(4, (count / largest) * chartHeight)
    return [bar('allow', index, chartHeight - size, size)]
  })
  return barChart(minutes.length, `${most} requests a minute at most`, bars)
}
