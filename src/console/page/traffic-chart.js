import { svgElement, element } from './elements.js'
import { formatNumber } from './format.js'

const decisions = /** @type {const} */ (['none', 'deny', 'allow'])
const labels = {
  allow: 'allowed',
  deny: 'denied by a policy',
  none: 'refused earlier, or unknown operation',
}
export const chartHeight = 100

/**
 * @param {readonly { readonly allow: number, readonly deny: number, readonly none: number }[]} seconds
 */
export function trafficChart(seconds) {
  const totals = { allow: 0, deny: 0, none: 0 }
  for (const second of seconds) for (const decision of decisions) totals[decision] += second[decision]
  const largest = Math.max(1, ...seconds.map(({ allow, deny, none }) => allow + deny + none))
  const label = decisions.map((decision) => `${totals[decision]} ${labels[decision]}`).join(', ')
  return [
    element(
      'p',
      { class: 'scale' },
      element('span', {}, `${formatNumber(largest)} requests a second at most`),
    ),
    barChart(
      seconds.length,
      `Requests in the last two minutes: ${label}`,
      seconds.flatMap((second, index) => bars(second, index, largest)),
    ),
    element('p', { class: 'scale' }, element('span', {}, '2 minutes ago'), element('span', {}, 'now')),
    element(
      'ul',
      { class: 'legend' },
      ...decisions
        .toReversed()
        .map((decision) =>
          element('li', { class: decision }, `${formatNumber(totals[decision])} ${labels[decision]}`),
        ),
    ),
  ]
}

/**
 * @param {Readonly<Record<'allow' | 'deny' | 'none', number>>} second
 * @param {number} index
 * @param {number} largest
 */
function bars(second, index, largest) {
  let top = chartHeight
  return decisions.flatMap((decision) => {
    const size = (second[decision] / largest) * chartHeight
    if (size === 0) return []
    top -= size
    return [bar(decision, index, top, size)]
  })
}

/**
 * A chart of bars beside each other.
 * @param {number} length
 * @param {string} label
 * @param {readonly Element[]} bars
 */
export function barChart(length, label, bars) {
  const viewBox = `0 0 ${length} ${chartHeight}`
  const [x2, y] = [String(length), String(chartHeight)]
  return svgElement(
    'svg',
    { viewBox, preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
    ...bars,
    svgElement('line', { class: 'axis', x1: '0', x2, y1: y, y2: y, 'vector-effect': 'non-scaling-stroke' }),
  )
}

/**
 * @param {string} kind
 * @param {number} index
 * @param {number} top
 * @param {number} size
 */
export function bar(kind, index, top, size) {
  const area = { x: String(index + 0.08), y: String(top), width: '0.84', height: String(size) }
  return svgElement('rect', { class: kind, ...area })
}
