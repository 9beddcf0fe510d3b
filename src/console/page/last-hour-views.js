import { emptyView, listCommand } from './commands.js'
import { byId, show, svgElement, table } from './elements.js'
import { formatNumber, quoted } from './format.js'

/** @typedef {import('../traffic.ts').TrafficSummary['lastHour']} LastHour */
/** @typedef {LastHour['upstreams'][number]} NamedCounts */

const height = 100

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
    const size = Math.max(4, (count / largest) * height)
    const area = { x: String(index + 0.08), y: String(height - size), width: '0.84', height: String(size) }
    return [svgElement('rect', { class: 'allow', ...area })]
  })
  return svgElement(
    'svg',
    {
      viewBox: `0 0 ${minutes.length} ${height}`,
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label': `${most} requests a minute at most`,
    },
    ...bars,
    svgElement('line', {
      class: 'axis',
      x1: '0',
      x2: String(minutes.length),
      y1: String(height),
      y2: String(height),
      'vector-effect': 'non-scaling-stroke',
    }),
  )
}
