import { details, element, judged, quoted } from './elements.js'

/** @typedef {ReturnType<typeof import('../playground-report.ts').createPlaygroundReport>} PlaygroundReport */

/**
 * @param {PlaygroundReport} report
 * @param {(line: number) => void} selectLine
 */
export function reportView({ findings, outcome }, selectLine) {
  const found = findings.map(({ level, check, line, column = 1, message }) => {
    const kind = element('span', { class: level === 'error' ? 'bad' : undefined }, `${level} ${check}`)
    return item([lineButton(line, `${line}:${column}`, selectLine), kind, quoted(message)])
  })
  const about = element('h3', {}, 'Findings in the text')
  const title = [about, ...(found.length === 0 ? [judged('no errors and no warnings', true)] : [])]
  if (outcome === undefined) return [...title, list(found)]
  const { count, failed } = outcome.tests
  const tests = failed.map(({ line, name, text }) =>
    item(
      [lineButton(line, String(line), selectLine), judged('failed', false), name],
      element('pre', {}, text),
    ),
  )
  const decisions = outcome.decisions.map(({ title, before, after, explanation }) => {
    const now = before === after ? 'as in force' : `in force: ${decisionText(before)}`
    const texts = [judged(decisionText(after), after), quoted(title), now]
    return item(texts, details('why', element('pre', {}, explanation)))
  })
  return [
    ...title,
    list(found),
    element('h3', {}, 'Tests in the text'),
    count === 0
      ? 'the text has no tests'
      : judged(`${count - failed.length} of ${count} passed`, failed.length === 0),
    list(tests),
    element('h3', {}, 'Decisions'),
    list(decisions),
  ]
}

/** @param {readonly Node[]} items */
function list(items) {
  return element('ul', { class: 'feed' }, ...items)
}

/**
 * @param {readonly (Node | string)[]} texts
 * @param {...Node} more
 */
function item(texts, ...more) {
  return element('li', {}, element('p', {}, ...texts), ...more)
}

/**
 * @param {number} line
 * @param {string} text
 * @param {(line: number) => void} selectLine
 */
function lineButton(line, text, selectLine) {
  const button = element('button', { type: 'button' }, text)
  button.addEventListener('click', () => selectLine(line))
  return button
}

/** @param {boolean} isAllowed */
function decisionText(isAllowed) {
  return isAllowed ? 'allowed' : 'denied'
}
